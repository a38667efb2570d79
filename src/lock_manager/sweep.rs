//! Deleting old entries of the lock table and the history.

use std::time::Duration;

use super::LockManager;
use crate::error::SweepError;
use crate::lease::LockKey;
use crate::lease::engine::Place;
use crate::lease::policy::LockPolicy;
use crate::store::Slice;

/// Rows per statement: a few milliseconds.
const SLICE: u32 = 1_000;

/// The builder of a sweep; [`run`](Sweep::run) runs it.
#[must_use = "a sweep does nothing until `run`"]
#[derive(Debug)]
pub struct Sweep<'m> {
    manager: &'m LockManager,
    older_than: Duration,
    history: Option<Duration>,
    kind: Option<String>,
}

/// The number of rows that a sweep deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Rows of free keys (and slots of ended advisory leases).
    pub keys: u64,
    /// Entries of the history.
    pub history: u64,
}

impl LockManager {
    /// Deletes entries that ended longer ago than this: rows of free keys, and ended leases. Call it about
    /// once a day; held leases are never touched.
    ///
    /// Generations continue to rise, also for keys whose rows were deleted: the highest one is kept per type, and new keys
    /// of that type begin above it. Sweeping loses history: the lock id of a swept lease is
    /// [`LeaseLossReason::Unknown`](crate::lease::LeaseLossReason::Unknown), and a duplicate lock request is refused only until then. The
    /// minimum is a day; thirty days are enough.
    ///
    /// It runs in small transactions, so that other sessions wait only briefly, and skips rows that another transaction has locked at that
    /// moment.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tenure::{Database, LockKey, LockManager, Owner};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let locks = LockManager::new(&db);
    /// const DAY: Duration = Duration::from_secs(24 * 3600);
    /// let swept = locks.sweep(30 * DAY).keeping_history_for(365 * DAY).run().await?;
    /// println!("{} keys, {} ends of leases", swept.keys, swept.history);
    /// assert!(locks.sweep(Duration::from_secs(60)).run().await.is_err());
    /// # Ok(()) }
    /// ```
    pub fn sweep(&self, older_than: Duration) -> Sweep<'_> {
        Sweep { manager: self, older_than, history: None, kind: None }
    }
}

impl Sweep<'_> {
    /// The minimum age. After a lost response, a request is repeated within seconds. A tab that slept checks its lease on the next day,
    /// and an expired lease can be resumed until its absolute limit.
    pub const SHORTEST: Duration = Duration::from_secs(24 * 3600);

    /// Keeps ended leases for longer or shorter than the other entries, see
    /// [`LockManager::history`](crate::LockManager::history).
    pub fn keeping_history_for(mut self, age: Duration) -> Self {
        self.history = Some(age);
        self
    }

    /// Only of one type.
    pub fn of_type(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Runs it, and returns the number of deleted rows.
    ///
    /// # Errors
    /// [`SweepError::TooYoung`] for an age below [`SHORTEST`](Self::SHORTEST), or below the longest absolute limit of the
    /// types: nothing was swept. [`SweepError::Database`]: rows that were swept until then stay deleted; the next sweep
    /// continues.
    pub async fn run(self) -> Result<Swept, SweepError> {
        let (keys, history) = (self.older_than, self.history.unwrap_or(self.older_than));
        let shortest = self.shortest();
        if let Some(asked) = [keys, history].into_iter().find(|age| *age < shortest) {
            return Err(SweepError::TooYoung { asked, shortest });
        }
        let (backend, slice) = (&self.manager.backend, |older_than| self.slice(older_than));
        let mut swept = Swept::default();
        // The rows first: this moves expired leases that nobody acquired since into the history.
        let mut after = Place::exclusive(&LockKey::new("", ""));
        loop {
            let rows = backend.sweep_rows(&slice(keys), &after).await?;
            swept.keys += rows.swept;
            match rows.upto {
                Some(upto) => after = upto,
                None => break,
            }
        }
        loop {
            let ended = backend.sweep_history(&slice(history)).await?;
            swept.history += ended;
            if ended < u64::from(SLICE) {
                return Ok(swept);
            }
        }
    }

    fn slice(&self, older_than: Duration) -> Slice<'_> {
        Slice { older_than, kind: self.kind.as_deref(), most: SLICE }
    }

    fn shortest(&self) -> Duration {
        let longest = match &self.kind {
            Some(kind) => self.manager.policy(kind).limit,
            None => {
                let all = self.manager.policies.values().map(|policy| policy.limit);
                all.max().unwrap_or_default().max(LockPolicy::default().limit)
            }
        };
        longest.max(Self::SHORTEST)
    }
}
