//! The order in which a save writes the rows of children. No I/O here.
//!
//! Some databases check each row as it is written, so a row may be written only when no other one has its unique values, and the rows that
//! it refers to are there. Rows that wait for each other in a circle (two that swap a unique value, two new ones that refer to each other)
//! need one more statement: a column is set to NULL, or to an unused number, and later to its value.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::aggregate::diff::Diff;
use crate::aggregate::mapping::{Mapping, Row, Rows, Table};
use crate::aggregate::value::{Key, Kind, Value};

/// The rules of the child tables that decide about the order. Tables by their number in [`Mapping::children`], columns by theirs in the table.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rules {
    pub uniques: Vec<Unique>,
    pub references: Vec<Reference>,
}

/// A unique key, without the columns of the owner.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unique {
    pub table: usize,
    pub columns: Vec<usize>,
    /// Whether only rows of one aggregate have to differ.
    pub per_root: bool,
}

/// A foreign key between rows of the same aggregate, without the columns of the owner.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reference {
    pub table: usize,
    pub columns: Vec<usize>,
    pub to: usize,
    pub targets: Vec<usize>,
}

/// What a database says of one table, by names: the columns of its unique keys, and its foreign keys, each with the table that it refers to
/// and the pairs of columns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Described {
    pub uniques: Vec<Vec<String>>,
    pub references: Vec<(String, Vec<(String, String)>)>,
}

impl Rules {
    /// The rules that concern the order of a mapping's children. Keys with columns that no field maps to are left out.
    pub(crate) fn of(mapping: &Mapping, described: &[Described]) -> Self {
        let mut rules = Rules::default();
        let same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
        let column = |table: &Table, name: &str| table.columns.iter().position(|column| same(&column.name, name));
        let is_owner = |table: &Table, name: &str| table.owner.iter().any(|owner| same(owner, name));
        for (at, (table, described)) in mapping.children.iter().zip(described).enumerate() {
            for names in &described.uniques {
                let own: Option<Vec<usize>> =
                    names.iter().filter(|name| !is_owner(table, name)).map(|name| column(table, name)).collect();
                // A key of rows never changes.
                if let Some(columns) = own.filter(|columns| columns.iter().any(|&column| column >= table.key)) {
                    let owner = !table.owner.is_empty();
                    let per_root = owner && table.owner.iter().all(|owner| names.iter().any(|name| same(owner, name)));
                    rules.uniques.push(Unique { table: at, columns, per_root });
                }
            }
            for (name, pairs) in &described.references {
                let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
                let named = |table: &Table| same(&last(&table.name), &last(name));
                let Some(to) = mapping.children.iter().position(named) else { continue };
                let target = &mapping.children[to];
                let own = pairs.iter().filter(|(from, other)| !(is_owner(table, from) && is_owner(target, other)));
                let columns = own.map(|(from, other)| Some((column(table, from)?, column(target, other)?)));
                let Some(columns) = columns.collect::<Option<Vec<_>>>().filter(|columns| !columns.is_empty()) else {
                    continue;
                };
                let (columns, targets): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
                // Parents are written before their children anyway.
                if to >= at || columns.iter().any(|&column| column >= table.key) {
                    rules.references.push(Reference { table: at, columns, to, targets });
                }
            }
        }
        rules
    }
}

/// One statement for one row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step<'a> {
    Delete { table: usize, key: &'a [Value] },
    Update { table: usize, row: Cow<'a, Row>, changed: Vec<usize> },
    Insert { table: usize, row: Cow<'a, Row> },
}

/// The statements that turn the old rows into the new ones. Without a rule that decides otherwise: all deletes first, so that a new child may
/// reuse a unique value of a deleted one, inner children before outer ones; then the outer children before the inner ones.
pub(crate) fn plan<'a>(mapping: &Mapping, rules: &Rules, old: &'a Rows, diff: &'a Diff<'a>) -> Vec<Step<'a>> {
    let mut nodes = Vec::new();
    for (table, child) in diff.children.iter().enumerate().rev() {
        let before = rows_by_key(mapping, rules, old, table);
        for key in &child.deleted {
            let before = before.get(&Key(key)).copied();
            nodes.push(Node { step: Step::Delete { table, key }, before, after: None });
        }
    }
    for (table, child) in diff.children.iter().enumerate() {
        let before = rows_by_key(mapping, rules, old, table);
        for (row, changed) in &child.updated {
            let step = Step::Update { table, row: Cow::Borrowed(row), changed: changed.clone() };
            let before = before.get(&Key(&row[..mapping.children[table].key])).copied();
            nodes.push(Node { step, before, after: Some(row) });
        }
        for row in &child.inserted {
            let step = Step::Insert { table, row: Cow::Borrowed(row) };
            nodes.push(Node { step, before: None, after: Some(row) });
        }
    }
    if rules.uniques.is_empty() && rules.references.is_empty() {
        return nodes.into_iter().map(|node| node.step).collect();
    }
    let edges = edges(rules, &nodes);
    Graph { mapping, rules, old, nodes, edges, steps: Vec::new(), unused: HashMap::new() }.sorted()
}

