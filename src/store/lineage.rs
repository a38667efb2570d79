//! A child's table joined with those above it. Only tables that refer just to their parent need it: the root's id, and the
//! keys above their parent's own, are found in the tables of their ancestors.

use crate::aggregate::mapping::{Mapping, Table};

/// The tables from a child's up to the first one that has the root's id; usually only its own.
pub(super) struct Lineage<'m> {
    mapping: &'m Mapping,
    /// The child's table first.
    tables: Vec<&'m Table>,
    quote: char,
}

impl<'m> Lineage<'m> {
    pub(super) fn of(mapping: &'m Mapping, table: &'m Table, quote: char) -> Self {
        let mut tables = vec![table];
        let mut last = table;
        while let Some(parent) = last.parent.filter(|_| mapping.names_parent_only(last)) {
            last = &mapping.children[parent];
            tables.push(last);
        }
        Lineage { mapping, tables, quote }
    }

    /// The same up to the root's own table, so that the rows contain the root's id as it is stored there.
    pub(super) fn to_root(mapping: &'m Mapping, table: &'m Table, quote: char) -> Self {
        let mut lineage = Lineage::of(mapping, table, quote);
        if !table.path.is_empty() {
            lineage.tables.push(&mapping.root);
        }
        lineage
    }

    fn is_alone(&self) -> bool {
        self.tables.len() == 1
    }

    fn name(&self, at: usize, name: &str) -> String {
        let quote = self.quote;
        if self.is_alone() { format!("{quote}{name}{quote}") } else { format!("t{at}.{quote}{name}{quote}") }
    }

    /// The text after `from`: the table, and joins with its ancestors.
    pub(super) fn from(&self) -> String {
        let first = self.tables[0].quoted(self.quote);
        if self.is_alone() {
            return first;
        }
        format!("{first} as t0{}", self.joins(0))
    }

    /// The joins of the tables from this one on with their parents.
    fn joins(&self, first: usize) -> String {
        let join = |at: usize| {
            let pairs =
                self.links(at).map(|(own, above)| format!("{} = {}", self.name(at, own), self.name(at + 1, above)));
            let on = pairs.collect::<Vec<_>>().join(" and ");
            format!(" join {} as t{} on {on}", self.tables[at + 1].quoted(self.quote), at + 1)
        };
        (first..self.tables.len() - 1).map(join).collect()
    }

    /// The columns by which a table refers to its parent, and the equal columns of the parent.
    fn links(&self, at: usize) -> impl Iterator<Item = (&'m str, &'m str)> {
        let (table, parent) = (self.tables[at], self.tables[at + 1]);
        // The owner columns for a root, a part of the key for a parent; the other one is empty.
        let own = match self.mapping.names_parent_only(table) {
            true => &table.columns[self.mapping.not_stored(table)..self.mapping.inherited(table)],
            false => &[],
        };
        let own = table.owner.iter().chain(own.iter().map(|column| &column.name));
        let above = &parent.columns[self.mapping.inherited(parent)..parent.key];
        own.zip(above).map(|(own, above)| (own.as_str(), above.name.as_str()))
    }

    /// The names of the child's columns. Those of its parent's key are the parent's own, so that they have its spelling.
    pub(super) fn columns(&self) -> Vec<String> {
        let name = |index: usize| {
            let parent_has = |table| self.mapping.names_parent_only(table) && index < self.mapping.inherited(table);
            let above = |at: &usize| parent_has(self.tables[*at]);
            let at = (0..self.tables.len() - 1).take_while(above).count();
            self.name(at, &self.tables[at].columns[index].name)
        };
        (0..self.tables[0].columns.len()).map(name).collect()
    }

    /// The names of the columns that hold the root's id.
    pub(super) fn owner(&self) -> Vec<String> {
        let last = self.tables.len() - 1;
        self.tables[last].owner.iter().map(|name| self.name(last, name)).collect()
    }

    /// The names of the root's id columns, where the last table is the root's.
    pub(super) fn id(&self) -> Vec<String> {
        let last = self.tables.len() - 1;
        let key = &self.tables[last].columns[..self.mapping.root.key];
        key.iter().map(|column| self.name(last, &column.name)).collect()
    }

    /// The condition that selects the children of one root, for a statement on the child's table alone; `owner_is` makes the
    /// condition on the owner's columns.
    pub(super) fn within(&self, owner_is: impl FnOnce(&[String]) -> String) -> String {
        if self.is_alone() {
            return owner_is(&self.owner());
        }
        let quote = self.quote;
        let own = self.links(0).map(|(own, _)| format!("{quote}{own}{quote}")).collect::<Vec<_>>().join(", ");
        let above = self.links(0).map(|(_, above)| self.name(1, above)).collect::<Vec<_>>().join(", ");
        let parent = self.tables[1].quoted(quote);
        format!("({own}) in (select {above} from {parent} as t1{} where {})", self.joins(1), owner_is(&self.owner()))
    }
}
