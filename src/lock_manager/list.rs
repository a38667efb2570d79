//! What is held now, page by page.

use std::time::Duration;

use super::LockManager;
use crate::clock::to_micros;
use crate::error::ListError;
use crate::lease::cursor::{Cursor, Place};
use crate::lease::listing::{LeaseState, ListQuery, Listed, Page};
use crate::lease::presence::Presence;
use crate::lease::{NOT_PLAIN, is_plain};

/// The most entries of a page.
pub(super) const MOST: u32 = 1_000;
/// As many as a person looks at.
pub(super) const USUAL: u32 = 100;

/// A list of what is held that is being described; [`run`](Listing::run) reads a page of it.
#[must_use = "a list is not read until `run`"]
#[derive(Debug)]
pub struct Listing<'m> {
    manager: &'m LockManager,
    query: ListQuery,
}

impl LockManager {
    /// What is held now, the longest-held first, page by page: for consoles. Without further words it is everything that
    /// is in the way of others.
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

    /// Only what this owner holds, or what is kept for them.
    pub fn owned_by(mut self, owner_id: impl Into<String>) -> Self {
        self.query.owner = Some(owner_id.into());
        self
    }

    /// Only leases in this state; without it those that are in the way of others: held, or reserved.
    pub fn in_state(mut self, state: LeaseState) -> Self {
        self.query.state = Some(state);
        self
    }

    /// Only where somebody is there, or nobody has been for a while: see [`Holder::presence`](crate::lease::Holder::presence).
    pub fn with_presence(mut self, presence: Presence) -> Self {
        self.query.presence = Some(presence);
        self
    }

    /// Only what has been held for so long, or longer, by the database's clock.
    pub fn held_for_at_least(mut self, age: Duration) -> Self {
        self.query.held_for = age;
        self
    }

    /// At most so many entries: 1 to 1,000. The default is 100.
    pub fn limit(mut self, entries: u32) -> Self {
        self.query.limit = entries;
        self
    }

    /// Goes on where a page ended. The other words should be the same ones as then.
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.query.after = Some(cursor.0);
        self
    }

    /// Reads a page. What was held all the time is on one of the pages, exactly once.
    ///
    /// Of one owner it goes by an index. Otherwise all rows of the type, or of all types, are looked at, also those of keys
    /// that nobody holds: [`LockManager::sweep`] keeps them few.
    ///
    /// # Errors
    /// [`ListError::PageSize`]; [`ListError::ForeignCursor`] for the place of another list; [`ListError::InvalidFilter`];
    /// [`ListError::Database`].
    pub async fn run(self) -> Result<Page<Listed>, ListError> {
        let limit = checked(self.query.limit)?;
        plain([self.query.kind.as_deref(), self.query.owner.as_deref()])?;
        if !matches!(self.query.after, None | Some(Place::Held { .. })) {
            return Err(ListError::ForeignCursor);
        }
        let policies = self.manager.policies.iter();
        let unusual = policies.filter_map(|(kind, policy)| Some((kind.clone(), policy.heartbeat?)));
        let query = ListQuery { limit: limit + 1, heartbeats: unusual.collect(), ..self.query };
        let mut found = self.manager.backend.list(&query).await?;
        for Listed { holder, .. } in &mut found {
            holder.heartbeat = self.manager.policy(holder.key.kind()).heartbeat_interval();
        }
        Ok(Page::cut(found, limit, |last| Place::Held {
            since: to_micros(last.holder.since) / 1000,
            key: last.holder.key.clone(),
            generation: last.holder.generation,
        }))
    }
}

/// Whether there can be such texts in the lock table. Not every database takes every text, so none is asked.
pub(super) fn plain<const N: usize>(filters: [Option<&str>; N]) -> Result<(), ListError> {
    match filters.into_iter().flatten().find(|text| !is_plain(text)) {
        Some(text) => Err(ListError::InvalidFilter { text: text.chars().take(60).collect(), problem: NOT_PLAIN }),
        None => Ok(()),
    }
}

/// The size of a page, if it is one.
pub(super) fn checked(entries: u32) -> Result<u32, ListError> {
    if (1..=MOST).contains(&entries) { Ok(entries) } else { Err(ListError::PageSize { asked: entries, most: MOST }) }
}