/// The rows of a table before the save. Without rules nobody asks for them.
fn rows_by_key<'a>(mapping: &Mapping, rules: &Rules, old: &'a Rows, table: usize) -> HashMap<Key<'a>, &'a Row> {
    let key = mapping.children[table].key;
    let named = rules.uniques.iter().any(|unique| unique.table == table)
        || rules.references.iter().any(|reference| reference.table == table || reference.to == table);
    let rows = old.children.get(table).filter(|_| named);
    rows.into_iter().flatten().map(|row| (Key(&row[..key]), row)).collect()
}

/// A row that is written.
struct Node<'a> {
    step: Step<'a>,
    before: Option<&'a Row>,
    after: Option<&'a Row>,
}

impl Node<'_> {
    fn table(&self) -> usize {
        match self.step {
            Step::Delete { table, .. } | Step::Update { table, .. } | Step::Insert { table, .. } => table,
        }
    }
}

/// The reason that one row is written before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// It gives up a unique value that the other one takes.
    Frees(usize),
    /// It ends its reference to the other one, which goes.
    Leaves(usize),
    /// The other one will refer to it.
    Provides(usize),
}

#[derive(Debug, Clone, Copy)]
struct Edge {
    first: usize,
    then: usize,
    why: Why,
}

/// The values of these columns as text; `None` if one of them is null.
fn tuple(row: &Row, columns: &[usize]) -> Option<String> {
    let null = columns.iter().any(|&column| matches!(row[column], Value::Null(_)));
    (!null).then(|| columns.iter().map(|&column| format!("{:?};", row[column])).collect())
}

/// The values of these columns before and after, if they change.
fn change(node: &Node<'_>, columns: &[usize]) -> (Option<String>, Option<String>) {
    let (before, after) =
        (node.before.and_then(|row| tuple(row, columns)), node.after.and_then(|row| tuple(row, columns)));
    if before == after { (None, None) } else { (before, after) }
}

