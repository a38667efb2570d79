//! The history of ended leases, page by page.

use super::LockManager;
use super::list::{USUAL, checked, not_empty, plain};
use crate::error::ListError;
use crate::lease::LockKey;
use crate::lease::cursor::{Cursor, Position};
use crate::lease::listing::{HistoryQuery, Page, PastLease, PastRow};

/// A query of the history; [`run`](History::run) reads a page.
#[must_use = "the history is not read until `run`"]
#[derive(Debug)]
pub struct History<'m> {
    manager: &'m LockManager,
    query: HistoryQuery,
}

impl LockManager {
    /// The ended leases, the latest first, page by page: owner, start and end, how and by whom the lease ended, and the
    /// next holder. Entries never change; they are kept until they are [swept](Self::sweep). An expired lease gets its
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
    /// let page = locks.history().of_key(&order).run().await?;
    /// let past = &page.items[0];
    /// assert!(matches!(&past.why, LeaseLossReason::Broken { by, reason, .. } if *by == lee && reason == "the courier is waiting"));
    /// assert_eq!((&past.owner, past.next.as_ref().map(|next| &next.owner)), (&kim, Some(&lee)));
    /// # Ok(()) }
    /// ```
    pub fn history(&self) -> History<'_> {
        History { manager: self, query: HistoryQuery { limit: USUAL, ..HistoryQuery::default() } }
    }
}

impl History<'_> {
    /// Only of this key: its latest generation first.
    pub fn of_key(mut self, key: &LockKey) -> Self {
        self.query.key = Some(key.clone());
        self
    }

    /// Only aggregates of this type.
    pub fn of_type(mut self, kind: impl Into<String>) -> Self {
        self.query.kind = Some(kind.into());
        self
    }

    /// Only aggregates whose id begins with this text, compared byte by byte: those of one tenant, where ids are
    /// `acme/1234`. `%` and `_` have no meaning. An empty text is refused by [`run`](Self::run).
    pub fn ids_starting_with(mut self, prefix: impl Into<String>) -> Self {
        self.query.id_prefix = Some(prefix.into());
        self
    }

    /// Only leases of this owner.
    pub fn of_owner(mut self, owner_id: impl Into<String>) -> Self {
        self.query.owner = Some(owner_id.into());
        self
    }

    /// The maximum number of entries: 1 to 1,000. The default is 100.
    pub fn limit(mut self, entries: u32) -> Self {
        self.query.limit = entries;
        self
    }

    /// Continues after a page. The other filters should be the same as for that page.
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.query.after = Some(cursor.0);
        self
    }

    /// Reads a page. Queries for one key, for one owner and for all use an index; a query for one type uses the index of all.
    ///
    /// # Errors
    /// [`ListError::PageSize`]; [`ListError::ForeignCursor`] for a cursor of another list; [`ListError::InvalidFilter`];
    /// [`ListError::Database`].
    pub async fn run(self) -> Result<Page<PastLease>, ListError> {
        let (limit, of_one_key) = (checked(self.query.limit)?, self.query.key.is_some());
        let (key, kind, owner) = (self.query.key.as_ref(), self.query.kind.as_deref(), self.query.owner.as_deref());
        let prefix = self.query.id_prefix.as_deref();
        plain([key.map(LockKey::kind), key.map(LockKey::id), kind, owner, prefix])?;
        not_empty(prefix)?;
        if !matches!(self.query.after, None | Some(Position::Past { .. })) {
            return Err(ListError::ForeignCursor);
        }
        let found = self.manager.backend.history(&HistoryQuery { limit: limit + 1, ..self.query }).await?;
        let page = Page::cut(found, limit, |last| Position::Past {
            at: if of_one_key { last.past.generation } else { crate::clock::to_micros(last.past.ended_at) / 1000 },
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
