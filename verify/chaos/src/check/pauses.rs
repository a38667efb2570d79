//! For how long nobody's writes were acknowledged, and no lease was granted, around the faults that stop a server or a node. It judges nothing.

use std::collections::BTreeMap;

use crate::clock::ms;
use crate::evidence::Evidence;
use crate::history::{Operation, Outcome};
use crate::nemesis::Fault;

/// The faults after which a whole database may stop.
const KINDS: [Fault; 5] = [Fault::KillServer, Fault::StopServer, Fault::StopNode, Fault::StopOthers, Fault::Isolate];

/// The longest times, in milliseconds, by kind of fault.
pub(crate) type Pauses = BTreeMap<&'static str, Vec<u64>>;

/// The longest time without an acknowledged write that each fault overlaps.
pub(crate) fn of_writes(evidence: &Evidence) -> Pauses {
    without(evidence, Operation::appends)
}

/// The longest time without a granted lease that each fault overlaps.
pub(crate) fn of_grants(evidence: &Evidence) -> Pauses {
    without(evidence, Operation::requests)
}

fn without(evidence: &Evidence, is_meant: impl Fn(&Operation) -> bool) -> Pauses {
    let done = evidence.operations.iter().filter(|it| is_meant(it) && it.outcome() == Outcome::Ok);
    let mut done: Vec<u64> = done.map(|operation| operation.answered_at()).collect();
    // A pause that lasts to the end is as long as the run.
    done.extend(evidence.faults.iter().map(|fault| fault.to_ns).max());
    done.sort_unstable();
    let mut pauses = Pauses::new();
    for fault in evidence.faults.iter().filter(|fault| KINDS.iter().any(|kind| kind.name() == fault.kind)) {
        let overlaps = |pair: &&[u64]| pair[0] < fault.to_ns && pair[1] > fault.from_ns;
        let longest = done.windows(2).filter(overlaps).map(|pair| (pair[1] - pair[0]) / ms(1)).max();
        pauses.entry(fault.kind).or_default().extend(longest);
    }
    pauses
}

#[cfg(test)]
mod tests {
    use super::super::samples::append;
    use super::*;
    use crate::evidence::Injected;

    #[test]
    fn pause_is_the_longest_time_without_a_write() {
        let operations = [10, 20, 900, 950, 5_000].map(|at| append("op", "a", (at, at), 2)).into();
        let fault = |from, to| Injected {
            kind: Fault::KillServer.name(),
            from_ns: ms(from),
            to_ns: ms(to),
            hit: true,
            stands_still: false,
        };
        let evidence = Evidence { operations, faults: vec![fault(30, 910), fault(12, 13)], ..Evidence::default() };
        assert_eq!(of_writes(&evidence)[Fault::KillServer.name()], [880, 10]);
        let evidence = Evidence { faults: vec![fault(6_000, 9_000)], ..evidence };
        assert_eq!(of_writes(&evidence)[Fault::KillServer.name()], [4_000]);
    }
}
