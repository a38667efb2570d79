//! Cycles in a graph of transactions, named as Adya and Elle name them.

use std::collections::{BTreeMap, VecDeque};

use super::Edge;

/// Transactions by number, and what comes before what.
#[derive(Debug, Default)]
pub(super) struct Graph {
    after: Vec<Vec<(usize, Edge)>>,
}

impl Graph {
    pub(super) fn new(nodes: usize, edges: impl Iterator<Item = (usize, usize, Edge)>) -> Self {
        let mut after = vec![Vec::new(); nodes];
        for (from, to, edge) in edges {
            after[from].push((to, edge));
        }
        Graph { after }
    }

    pub(super) fn edges(&self) -> usize {
        self.after.iter().map(Vec::len).sum()
    }

    /// One cycle of each group of transactions that come before each other, by its worst name.
    pub(super) fn cycles(&self) -> Vec<(&'static str, Vec<usize>)> {
        let mut found: Vec<(&'static str, Vec<usize>)> = Vec::new();
        let only = |edges: &'static [Edge]| move |edge: Edge| edges.contains(&edge);
        let classes = [("G0", &[Edge::Write][..]), ("G1c", &[Edge::Write, Edge::Read][..])];
        for (name, edges) in classes {
            for group in self.groups(only(edges)) {
                if !found.iter().any(|(_, cycle)| cycle.iter().any(|node| group.contains(node))) {
                    found.extend(self.cycle_through(group[0], &group, only(edges)).map(|cycle| (name, cycle)));
                }
            }
        }
        for group in self.groups(|_| true) {
            if found.iter().any(|(_, cycle)| cycle.iter().any(|node| group.contains(node))) {
                continue;
            }
            let without = only(&[Edge::Write, Edge::Read]);
            let single = group.iter().find_map(|from| {
                let overwritten = self.after[*from].iter().filter(|(_, edge)| *edge == Edge::Overwritten);
                overwritten.filter(|(to, _)| group.contains(to)).find_map(|(to, _)| {
                    let path = self.path(*to, *from, &group, without)?;
                    // From the reader on.
                    Some([vec![*from], path[..path.len() - 1].to_vec()].concat())
                })
            });
            match single {
                Some(cycle) => found.push(("G-single", cycle)),
                None => found.extend(self.cycle_through(group[0], &group, |_| true).map(|cycle| ("G2-item", cycle))),
            }
        }
        found
    }

    /// The shortest cycle through a node, within a group.
    fn cycle_through(&self, node: usize, group: &[usize], follow: impl Fn(Edge) -> bool + Copy) -> Option<Vec<usize>> {
        let next = self.after[node].iter().filter(|(to, edge)| follow(*edge) && group.contains(to));
        let paths = next.filter_map(|(to, _)| self.path(*to, node, group, follow));
        let shortest = paths.min_by_key(Vec::len)?;
        Some([vec![node], shortest[..shortest.len() - 1].to_vec()].concat())
    }

    /// The shortest path from one node to another, both included.
    fn path(&self, from: usize, to: usize, group: &[usize], follow: impl Fn(Edge) -> bool) -> Option<Vec<usize>> {
        let (mut before, mut queue) = (BTreeMap::from([(from, from)]), VecDeque::from([from]));
        while let Some(node) = queue.pop_front() {
            if node == to {
                let mut path = vec![to];
                while path[path.len() - 1] != from {
                    path.push(before[&path[path.len() - 1]]);
                }
                path.reverse();
                return Some(path);
            }
            for (next, edge) in &self.after[node] {
                if follow(*edge) && group.contains(next) && !before.contains_key(next) {
                    before.insert(*next, node);
                    queue.push_back(*next);
                }
            }
        }
        None
    }

    /// The groups of nodes that reach each other by these edges, of two nodes or more (Tarjan, without recursion).
    fn groups(&self, follow: impl Fn(Edge) -> bool) -> Vec<Vec<usize>> {
        const NONE: usize = usize::MAX;
        let count = self.after.len();
        let (mut index, mut low, mut on_stack) = (vec![NONE; count], vec![0; count], vec![false; count]);
        let (mut stack, mut groups, mut next) = (Vec::new(), Vec::new(), 0);
        for root in 0..count {
            if index[root] != NONE {
                continue;
            }
            let mut open = vec![(root, 0)];
            while let Some((node, edge)) = open.pop() {
                if edge == 0 {
                    (index[node], low[node]) = (next, next);
                    next += 1;
                    stack.push(node);
                    on_stack[node] = true;
                }
                let rest = self.after[node][edge..].iter().enumerate();
                let mut child = None;
                for (skipped, (to, _)) in rest.filter(|(_, (_, kind))| follow(*kind)) {
                    if index[*to] == NONE {
                        child = Some((edge + skipped, *to));
                        break;
                    }
                    if on_stack[*to] {
                        low[node] = low[node].min(low[*to]);
                    }
                }
                if let Some((at, to)) = child {
                    // Seen again afterwards, for the child's lowest; never as new.
                    open.extend([(node, at + 1), (to, 0)]);
                    continue;
                }
                if low[node] == index[node] {
                    let from = stack.iter().rposition(|other| *other == node).unwrap_or(0);
                    let group = stack.split_off(from);
                    group.iter().for_each(|member| on_stack[*member] = false);
                    if group.len() > 1 {
                        groups.push(group);
                    }
                } else if let Some((parent, _)) = open.last() {
                    low[*parent] = low[*parent].min(low[node]);
                }
            }
        }
        groups
    }
}
