//! The difference between the loaded and the current state: the rows that a save writes. No I/O here.

use std::collections::HashMap;

use crate::aggregate::mapping::{Mapping, Row, Rows, Table};
use crate::aggregate::value::{Key, Value};

/// The difference between two states of one aggregate.
#[derive(Debug, PartialEq)]
pub(crate) struct Diff<'a> {
    /// Indexes of the changed columns of the root.
    pub root: Vec<usize>,
    /// The difference of each child collection, in the order of the mapping.
    pub children: Vec<ChildDiff<'a>>,
}

/// The difference of one child collection; children are matched by key.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ChildDiff<'a> {
    /// Keys of the removed rows.
    pub deleted: Vec<&'a [Value]>,
    /// Rows with an unchanged key, with the indexes of the changed columns.
    pub updated: Vec<(&'a Row, Vec<usize>)>,
    /// Rows with a new key.
    pub inserted: Vec<&'a Row>,
}

impl<'a> Diff<'a> {
    /// Compares. The id itself cannot change: an aggregate under another id is another aggregate. So key columns of
    /// the root are never among the changed ones, and the caller checks them with [`same_id`].
    pub(crate) fn between(mapping: &Mapping, old: &'a Rows, new: &'a Rows) -> Self {
        let children = mapping.children.iter().zip(old.children.iter().zip(&new.children));
        Diff {
            root: whole_values(&mapping.root, changed(&mapping.root, &old.root, &new.root)),
            children: children.map(|(table, (old, new))| ChildDiff::between(table, old, new)).collect(),
        }
    }

    /// Of a new aggregate.
    pub(crate) fn of_new(rows: &'a Rows) -> Self {
        let inserted = |rows: &'a Vec<Row>| ChildDiff { inserted: rows.iter().collect(), ..ChildDiff::default() };
        Diff { root: Vec::new(), children: rows.children.iter().map(inserted).collect() }
    }

    /// Of one that is deleted.
    pub(crate) fn of_gone(mapping: &Mapping, rows: &'a Rows) -> Self {
        let keys = |(table, rows): (&Table, &'a Vec<Row>)| rows.iter().map(|row| &row[..table.key]).collect();
        let children = mapping.children.iter().zip(&rows.children);
        let children = children.map(|child| ChildDiff { deleted: keys(child), ..ChildDiff::default() }).collect();
        Diff { root: Vec::new(), children }
    }

    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.root.is_empty() && self.children.iter().all(|child| *child == ChildDiff::default())
    }

    /// Whether it changes more than unversioned columns.
    pub(crate) fn raises_version(&self, mapping: &Mapping) -> bool {
        let versioned = self.root.iter().any(|&index| !mapping.root.columns[index].unversioned);
        versioned || self.children.iter().any(|child| *child != ChildDiff::default())
    }
}

impl<'a> ChildDiff<'a> {
    fn between(table: &Table, old: &'a [Row], new: &'a [Row]) -> Self {
        let key = |row: &'a Row| &row[..table.key];
        let mut diff = ChildDiff::default();
        let mut compare = |was: &'a Row, row: &'a Row| {
            if was != row {
                diff.updated.push((row, changed(table, was, row)));
            }
        };
        // Nearly always the same children exist in the same order.
        if old.len() == new.len() && old.iter().zip(new).all(|(was, row)| key(was) == key(row)) {
            old.iter().zip(new).for_each(|(was, row)| compare(was, row));
            return diff;
        }
        let mut before: HashMap<Key<'_>, &Row> = old.iter().map(|row| (Key(key(row)), row)).collect();
        let mut inserted = Vec::new();
        for row in new {
            match before.remove(&Key(key(row))) {
                None => inserted.push(row),
                Some(was) => compare(was, row),
            }
        }
        diff.inserted = inserted;
        diff.deleted = old.iter().map(key).filter(|key| before.contains_key(&Key(key))).collect();
        diff
    }
}

/// Whether two states belong to the same aggregate.
pub(crate) fn same_id(mapping: &Mapping, old: &Rows, new: &Rows) -> bool {
    old.root[..mapping.root.key] == new.root[..mapping.root.key]
}

fn changed(table: &Table, old: &Row, new: &Row) -> Vec<usize> {
    (table.key..table.columns.len()).filter(|&index| old[index] != new[index]).collect()
}

