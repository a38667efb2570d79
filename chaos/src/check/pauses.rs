//! For how long nobody's writes were acknowledged, around the faults that stop a server or a node. It judges nothing.

use std::collections::BTreeMap;

use crate::clock::ms;
use crate::evidence::Evidence;
use crate::history::Outcome;
use crate::nemesis::Fault;

/// The faults after which a whole database may stop.
const KINDS: [Fault; 3] = [Fault::KillServer, Fault::StopServer, Fault::StopNode];

/// By kind of fault: the longest time without an acknowledged write that each of them overlaps, in milliseconds.
pub(crate) fn of(evidence: &Evidence) -> BTreeMap<&'static str, Vec<u64>> {
    let written = evidence.operations.iter().filter(|it| it.appends() && it.outcome() == Outcome::Ok);
    let mut written: Vec<u64> = written.map(|operation| operation.answered_at()).collect();
    written.sort_unstable();
    let mut pauses: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for fault in evidence.faults.iter().filter(|fault| KINDS.iter().any(|kind| kind.name() == fault.kind)) {
        let overlaps = |pair: &&[u64]| pair[0] < fault.to_ns && pair[1] > fault.from_ns;
        let longest = written.windows(2).filter(overlaps).map(|pair| (pair[1] - pair[0]) / ms(1)).max();
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
        assert_eq!(of(&evidence)[Fault::KillServer.name()], [880, 10]);
    }
}
