//! C6: when everything is whole again, a new client gets every lock within a time to live, and nothing stands open.

use super::Violation;
use crate::evidence::Evidence;

pub(super) const NAME: &str = "C6 nothing is stuck";

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let after = &evidence.aftermath;
    let violation = |what| Violation { check: NAME, what, at_ns: None };
    let mut found: Vec<_> = after.stuck.iter().map(|what| violation(format!("not granted: {what}"))).collect();
    if after.open_transactions > 0 {
        found.push(violation(format!("{} transactions stand open without a client", after.open_transactions)));
    }
    if after.hung_clients > 0 {
        found.push(violation(format!("{} clients did not end, so a call of theirs never did", after.hung_clients)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Aftermath;

    fn found(aftermath: Aftermath) -> usize {
        check(&Evidence { aftermath, ..Evidence::default() }).len()
    }

    #[test]
    fn stuck_keys_transactions_and_clients_are_found() {
        assert_eq!(found(Aftermath { requested: 9, ..Aftermath::default() }), 0);
        assert_eq!(found(Aftermath { stuck: vec!["a".to_owned()], ..Aftermath::default() }), 1);
        assert_eq!(found(Aftermath { open_transactions: 1, ..Aftermath::default() }), 1);
        assert_eq!(found(Aftermath { hung_clients: 1, ..Aftermath::default() }), 1);
    }
}
