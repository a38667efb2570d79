//! The list of held leases, page by page.

use std::time::Duration;

use super::LockManager;
use crate::clock::to_micros;
use crate::error::ListError;
use crate::lease::cursor::{Cursor, Position};
use crate::lease::listing::{LeaseState, ListQuery, Listed, Page};
use crate::lease::{NOT_PLAIN, is_plain};

/// The maximum number of entries per page.
pub(super) const MOST: u32 = 1_000;
/// The default number of entries per page.
pub(super) const USUAL: u32 = 100;

/// A query of held leases; [`run`](Listing::run) reads a page.
#[must_use = "a list is not read until `run`"]
#[derive(Debug)]
pub struct Listing<'m> {
    manager: &'m LockManager,
    query: ListQuery,
}

impl LockManager {
    /// The held leases, the longest-held first, page by page: for consoles. Without filters it contains every lease that
    /// blocks others.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tenure::{Database, LockKey, LockManager, Owner, lease::Cursor};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let locks = LockManager::new(&db);
    /// # let kim = Owner::new("kim", "Kim Minji");
    /// # for no in ["1", "2", "3"] { locks.try_lock(&LockKey::new("Order", no), &kim).await?; }
    /// let first = locks.list().of_type("Order").owned_by("kim").limit(2).run().await?;
    /// assert_eq!((first.items.len(), first.items[0].holder.key.id()), (2, "1"));
    ///
    /// let in_the_url = first.next.expect("there are three").to_string();
    /// let second = locks.list().of_type("Order").owned_by("kim").limit(2).after(in_the_url.parse()?).run().await?;
    /// assert_eq!((second.items.len(), second.next), (1, None));
    ///
    /// let old = locks.list().held_for_at_least(Duration::from_secs(3600)).run().await?;
    /// assert!(old.items.is_empty());
    /// # Ok(()) }
    /// ```
    pub fn list(&self) -> Listing<'_> {
        Listing { manager: self, query: ListQuery { limit: USUAL, ..ListQuery::default() } }
    }
}

impl Listing<'_> {
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
    pub fn owned_by(mut self, owner_id: impl Into<String>) -> Self {
        self.query.owner = Some(owner_id.into());
        self
    }

    /// Only leases in this state; without it those that are held.
    pub fn in_state(mut self, state: LeaseState) -> Self {
        self.query.state = Some(state);
        self
    }

    /// Only leases that have been held for at least this time, by the database's clock.
    pub fn held_for_at_least(mut self, age: Duration) -> Self {
        self.query.held_for = age;
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

    /// Reads a page. A lease that is held the whole time is on exactly one of the pages.
    ///
    /// A query for one owner uses an index. Any other reads all rows of the type, or of all types, including rows of
    /// free keys: [`LockManager::sweep`] keeps their number small.
    ///
    /// # Errors
    /// [`ListError::PageSize`]; [`ListError::ForeignCursor`] for a cursor of another list; [`ListError::InvalidFilter`];
    /// [`ListError::Database`].
    pub async fn run(self) -> Result<Page<Listed>, ListError> {
        let limit = checked(self.query.limit)?;
        plain([self.query.kind.as_deref(), self.query.owner.as_deref(), self.query.id_prefix.as_deref()])?;
        not_empty(self.query.id_prefix.as_deref())?;
        if !matches!(self.query.after, None | Some(Position::Held { .. })) {
            return Err(ListError::ForeignCursor);
        }
        let query = ListQuery { limit: limit + 1, ..self.query };
        let found = self.manager.backend.list(&query).await?;
        Ok(Page::cut(found, limit, |last| Position::Held {
            since: to_micros(last.holder.since) / 1000,
            key: last.holder.key.clone(),
            generation: last.holder.generation,
        }))
    }
}

/// Whether the lock table can contain such texts. Some databases reject some texts, so an invalid one is not sent.
pub(super) fn plain<const N: usize>(filters: [Option<&str>; N]) -> Result<(), ListError> {
    match filters.into_iter().flatten().find(|text| !is_plain(text)) {
        Some(text) => Err(ListError::InvalidFilter { text: text.chars().take(60).collect(), problem: NOT_PLAIN }),
        None => Ok(()),
    }
}

/// Refuses an empty prefix: an empty tenant name must not match the locks of all tenants.
pub(super) fn not_empty(prefix: Option<&str>) -> Result<(), ListError> {
    match prefix {
        Some("") => Err(ListError::InvalidFilter {
            text: String::new(),
            problem: "every id begins with an empty text; give the prefix of a tenant, or leave the filter out",
        }),
        _ => Ok(()),
    }
}

/// The size of a page, if it is valid.
pub(super) fn checked(entries: u32) -> Result<u32, ListError> {
    if (1..=MOST).contains(&entries) { Ok(entries) } else { Err(ListError::PageSize { asked: entries, most: MOST }) }
}
