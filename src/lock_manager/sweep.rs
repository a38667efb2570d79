//! Deleting what nobody asks for any more.

use std::time::Duration;

use super::LockManager;
use crate::error::SweepError;
use crate::lease::policy::LockPolicy;
use crate::storage::{RowPlace, Slice};

/// Rows of one statement: a few milliseconds.
const SLICE: u32 = 1_000;

/// A sweep that is being described; [`run`](Sweep::run) does it.
#[must_use = "a sweep does nothing until `run`"]
#[derive(Debug)]
pub struct Sweep<'m> {
    manager: &'m LockManager,
    older_than: Duration,
    history: Option<Duration>,
    kind: Option<String>,
}

/// How many rows a sweep deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Keys (and places of advisory leases) that nobody holds.
    pub keys: u64,
    /// What the history said of how leases ended.
    pub history: u64,
    /// Requests whose askers went away.
    pub requests: u64,
}

impl LockManager {
    /// Deletes what ended longer ago than this: the rows of keys that nobody has held since, how leases ended, and requests
    /// that nobody repeated. To be called once a day or so, by whoever cleans up; what is held is never touched.
    ///
    /// Generations go on rising, also of keys whose rows were deleted: the highest one stays, per type, and new keys of that
    /// type begin above it. What is lost is the memory: a lock id whose lease was swept is
    /// [`LeaseLossReason::Unknown`](crate::lease::LeaseLossReason::Unknown), and a request for a lock that comes twice is refused only until then. A day
    /// is the least; thirty are plenty.
    ///
    /// It works in small transactions, so that nobody waits long, and leaves alone what somebody has locked at that moment.
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
    /// println!("{} keys, {} ends of leases, {} requests", swept.keys, swept.history, swept.requests);
    /// assert!(locks.sweep(Duration::from_secs(60)).run().await.is_err());
    /// # Ok(()) }
    /// ```
    pub fn sweep(&self, older_than: Duration) -> Sweep<'_> {
        Sweep { manager: self, older_than, history: None, kind: None }
    }
}

impl Sweep<'_> {
    /// The least age. Whoever lost an answer asks within seconds, and a tab that slept asks on the next day; besides, a
    /// lease that ran out can be resumed until its absolute limit.
    pub const SHORTEST: Duration = Duration::from_secs(24 * 3600);

    /// Keeps how leases ended for longer, or not as long: for whoever wants to look at it, see
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

    /// Does it, and tells how much it was.
    ///
    /// # Errors
    /// [`SweepError::TooYoung`] for an age below [`SHORTEST`](Self::SHORTEST), or below the longest absolute limit of the
    /// types: nothing was swept. [`SweepError::Database`]: what was swept until then stays so; the next sweep goes on.
    pub async fn run(self) -> Result<Swept, SweepError> {
        let (keys, history) = (self.older_than, self.history.unwrap_or(self.older_than));
        let shortest = self.shortest();
        if let Some(asked) = [keys, history].into_iter().find(|age| *age < shortest) {
            return Err(SweepError::TooYoung { asked, shortest });
        }
        let (backend, slice) = (&self.manager.backend, |older_than| self.slice(older_than));
        let mut swept = Swept::default();
        // The rows first: what ran out and was not taken goes into the history then.
        let mut after = RowPlace::default();
        loop {
            let rows = backend.sweep_rows(&slice(keys), &after).await?;
            swept.keys += rows.swept;
            match rows.upto {
                Some(upto) => after = upto,
                None => break,
            }
        }
        loop {
            let requests = backend.sweep_requests(&slice(keys)).await?;
            swept.requests += requests;
            if requests < u64::from(SLICE) {
                break;
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
