//! Reads rows back into collections. Every row has a parent, or an error names it.

use std::collections::{HashMap, HashSet};

use super::Children;
use crate::aggregate::Entity;
use crate::aggregate::mapping::{Mapping, MappingError, Row, Rows, Table};
use crate::aggregate::value::{Key, RowReader, Value};

/// The rows of one aggregate's children; rows that were read are removed.
#[derive(Debug)]
struct Unread<'a> {
    mapping: &'a Mapping,
    rows: &'a Rows,
    /// For each table, the rows by the key of their parent, which is empty for children of the root.
    tables: Vec<HashMap<Key<'a>, Vec<&'a Row>>>,
}

impl<'a> Unread<'a> {
    /// A state that was stored before a collection was declared has no rows for it. That is an error, not an empty collection,
    /// because saving an empty one would delete the existing rows.
    fn new(mapping: &'a Mapping, rows: &'a Rows) -> Result<Self, MappingError> {
        let mut tables = Vec::with_capacity(mapping.children.len());
        for (at, table) in mapping.children.iter().enumerate() {
            let Some(rows) = rows.children.get(at) else {
                return Err(MappingError::new(&table.name, "", "the stored state has no rows for this table"));
            };
            let inherited = mapping.inherited(table);
            let mut groups = HashMap::<_, Vec<_>>::new();
            for row in rows {
                if row.len() < table.key {
                    return Err(MappingError::new(&table.name, "", "the row has fewer columns than the mapping"));
                }
                groups.entry(Key(&row[..inherited])).or_default().push(row);
            }
            tables.push(groups);
        }
        Ok(Unread { mapping, rows, tables })
    }

    /// # Errors
    /// [`MappingError`] naming the first row without a parent.
    fn finish(self) -> Result<(), MappingError> {
        for (at, table) in self.mapping.children.iter().enumerate() {
            let inherited = self.mapping.inherited(table);
            let left = |row: &&Row| self.tables[at].contains_key(&Key(&row[..inherited]));
            let Some(row) = self.rows.children[at].iter().find(left) else { continue };
            let whose = Parent { mapping: self.mapping, table, root: &self.rows.root, key: &row[..table.key] };
            let what = match table.parent {
                Some(parent) => format!("there is no such row in `{}`", self.mapping.children[parent].name),
                None => "the type reads nothing from this table".to_owned(),
            };
            return Err(whose.error(what));
        }
        Ok(())
    }
}

/// The rows of one parent's children while they are read.
#[derive(Debug)]
pub struct ChildReader<'r, 'a> {
    unread: &'r mut Unread<'a>,
    /// The table of the next collection.
    next: usize,
    /// The parent's key, which is a prefix of its children's keys.
    parent: &'a [Value],
}

impl ChildReader<'_, '_> {
    pub(super) fn read<C: Children>(&mut self) -> Result<C, MappingError> {
        let (at, mapping) = (self.next, self.unread.mapping);
        self.next += C::TABLES;
        let Some(table) = mapping.children.get(at) else {
            let what = "the type has more collections than the mapping has tables for its children";
            return Err(MappingError::new(&mapping.root.name, "", what));
        };
        let rows = self.unread.tables[at].remove(&Key(self.parent)).unwrap_or_default();
        let whose = |key| Parent { mapping, table, root: &self.unread.rows.root, key };
        // Without a key of its own there is at most one row; the collection checks that.
        if table.key > self.parent.len() {
            let mut keys = HashSet::with_capacity(rows.len());
            if let Some(twice) = rows.iter().find(|row| !keys.insert(Key(&row[..table.key]))) {
                return Err(whose(&twice[..table.key]).error("there are two rows with this key"));
            }
        }
        let whose = whose(self.parent);
        let mut children = Vec::with_capacity(rows.len());
        for row in rows {
            let mut values = RowReader::new(&table.name, &table.columns, row);
            values.skip(self.parent.len());
            let key = C::read_key(&mut values)?;
            let mut inside = ChildReader { unread: self.unread, next: at + 1, parent: &row[..table.key] };
            children.push((key, C::Entity::read(&mut values, &mut inside)?));
        }
        C::collect(children, &whose)
    }
}

/// The parent whose children are being read, for error messages.
#[derive(Debug, Clone, Copy)]
pub struct Parent<'a> {
    mapping: &'a Mapping,
    table: &'a Table,
    root: &'a [Value],
    key: &'a [Value],
}

impl Parent<'_> {
    /// An error about the rows of this parent: it names their table, and the columns that identify them there.
    pub fn error(&self, what: impl AsRef<str>) -> MappingError {
        let id = &self.root[..self.mapping.root.key.min(self.root.len())];
        let owner = self.table.owner.iter().zip(id);
        let key = self.table.columns.iter().map(|column| &column.name).zip(self.key);
        let found: Vec<_> = owner.chain(key).map(|(name, value)| format!("{name} = {value}")).collect();
        MappingError::new(&self.table.name, "", format!("where {}: {}", found.join(", "), what.as_ref()))
    }
}

impl Rows {
    /// Builds the aggregate with this state. `root` reads the root's row and, in the order of the mapping's tables, its
    /// collections.
    ///
    /// # Errors
    /// [`MappingError`] if a row does not fit the type, or has no parent.
    pub fn read<A>(
        &self,
        mapping: &Mapping,
        root: impl FnOnce(&mut RowReader<'_>, &mut ChildReader<'_, '_>) -> Result<A, MappingError>,
    ) -> Result<A, MappingError> {
        let whole = || {
            let mut unread = Unread::new(mapping, self)?;
            let mut row = RowReader::new(&mapping.root.name, &mapping.root.columns, &self.root);
            let aggregate = root(&mut row, &mut ChildReader { unread: &mut unread, next: 0, parent: &[] })?;
            unread.finish()?;
            Ok(aggregate)
        };
        let id = &self.root[..mapping.root.key.min(self.root.len())];
        whole().map_err(|error: MappingError| error.in_aggregate(mapping, id))
    }
}