fn edges(rules: &Rules, nodes: &[Node<'_>]) -> Vec<Edge> {
    let mut edges = Vec::new();
    let of = |table: usize| nodes.iter().enumerate().filter(move |(_, node)| node.table() == table);
    for (rule, unique) in rules.uniques.iter().enumerate() {
        // More than one may take it, if only rows that meet a condition have to differ.
        let mut taken = HashMap::<_, Vec<usize>>::new();
        for (at, node) in of(unique.table) {
            if let Some(values) = change(node, &unique.columns).1 {
                taken.entry(values).or_default().push(at);
            }
        }
        for (first, node) in of(unique.table) {
            let freed = change(node, &unique.columns).0.and_then(|values| taken.get(&values));
            edges.extend(freed.into_iter().flatten().map(|&then| Edge { first, then, why: Why::Frees(rule) }));
        }
    }
    for (rule, reference) in rules.references.iter().enumerate() {
        let (mut gone, mut there) = (HashMap::new(), HashMap::new());
        for (at, node) in of(reference.to) {
            let (before, after) = change(node, &reference.targets);
            gone.extend(before.map(|values| (values, at)));
            there.extend(after.map(|values| (values, at)));
        }
        for (at, node) in of(reference.table) {
            let (left, taken) = change(node, &reference.columns);
            // InnoDB refuses to delete a row that refers to itself.
            let other = |then: &&usize| **then != at || node.after.is_none();
            if let Some(&then) = left.and_then(|values| gone.get(&values)).filter(other) {
                edges.push(Edge { first: at, then, why: Why::Leaves(rule) });
            }
            if let Some(&first) = taken.and_then(|values| there.get(&values)).filter(|&&first| first != at) {
                edges.push(Edge { first, then: at, why: Why::Provides(rule) });
            }
        }
    }
    edges
}

struct Graph<'a, 'r> {
    mapping: &'r Mapping,
    rules: &'r Rules,
    old: &'a Rows,
    nodes: Vec<Node<'a>>,
    /// Those between rows that are both not written yet.
    edges: Vec<Edge>,
    steps: Vec<Step<'a>>,
    /// The next unused number of a column.
    unused: HashMap<(usize, usize), i64>,
}

impl<'a> Graph<'a, '_> {
    /// All steps, in an order that no rule refuses.
    fn sorted(mut self) -> Vec<Step<'a>> {
        let mut waits_for = vec![0_usize; self.nodes.len()];
        let mut after = vec![Vec::new(); self.nodes.len()];
        self.edges.iter().for_each(|edge| {
            waits_for[edge.then] += 1;
            after[edge.first].push(*edge);
        });
        let mut written = vec![false; self.nodes.len()];
        let mut ready: BinaryHeap<_> = (0..self.nodes.len()).filter(|&at| waits_for[at] == 0).map(Reverse).collect();
        loop {
            while let Some(Reverse(at)) = ready.pop() {
                written[at] = true;
                self.steps.push(self.nodes[at].step.clone());
                for edge in std::mem::take(&mut after[at]) {
                    waits_for[edge.then] -= 1;
                    if waits_for[edge.then] == 0 {
                        ready.push(Reverse(edge.then));
                    }
                }
            }
            let Some(first) = written.iter().position(|written| !written) else { return self.steps };
            let circle = circle(first, &written, &after);
            let count = self.nodes.len();
            // If nothing can be set aside, the database decides.
            let ended = circle.iter().find(|edge| self.set_aside(edge)).copied().unwrap_or(circle[0]);
            // A column that is set aside ends every wait for its value.
            let same = |edge: &Edge| match ended.why {
                Why::Frees(_) | Why::Leaves(_) => edge.first == ended.first && edge.why == ended.why,
                Why::Provides(_) => edge.then == ended.then && edge.why == ended.why,
            };
            for edges in &mut after {
                edges.retain(|edge| {
                    if same(edge) {
                        waits_for[edge.then] -= 1;
                        if waits_for[edge.then] == 0 {
                            ready.push(Reverse(edge.then));
                        }
                    }
                    !same(edge)
                });
            }
            // What was set aside for a row that is not there yet is set after both.
            if self.nodes.len() > count {
                waits_for.push(2);
                written.push(false);
                after.push(Vec::new());
                for first in [ended.first, ended.then] {
                    after[first].push(Edge { first, then: count, why: ended.why });
                }
            }
        }
    }

    /// Whether a column of a row can be set to something else until the circle is open.
    fn set_aside(&mut self, edge: &Edge) -> bool {
        match edge.why {
            Why::Frees(rule) => {
                let unique = &self.rules.uniques[rule];
                self.set_before(edge.first, unique.table, &unique.columns, unique.per_root)
            }
            Why::Leaves(rule) => {
                let reference = &self.rules.references[rule];
                self.set_before(edge.first, reference.table, &reference.columns, false)
            }
            Why::Provides(rule) => {
                let reference = &self.rules.references[rule];
                let table = &self.mapping.children[reference.table];
                let node = &self.nodes[edge.then];
                let (Step::Insert { row, .. }, Some(whole)) = (&node.step, node.after) else { return false };
                let Some(column) = reference.columns.iter().copied().find(|&column| table.columns[column].nullable)
                else {
                    return false;
                };
                let mut row = row.clone().into_owned();
                row[column] = Value::Null(table.columns[column].kind);
                let table = reference.table;
                let step = Step::Update { table, row: Cow::Borrowed(whole), changed: vec![column] };
                self.nodes[edge.then].step = Step::Insert { table, row: Cow::Owned(row) };
                self.nodes.push(Node { step, before: None, after: Some(whole) });
                true
            }
        }
    }

    /// Sets one of these columns of a row that is there, before it is updated or deleted.
    fn set_before(&mut self, at: usize, table: usize, columns: &[usize], unused_number: bool) -> bool {
        let (node, own) = (&self.nodes[at], &self.mapping.children[table]);
        let Some(before) = node.before else { return false };
        let free =
            |&&column: &&usize| column >= own.key && node.after.is_none_or(|after| after[column] != before[column]);
        let nullable = columns.iter().filter(free).copied().find(|&column| own.columns[column].nullable);
        let number = || columns.iter().filter(free).copied().find(|&column| own.columns[column].kind == Kind::Integer);
        let (column, value) = match nullable {
            Some(column) => (column, Value::Null(own.columns[column].kind)),
            None => match number().filter(|_| unused_number) {
                Some(column) => (column, Value::Integer(self.unused(table, column))),
                None => return false,
            },
        };
        let mut row = self.nodes[at].before.cloned().unwrap_or_default();
        row[column] = value;
        self.steps.push(Step::Update { table, row: Cow::Owned(row), changed: vec![column] });
        true
    }

    /// A number that no row of the collection has, before or after the save.
    fn unused(&mut self, table: usize, column: usize) -> i64 {
        let old = self.old.children.get(table).into_iter().flatten();
        let new = self.nodes.iter().filter(|node| node.table() == table).filter_map(|node| node.after);
        let number = |row: &Row| if let Value::Integer(number) = row[column] { Some(number) } else { None };
        let most = || old.chain(new).filter_map(number).max().unwrap_or_default();
        let next = self.unused.get(&(table, column)).copied().unwrap_or_else(most).saturating_add(1);
        self.unused.insert((table, column), next);
        next
    }
}

/// Rows that wait for each other, found backwards from a row that waits.
fn circle(first: usize, written: &[bool], after: &[Vec<Edge>]) -> Vec<Edge> {
    let before = |at: usize| {
        let all = after.iter().enumerate().filter(|(first, _)| !written[*first]).flat_map(|(_, edges)| edges);
        all.copied().find(|edge| edge.then == at)
    };
    let (mut path, mut seen, mut at) = (Vec::new(), HashMap::new(), first);
    while !seen.contains_key(&at) {
        seen.insert(at, path.len());
        let Some(edge) = before(at) else { break };
        path.push(edge);
        at = edge.first;
    }
    path.split_off(seen.get(&at).copied().unwrap_or_default())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