/// Adds the other columns of each changed value that is unversioned: no version keeps two writers apart, and so their halves.
fn whole_values(root: &Table, changed: Vec<usize>) -> Vec<usize> {
    let column = |index: usize| &root.columns[index];
    let written: Vec<_> = changed.iter().map(|&index| column(index)).filter(|column| column.unversioned).collect();
    if written.is_empty() {
        return changed;
    }
    let with_its_value = |index: usize| written.iter().any(|written| written.field() == column(index).field());
    (root.key..root.columns.len()).filter(|&index| changed.contains(&index) || with_its_value(index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::mapping::Column;
    use crate::aggregate::value::Kind;

    fn table(columns: &[&str], key: usize) -> Table {
        let columns = columns.iter().map(|name| Column::new(*name, *name, Kind::Integer)).collect();
        Table { name: "t".into(), path: "t".into(), owner: vec!["id".into()], parent: None, columns, key }
    }

    fn row<const N: usize>(values: [i64; N]) -> Row {
        values.map(Value::Integer).to_vec()
    }

    #[test]
    fn optional_child_without_key_is_added_changed_removed() {
        let table = table(&["number", "sum"], 0);
        let (one, other) = ([row([1, 10])], [row([1, 20])]);

        let came = ChildDiff { inserted: vec![&one[0]], ..ChildDiff::default() };
        assert_eq!(ChildDiff::between(&table, &[], &one), came);
        let changed = ChildDiff { updated: vec![(&other[0], vec![1])], ..ChildDiff::default() };
        assert_eq!(ChildDiff::between(&table, &one, &other), changed);
        let went = ChildDiff { deleted: vec![&[][..]], ..ChildDiff::default() };
        assert_eq!(ChildDiff::between(&table, &one, &[]), went);
        assert_eq!(ChildDiff::between(&table, &one, &one), ChildDiff::default());
    }

    #[test]
    fn only_changed_columns_and_children_are_written() {
        let root = Table { owner: Vec::new(), ..table(&["id", "note"], 1) };
        let (name, version) = ("Order".into(), "version".into());
        let children = vec![table(&["number", "sum"], 1)];
        let mapping = Mapping { name, root, version, children, revisions: 0, generated: false, audit: None };
        let state = |note, sums: &[i64]| Rows {
            root: row([1, note]),
            children: vec![sums.iter().zip(1..).map(|(sum, number)| row([number, *sum])).collect()],
        };
        let (old, noted, summed) = (state(7, &[10, 20]), state(8, &[10, 20]), state(7, &[10, 21]));
        assert!(Diff::between(&mapping, &old, &old.clone()).is_empty());
        let mut unversioned = mapping.clone();
        unversioned.root.columns[1].unversioned = true;
        let raises = |mapping: &Mapping, new: &Rows| Diff::between(mapping, &old, new).raises_version(mapping);
        assert_eq!([&old, &noted, &summed].map(|new| raises(&mapping, new)), [false, true, true]);
        assert_eq!([&old, &noted, &summed].map(|new| raises(&unversioned, new)), [false, false, true]);
        let diff = Diff::between(&mapping, &old, &noted);
        assert_eq!((diff.is_empty(), &diff.root, &diff.children), (false, &vec![1], &vec![ChildDiff::default()]));
        let diff = Diff::between(&mapping, &old, &summed);
        assert_eq!((diff.is_empty(), &diff.root), (false, &vec![]));
        assert_eq!(diff.children[0].updated, [(&summed.children[0][1], vec![1])]);
        let lines = ChildDiff { inserted: old.children[0].iter().collect(), ..ChildDiff::default() };
        assert_eq!(Diff::of_new(&old), Diff { root: Vec::new(), children: vec![lines] });
        let keys = ChildDiff { deleted: old.children[0].iter().map(|row| &row[..1]).collect(), ..ChildDiff::default() };
        assert_eq!(Diff::of_gone(&mapping, &old), Diff { root: Vec::new(), children: vec![keys] });
        let other = Rows { root: row([2, 7]), ..old.clone() };
        assert_eq!((same_id(&mapping, &old, &noted), same_id(&mapping, &old, &other)), (true, false));
    }

    #[test]
    fn unversioned_value_is_written_whole() {
        let mut table = table(&["id", "note", "reader.id", "reader.at", "views"], 1);
        table.columns[2..].iter_mut().for_each(|column| column.unversioned = true);
        assert_eq!(whole_values(&table, vec![1]), [1]);
        assert_eq!(whole_values(&table, vec![1, 3]), [1, 2, 3]);
        assert_eq!(whole_values(&table, vec![4]), [4]);
        table.columns[2..].iter_mut().for_each(|column| column.unversioned = false);
        assert_eq!(whole_values(&table, vec![3]), [3]);
    }

    #[test]
    fn swapped_children_are_compared_by_key() {
        let table = table(&["number", "sum"], 1);
        let (old, new) = ([row([1, 10]), row([2, 20])], [row([2, 20]), row([1, 11])]);
        let diff = ChildDiff { updated: vec![(&new[1], vec![1])], ..ChildDiff::default() };
        assert_eq!(ChildDiff::between(&table, &old, &new), diff);
    }

    #[test]
    fn moved_part_is_deleted_there_and_inserted_here() {
        let table = table(&["line_no", "part_no", "weight"], 2);
        let (old, new) = ([row([1, 7, 50]), row([1, 8, 60])], [row([1, 8, 60]), row([2, 7, 50])]);

        let diff = ChildDiff::between(&table, &old, &new);
        assert_eq!((diff.deleted, diff.updated, diff.inserted), (vec![&old[0][..2]], vec![], vec![&new[1]]));
    }
}
