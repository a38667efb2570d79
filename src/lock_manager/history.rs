//! The history of a key, page by page.

use super::LockManager;
use super::list::{USUAL, checked, plain};
use crate::error::ListError;
use crate::lease::LockKey;
use crate::lease::cursor::{Cursor, Position};
use crate::lease::listing::{HistoryQuery, Page, PastLease, PastRow};

/// A query of the history of a key; [`run`](History::run) reads a page.
#[must_use = "the history is not read until `run`"]
#[derive(Debug)]
pub struct History<'m> {
    manager: &'m LockManager,
    query: HistoryQuery,
}

impl LockManager {
    /// The ended leases of a key, the latest generation first, page by page: owner, start and end, how and by whom the lease ended, and
    /// the next holder. Entries never change; they are kept until they are [swept](Self::sweep). An expired lease gets its
    /// entry when another owner acquires the lock, or when its row is swept.
    ///
    /// ```
    /// # use tenure::{Database, LockId, LockKey, LockManager, Owner, lease::LeaseLossReason};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let locks = LockManager::new(&db);
    /// # let (kim, lee) = (Owner::new("kim", "Kim Minji"), Owner::new("lee", "Lee Junho"));
    /// let order = LockKey::new("Order", "1234");
    /// let lease = locks.try_lock(&order, &kim).await?;
    /// locks.break_lock(&order, lease.holder().generation, &lee, "the courier is waiting").await?;
    /// locks.try_lock(&order, &lee).await?;
    ///
    /// let page = locks.history(&order).run().await?;
    /// let past = &page.items[0];
    /// assert!(matches!(&past.why, LeaseLossReason::Broken { by, reason, .. } if *by == lee && reason == "the courier is waiting"));
    /// assert_eq!((&past.owner, past.next.as_ref().map(|next| &next.owner)), (&kim, Some(&lee)));
    /// # Ok(()) }
    /// ```
    pub fn history(&self, key: &LockKey) -> History<'_> {
        History { manager: self, query: HistoryQuery { key: key.clone(), after: None, limit: USUAL } }
    }
}

impl History<'_> {
    /// The maximum number of entries: 1 to 1,000. The default is 100.
    pub fn limit(mut self, entries: u32) -> Self {
        self.query.limit = entries;
        self
    }

    /// Continues after a page of the same key.
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.query.after = Some(cursor.0);
        self
    }

    /// Reads a page.
    ///
    /// # Errors
    /// [`ListError::PageSize`]; [`ListError::ForeignCursor`] for a cursor of another list; [`ListError::InvalidFilter`];
    /// [`ListError::Database`].
    pub async fn run(self) -> Result<Page<PastLease>, ListError> {
        let (limit, key) = (checked(self.query.limit)?, &self.query.key);
        plain([Some(key.kind()), Some(key.id())])?;
        if !matches!(self.query.after, None | Some(Position::Past { .. })) {
            return Err(ListError::ForeignCursor);
        }
        let found = self.manager.backend.history(&HistoryQuery { limit: limit + 1, ..self.query }).await?;
        let page = Page::cut(found, limit, |last| Position::Past {
            generation: last.past.generation,
            lock: last.lock.clone(),
        });
        let past = |PastRow { mut past, .. }| {
            // The next advisory lease is held beside this one, and does not succeed it.
            past.next = past.next.filter(|_| self.manager.policy(past.key.kind()).is_exclusive());
            past
        };
        Ok(Page { items: page.items.into_iter().map(past).collect(), next: page.next })
    }
}
