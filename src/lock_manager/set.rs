//! Sets of locks: one secret, and a lease for each key. No I/O here.
//!
//! Each member's lock id is derived from the set's secret and the member's key. So a form has one hidden field for all
//! of them, each member is a lease like any other, and the secret and the keys are enough to restore the set.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::error::LockError;
use crate::lease::{Lease, LockId, LockKey};
use crate::telemetry::outcome::About;

/// Several keys and the one secret that holds them: the content of a form, and the argument of the operations on sets.
///
/// The keys are sorted and unique. The next request restores a set that [`LockManager::try_lock_all`] acquired from the secret in
/// the form and the keys. The keys must be the same ones: the set does not
/// know omitted members, and they expire.
///
/// [`LockManager::try_lock_all`]: crate::LockManager::try_lock_all
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseSet {
    id: LockId,
    keys: Vec<LockKey>,
}

impl LeaseSet {
    /// The maximum number of keys of a set, because one statement covers all of them.
    pub const MOST_KEYS: usize = 256;

    /// The set of these keys under this secret. Duplicate keys count once.
    ///
    /// # Errors
    /// [`LockError::NoKeys`]; [`LockError::TooManyKeys`] beyond [`MOST_KEYS`](Self::MOST_KEYS);
    /// [`LockError::InvalidKey`] with the first invalid key.
    pub fn of(id: LockId, keys: impl IntoIterator<Item = LockKey>) -> Result<Self, LockError> {
        // One order for all callers, so that two sets never deadlock.
        let keys: BTreeSet<LockKey> = keys.into_iter().collect();
        if keys.is_empty() {
            return Err(LockError::NoKeys);
        }
        if keys.len() > Self::MOST_KEYS {
            return Err(LockError::TooManyKeys { count: keys.len(), most: Self::MOST_KEYS });
        }
        match keys.iter().find_map(LockError::of_invalid) {
            Some(invalid) => Err(invalid),
            None => Ok(LeaseSet { id, keys: keys.into_iter().collect() }),
        }
    }

    /// The secret, for the form's hidden field `lid`.
    pub fn id(&self) -> &LockId {
        &self.id
    }

    /// The keys, sorted and unique.
    pub fn keys(&self) -> &[LockKey] {
        &self.keys
    }

    /// The lock id of one member, for operations on a single lease: [`Update::holding`](crate::unit_of_work::Update::holding),
    /// [`LockManager::check_lock`](crate::LockManager::check_lock). `None`: the key is not in the set.
    pub fn lock_id(&self, key: &LockKey) -> Option<LockId> {
        self.keys.binary_search(key).ok().map(|_| self.id.of_member(key))
    }

    /// The lock ids of all members, in the order of the keys.
    pub(crate) fn lock_ids(&self) -> Vec<LockId> {
        self.keys.iter().map(|key| self.id.of_member(key)).collect()
    }
}

/// A set whose leases are all live: `try_lock_all` returns it and the other operations confirm it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldSet {
    set: LeaseSet,
    leases: Vec<Lease>,
}

impl HeldSet {
    /// All leases of a set, in the order of its keys.
    pub(crate) fn new(set: LeaseSet, leases: Vec<Lease>) -> Self {
        HeldSet { set, leases }
    }

    /// The leases alone.
    pub(crate) fn into_leases(self) -> Vec<Lease> {
        self.leases
    }

    /// The keys and their secret: the argument of the operations on sets.
    pub fn set(&self) -> &LeaseSet {
        &self.set
    }

    /// The leases, in the order of their keys.
    pub fn leases(&self) -> &[Lease] {
        &self.leases
    }

    /// The lease of one member. `None`: the key is not in the set.
    pub fn lease(&self, key: &LockKey) -> Option<&Lease> {
        self.set.keys.binary_search(key).ok().and_then(|at| self.leases.get(at))
    }

    /// The time until the first of them expires without another heartbeat.
    pub fn remaining(&self) -> Duration {
        self.leases.iter().map(|lease| lease.holder().remaining).min().unwrap_or_default()
    }
}

impl About for HeldSet {}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str) -> LockKey {
        LockKey::new("Order", id)
    }

    #[test]
    fn the_same_secret_and_keys_are_the_same_set_in_any_order() {
        let id = LockId::random();
        let set = LeaseSet::of(id.clone(), [key("2"), key("1"), key("2")]).expect("it is a set, and the key is in it");
        assert_eq!(set.keys(), [key("1"), key("2")]);
        assert_eq!(Ok(set), LeaseSet::of(id, [key("1"), key("2")]).map_err(|error| error.to_string()));
    }

    #[test]
    fn each_member_has_a_lock_id_of_its_own_and_none_is_the_secret() {
        let set = LeaseSet::of(LockId::random(), [key("1"), key("2")]).expect("it is a set, and the key is in it");
        let (one, two) = (
            set.lock_id(&key("1")).expect("it is a set, and the key is in it"),
            set.lock_id(&key("2")).expect("it is a set, and the key is in it"),
        );
        assert!(one != two && one != *set.id() && two != *set.id());
        assert_eq!(set.lock_id(&key("3")), None);
        // The boundary between type and id matters.
        assert_ne!(set.id().of_member(&LockKey::new("ab", "c")), set.id().of_member(&LockKey::new("a", "bc")));
    }

    #[test]
    fn empty_oversized_or_invalid_set_is_refused_with_its_reason() {
        let of = |keys: Vec<LockKey>| LeaseSet::of(LockId::random(), keys).expect_err("it is refused").to_string();
        assert!(of(vec![]).contains("at least one key"));
        let many = of((0..257).map(|id| key(&id.to_string())).collect());
        assert!(many.contains("257") && many.contains("256"), "{many}");
        let bad = of(vec![key("1"), LockKey::new("Invoice", "")]);
        assert!(bad.contains("Invoice") && bad.contains("empty"), "{bad}");
    }
}
