//! Detects potential deadlocks before they happen: one transaction locks A and then B, and another locks B and then A.
//! The idea is that of the Linux kernel's lockdep.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::lease::LockKey;

/// Two aggregates, or types of aggregates, that were locked in both orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockInversion {
    /// The one that was locked first in this transaction.
    pub first: String,
    /// The one that was locked second in this transaction, and first in another.
    pub then: String,
    /// The command of the transaction that locked them in the other order, if it set one.
    pub seen_before_in: Option<String>,
}

impl fmt::Display for LockInversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LockInversion { first, then, seen_before_in } = self;
        write!(f, "{first} was locked before {then}, and another time after it")?;
        if let Some(command) = seen_before_in {
            write!(f, " (in `{command}`)")?;
        }
        f.write_str(": two such transactions can wait for each other; lock them with `lock_all`")
    }
}

/// The observed orders. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct LockOrder(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    /// Pairs of first and second, with the command that locked them.
    pairs: BTreeMap<(String, String), Option<String>>,
    inversions: Vec<LockInversion>,
}

impl LockOrder {
    /// Records that a transaction that holds these keys locked one more.
    pub(crate) fn record(&self, held: &[LockKey], next: &LockKey, command: Option<&str>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for before in held.iter().filter(|before| *before != next) {
            let (first, then) = names(before, next);
            if let Some(other) = seen.pairs.get(&(then.clone(), first.clone())) {
                let inversion = LockInversion { first, then, seen_before_in: other.clone() };
                if !seen.inversions.contains(&inversion) {
                    tracing::warn!(%inversion, "lock order");
                    seen.inversions.push(inversion);
                }
                continue;
            }
            seen.pairs.entry((first, then)).or_insert_with(|| command.map(str::to_owned));
        }
    }

    /// The inversions found so far.
    pub(crate) fn inversions(&self) -> Vec<LockInversion> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).inversions.clone()
    }
}

/// Aggregates of different types are compared by type, because every pair of ids may occur. Aggregates of one type are
/// compared by the order of their ids, which `lock_all` uses.
fn names(first: &LockKey, then: &LockKey) -> (String, String) {
    if first.kind() != then.kind() {
        return (first.kind().to_owned(), then.kind().to_owned());
    }
    let (lower, higher) = (format!("the lower {} id", first.kind()), format!("the higher {} id", first.kind()));
    if first.id() < then.id() { (lower, higher) } else { (higher, lower) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: &str, id: &str) -> LockKey {
        LockKey::new(kind, id)
    }

    #[test]
    fn inverted_lock_order_is_reported_with_its_callers() {
        let order = LockOrder::default();
        order.record(&[key("Order", "1")], &key("Stock", "9"), Some("ship"));
        order.record(&[key("Order", "7")], &key("Stock", "2"), Some("ship"));
        assert_eq!(order.inversions(), []);
        order.record(&[key("Stock", "2")], &key("Order", "3"), Some("restock"));
        order.record(&[key("Stock", "2")], &key("Order", "4"), Some("restock"));
        let found = order.inversions();
        assert_eq!((found.len(), found[0].first.as_str(), found[0].then.as_str()), (1, "Stock", "Order"));
        assert_eq!(found[0].seen_before_in.as_deref(), Some("ship"));
    }

    #[test]
    fn an_inversion_says_what_to_do() {
        let mut found = LockInversion { first: "Stock".into(), then: "Order".into(), seen_before_in: None };
        let advice = "two such transactions can wait for each other; lock them with `lock_all`";
        assert_eq!(found.to_string(), format!("Stock was locked before Order, and another time after it: {advice}"));
        found.seen_before_in = Some("ship".into());
        assert!(found.to_string().contains("after it (in `ship`): "), "{found}");
    }

    #[test]
    fn ids_of_one_type_are_ordered() {
        let order = LockOrder::default();
        order.record(&[key("Account", "a")], &key("Account", "b"), None);
        order.record(&[key("Account", "a")], &key("Account", "a"), None);
        assert_eq!(order.inversions(), []);
        order.record(&[key("Account", "z")], &key("Account", "c"), None);
        let (first, then) = ("the higher Account id".to_owned(), "the lower Account id".to_owned());
        assert_eq!(order.inversions(), [LockInversion { first, then, seen_before_in: None }]);
    }
}
