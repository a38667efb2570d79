//! From collections to rows.

use super::Children;
use crate::aggregate::Entity;
use crate::aggregate::mapping::{Row, Rows};
use crate::aggregate::value::Value;

/// The rows of one parent's children while they are written.
#[derive(Debug)]
pub struct ChildWriter<'a> {
    tables: &'a mut Vec<Vec<Row>>,
    /// The table of the next collection.
    next: usize,
    /// The parent's key, which is a prefix of its children's keys.
    parent: &'a [Value],
}

impl ChildWriter<'_> {
    pub(super) fn write<C: Children>(&mut self, children: &C) {
        let at = self.next;
        self.next += C::TABLES;
        // Also for an empty collection: a state has an entry for each table.
        if self.tables.len() < self.next {
            self.tables.resize_with(self.next, Vec::new);
        }
        for (key, child) in children.entries() {
            let mut row = [self.parent, &key].concat();
            let key = row.len() + C::Entity::KEY;
            child.write(&mut row);
            child.write_children(&mut ChildWriter { tables: self.tables, next: at + 1, parent: &row[..key] });
            self.tables[at].push(row);
        }
    }
}

impl Rows {
    /// The state of an aggregate: the root's row, and the rows of its children.
    pub fn write(root: Row, children: impl FnOnce(&mut ChildWriter<'_>)) -> Self {
        let mut tables = Vec::new();
        children(&mut ChildWriter { tables: &mut tables, next: 0, parent: &[] });
        Rows { root, children: tables }
    }
}
