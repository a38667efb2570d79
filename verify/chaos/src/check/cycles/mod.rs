//! C8: the transfers fit one order. No cycle of transactions in which each wrote after, read from, or was overwritten by the next.
//!
//! The versions of the ledgers tell the order of the writes, so every edge is known and nothing is guessed.

mod graph;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Violation;
use crate::evidence::Evidence;
use crate::workload::Workload;

use self::graph::Graph;

pub(super) const NAME: &str = "C8 cycles of transfers";

/// Why one transaction comes before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Edge {
    /// The other wrote the next version.
    Write,
    /// The other read what this one wrote.
    Read,
    /// The other overwrote what this one had read.
    Overwritten,
}

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let (graph, names) = graph(evidence);
    let called: HashMap<&str, u64> =
        evidence.operations.iter().map(|operation| (operation.id(), operation.called_at())).collect();
    let mut found = Vec::new();
    for (kind, cycle) in graph.cycles() {
        let ops: Vec<&str> = cycle.iter().map(|node| names[*node]).collect();
        let at_ns = ops.iter().filter_map(|op| called.get(op).copied()).min();
        found.push(Violation { check: NAME, what: format!("{kind}: {}", ops.join(" before ")), at_ns });
    }
    found
}

/// How many transactions read a ledger that they did not write, and how many edges the graph has.
pub(super) fn size(evidence: &Evidence) -> (u64, u64) {
    let watching = evidence.operations.iter().filter(|it| it.ok().is_some_and(|args| !args.saw.is_empty())).count();
    (watching as u64, graph(evidence).0.edges() as u64)
}

/// All transfers that were committed, by what the audit says of each version.
fn graph(evidence: &Evidence) -> (Graph, Vec<&str>) {
    let mut nodes: HashMap<&str, usize> = HashMap::new();
    let mut names = Vec::new();
    let mut node = |op| {
        *nodes.entry(op).or_insert_with(|| {
            names.push(op);
            names.len() - 1
        })
    };
    // Who wrote each version.
    let mut writers: BTreeMap<&str, BTreeMap<i64, usize>> = BTreeMap::new();
    let of_transfers = |ledger: &str| Workload::of(ledger) == Some(Workload::Transfer);
    for note in evidence.notes.iter().filter(|note| of_transfers(&note.ledger)) {
        writers.entry(&note.ledger).or_default().insert(note.version, node(&note.op));
    }
    let mut edges = BTreeSet::new();
    for versions in writers.values() {
        edges.extend(versions.values().zip(versions.values().skip(1)).map(|(one, next)| (*one, *next, Edge::Write)));
    }
    for operation in &evidence.operations {
        for (ledger, version) in operation.ok().into_iter().flat_map(|args| &args.saw) {
            let (reader, versions) = (node(operation.id()), writers.get(ledger.as_str()));
            let writer_of = |version| versions.and_then(|versions| versions.get(&version)).copied();
            edges.extend(writer_of(*version).map(|writer| (writer, reader, Edge::Read)));
            edges.extend(writer_of(version + 1).map(|writer| (reader, writer, Edge::Overwritten)));
        }
    }
    let edges = edges.into_iter().filter(|(from, to, _)| from != to);
    (Graph::new(names.len(), edges), names)
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;
    use crate::evidence::Noted;
    use crate::history::{Args, Function, Operation};

    /// A transfer that wrote these versions, and read those.
    fn transfer(op: &str, wrote: &[(&str, i64)], saw: &[(&str, i64)]) -> (Operation, Vec<Noted>) {
        let saw = saw.iter().map(|(ledger, version)| ((*ledger).to_owned(), *version)).collect();
        let answer = Args { saw, ..Args::default() };
        let notes = wrote.iter().map(|(ledger, version)| note(op, ledger, *version, None, 0)).collect();
        (ok(Function::Transfer, op, wrote[0].0, (0, 10), Args::default(), answer), notes)
    }

    fn found(transfers: Vec<(Operation, Vec<Noted>)>) -> Vec<String> {
        let mut evidence = Evidence::default();
        for ledger in ["w5-a", "w5-b"] {
            evidence.notes.push(note(&format!("made {ledger}"), ledger, 1, None, 0));
        }
        for (operation, notes) in transfers {
            evidence.operations.push(operation);
            evidence.notes.extend(notes);
        }
        check(&evidence).into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn transfers_in_one_order_have_no_cycle() {
        let first = transfer("1", &[("w5-a", 2), ("w5-b", 2)], &[]);
        let second = transfer("2", &[("w5-a", 3)], &[("w5-b", 2)]);
        let third = transfer("3", &[("w5-b", 3)], &[("w5-a", 3)]);
        assert_eq!(found(vec![first, second, third]), Vec::<String>::new());
    }

    #[test]
    fn writes_in_two_orders_are_found() {
        let first = transfer("1", &[("w5-a", 2), ("w5-b", 3)], &[]);
        let second = transfer("2", &[("w5-a", 3), ("w5-b", 2)], &[]);
        assert_eq!(found(vec![first, second]), ["G0: 1 before 2"]);
    }

    #[test]
    fn reads_of_each_other_are_found() {
        let first = transfer("1", &[("w5-a", 2)], &[("w5-b", 2)]);
        let second = transfer("2", &[("w5-b", 2)], &[("w5-a", 2)]);
        assert_eq!(found(vec![first, second]), ["G1c: 1 before 2"]);
    }

    #[test]
    fn torn_read_of_two_ledgers_is_found() {
        let first = transfer("1", &[("w5-a", 2), ("w5-b", 2)], &[]);
        let second = transfer("2", &[("w5-c", 2)], &[("w5-a", 1), ("w5-b", 2)]);
        assert_eq!(found(vec![first, second]), ["G-single: 2 before 1"]);
    }

    #[test]
    fn write_skew_is_found() {
        let first = transfer("1", &[("w5-a", 2)], &[("w5-b", 1)]);
        let second = transfer("2", &[("w5-b", 2)], &[("w5-a", 1)]);
        assert_eq!(found(vec![first, second]), ["G2-item: 1 before 2"]);
    }

    #[test]
    fn size_says_how_much_was_judged() {
        let (operation, notes) = transfer("1", &[("w5-a", 2)], &[("w5-b", 1)]);
        let evidence = Evidence { operations: vec![operation], notes, ..Evidence::default() };
        assert_eq!(size(&evidence), (1, 0));
    }
}
