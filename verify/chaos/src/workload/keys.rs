//! Which ledgers the load is about: a few that everybody wants, many that are wanted sometimes, and new ones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::{ms, now_ns};
use crate::random::Random;

/// A ledger with more entries is left, and another takes its place: loading it would be all that is measured.
const LONGEST: i64 = 60;

/// For how long a new ledger is the newest one, for all processes.
const NEWEST: u64 = ms(400);

const HOT: u64 = 4;
const WARM: u64 = 24;

/// The ledgers in use, as far as this process knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    /// How often each place was given to another ledger.
    epochs: Arc<Mutex<HashMap<String, u64>>>,
}

impl Keys {
    /// A ledger of a workload.
    pub(crate) fn pick(&self, workload: &str, random: &mut Random) -> String {
        let place = match random.below(100) {
            0..40 => format!("{workload}-hot{}", random.below(HOT)),
            40..88 => format!("{workload}-warm{}", random.below(WARM)),
            _ => return format!("{workload}-new{}.0", now_ns() / NEWEST),
        };
        let epoch = self.epochs.lock().unwrap_or_else(PoisonError::into_inner).get(&place).copied().unwrap_or(0);
        format!("{place}.{epoch}")
    }

    /// Leaves a ledger that has reached this version, if that is high enough.
    pub(crate) fn seen(&self, ledger: &str, version: i64) {
        let Some((place, epoch)) = ledger.split_once('.') else { return };
        if version > LONGEST {
            let next = epoch.parse::<u64>().unwrap_or(0) + 1;
            let mut epochs = self.epochs.lock().unwrap_or_else(PoisonError::into_inner);
            let known = epochs.entry(place.to_owned()).or_default();
            *known = next.max(*known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ledger_is_replaced_for_good() {
        let keys = Keys::default();
        keys.seen("w1-hot0.0", LONGEST + 1);
        keys.seen("w1-hot0.0", LONGEST + 2);
        let mut random = Random::new(1, 1);
        let picked: Vec<_> = (0..400).map(|_| keys.pick("w1", &mut random)).collect();
        assert!(picked.contains(&"w1-hot0.1".to_owned()) && !picked.contains(&"w1-hot0.0".to_owned()));
    }
}
