//! Counts admitted requests for leases per owner, so that the database need not be queried for every request.

use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedMutexGuard;

use crate::db::patience;
use crate::error::DatabaseError;

/// The maximum number of counted owners: beyond that all counts are dropped, and unknown owners are queried.
const MOST_OWNERS: usize = 10_000;
/// A limit up to this is exact: the count is queried every time.
const EXACT: u32 = 100;
/// Near the limit, queries of one owner are serialized; owners that share a slot by chance wait for each other.
const TURNS: usize = 64;

/// The requests that this process admitted per owner since it last queried the database. Clones share the counts.
#[derive(Clone)]
pub(crate) struct Grants(Arc<Inner>);

struct Inner {
    counts: Mutex<Counts>,
    turns: Vec<Arc<tokio::sync::Mutex<()>>>,
    /// A keyed hash, so that an attacker cannot choose ids that collide.
    hasher: Hasher,
}

#[cfg(not(test))]
type Hasher = std::hash::RandomState;
/// In the simulation the same owners share a slot in every run.
#[cfg(test)]
type Hasher = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;

#[derive(Default)]
struct Counts {
    by_owner: HashMap<u64, u32>,
    /// Whether uncounted owners may hold leases.
    forgot: bool,
}

impl Grants {
    pub(crate) fn new() -> Self {
        let turns = std::iter::repeat_with(Arc::default).take(TURNS).collect();
        Grants(Arc::new(Inner { counts: Mutex::default(), turns, hasher: Hasher::default() }))
    }

    /// Counts one more. Returns whether the owner is so far from the limit that the database need not be queried.
    pub(crate) fn is_far_from(&self, limit: u32, owner: &str) -> bool {
        if limit <= EXACT {
            return false;
        }
        let mut counts = self.counts();
        if counts.by_owner.len() >= MOST_OWNERS {
            counts.by_owner.clear();
            counts.forgot = true;
        }
        let forgot = counts.forgot;
        let count = counts.by_owner.entry(self.hash(owner)).or_insert(if forgot { limit } else { 0 });
        if *count >= limit / 2 {
            return false;
        }
        *count += 1;
        true
    }

    /// Until this is dropped, no other query near the limit runs for an owner of the same slot.
    /// The wait for it ends with the time of the operation.
    pub(crate) async fn turn(&self, owner: &str) -> Result<OwnedMutexGuard<()>, DatabaseError> {
        let turn = usize::try_from(self.hash(owner) % TURNS as u64).unwrap_or(0);
        let turn = Arc::clone(&self.0.turns[turn]).lock_owned();
        let busy = |_| DatabaseError::Busy("other requests of the same owner have not been answered yet");
        tokio::time::timeout(patience::left(), turn).await.map_err(busy)
    }

    /// Stores the database's count.
    pub(crate) fn counted(&self, owner: &str, held: u64) {
        self.counts().by_owner.insert(self.hash(owner), u32::try_from(held).unwrap_or(u32::MAX));
    }

    fn hash(&self, owner: &str) -> u64 {
        self.0.hasher.hash_one(owner)
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        // A panic cannot leave it half-changed.
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants").field("owners", &self.counts().by_owner.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_is_counted_after_half_of_the_limit() {
        let grants = Grants::new();
        assert_eq!((0..1_000).filter(|_| grants.is_far_from(1_000, "kim")).count(), 500);
        assert!(grants.is_far_from(1_000, "lee"));
        grants.counted("kim", 100);
        assert_eq!((0..1_000).filter(|_| grants.is_far_from(1_000, "kim")).count(), 400);
        grants.counted("kim", 900);
        assert!(!grants.is_far_from(1_000, "kim"));
    }

    #[test]
    fn small_limit_is_always_queried() {
        assert!(!Grants::new().is_far_from(100, "kim"));
    }

    #[test]
    fn remembered_owners_are_bounded_to_ten_thousand() {
        let grants = Grants::new();
        for owner in 0..25_000 {
            assert_eq!(grants.is_far_from(1_000, &owner.to_string()), owner < 10_000, "{owner}");
            assert!(grants.counts().by_owner.len() <= MOST_OWNERS);
        }
    }
}
