//! The texts of statements for a mapping. Names come from [`Mapping::validate`]d mappings and are quoted; values are always parameters.

use std::cell::Cell;
use std::sync::Arc;

use crate::aggregate::mapping::{Audit, Column, Mapping, Table};
use crate::aggregate::value::Kind;
use crate::db::{Inserts, LOCK, RowLock, Sheet, Sql};
use crate::store::lineage::Lineage;
use crate::store::texts::{What, text};

/// Writes one text: numbers its parameters.
struct Writer {
    sheet: &'static Sheet,
    next: Cell<usize>,
}

impl Writer {
    fn on(sheet: &'static Sheet) -> Self {
        Writer { sheet, next: Cell::new(1) }
    }

    /// The next parameter, with no type of its own.
    fn next(&self) -> String {
        format!("${}", self.next.replace(self.next.get() + 1))
    }

    /// The next parameter, for a value of this column.
    fn place(&self, column: &Column) -> String {
        (self.sheet.place)(column, &self.next())
    }

    /// The next parameters, which are values of these columns.
    fn places<'c>(&self, columns: impl IntoIterator<Item = &'c Column>) -> String {
        list(columns.into_iter().map(|column| self.place(column)))
    }

    fn quoted(&self, name: &str) -> String {
        let quote = self.sheet.quote;
        format!("{quote}{name}{quote}")
    }

    fn names<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> String {
        list(names.into_iter().map(|name| self.quoted(name)))
    }

    fn table(&self, table: &Table) -> String {
        table.quoted(self.sheet.quote)
    }

    /// The columns of a table under these names, which are quoted, each as the kind of its mapping.
    fn reading(&self, table: &Table, names: &[String]) -> String {
        list(table.columns.iter().zip(names).map(|(column, name)| (self.sheet.read)(column, name)))
    }

    /// Null for every column, of the kind that [`reading`](Self::reading) returns.
    fn absent(&self, table: &Table) -> String {
        list(table.columns.iter().map(|column| (self.sheet.null)(column.kind).to_owned()))
    }

    /// A number of this crate, as a column of a union.
    fn number(&self, name: &str) -> String {
        let column = Column::new("", "", Kind::Integer);
        (self.sheet.read)(&column, name)
    }

    /// These quoted names, each compared with the next parameter.
    fn are<'c>(&self, names: impl IntoIterator<Item = (String, &'c Column)>) -> String {
        let is = |(name, column)| format!("{name} = {}", self.place(column));
        names.into_iter().map(is).collect::<Vec<_>>().join(" and ")
    }

    /// The condition that selects the root.
    fn root_is(&self, root: &Table) -> String {
        self.are(root.columns[..root.key].iter().map(|column| (self.quoted(&column.name), column)))
    }

    /// The condition that these quoted names are equal to the root's id.
    fn owner_is(&self, mapping: &Mapping, owner: &[String]) -> String {
        self.are(owner.iter().cloned().zip(&mapping.root.columns))
    }

    /// The condition that selects a child in its table.
    fn child_is(&self, mapping: &Mapping, child: &Table) -> String {
        let id = child.owner.iter().zip(&mapping.root.columns);
        let own = child.columns[mapping.not_stored(child)..child.key].iter().map(|column| (&column.name, column));
        self.are(id.chain(own).map(|(name, column)| (self.quoted(name), column)))
    }

    /// Assignments of the next parameters.
    fn assign(&self, table: &Table, changed: &[usize]) -> Vec<String> {
        let assign = |&index: &usize| {
            let column = &table.columns[index];
            format!("{} = {}", self.quoted(&column.name), self.place(column))
        };
        changed.iter().map(assign).collect()
    }

    /// The audit columns, quoted, each with the next parameter.
    fn audit(&self, mapping: &Mapping) -> Vec<(String, String)> {
        let place = |audit: &Audit, name: &String| match Some(name) == audit.at.as_ref() {
            true => (self.sheet.audited_at)(&self.next()),
            false => (self.sheet.text)(&self.next()),
        };
        let columns = mapping.audit.iter().flat_map(|audit| audit.columns().map(move |name| (audit, name)));
        columns.map(|(audit, name)| (self.quoted(name), place(audit, name))).collect()
    }
}

fn list(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().collect::<Vec<_>>().join(", ")
}

/// `select` of an aggregate by one statement: one row for the root and for each child, in no order. The columns are the number of the table
/// (0 is the root), the root's version, then the columns of all tables, null except for those of the row's own table. Parameters: the id.
pub(super) fn select_whole(sheet: &'static Sheet, mapping: &'static Mapping) -> Arc<Sql> {
    text(sheet, What::SelectWhole, &mapping.root, &[], || {
        let select = |(at, table): (usize, &'static Table)| {
            // The parameters are the same in each part.
            let writer = Writer::on(sheet);
            let lineage = Lineage::of(mapping, table, sheet.quote);
            let columns = all_columns(&writer, mapping, at, &lineage);
            let (version, found) = match at {
                0 => (writer.number(&writer.quoted(&mapping.version)), writer.root_is(table)),
                _ => ((sheet.null)(Kind::Integer).to_owned(), writer.owner_is(mapping, &lineage.owner())),
            };
            let at = (sheet.constant)(at);
            format!("select {at}, {version}, {columns} from {} where {found}", lineage.from())
        };
        union(sheet, tables(mapping).map(select))
    })
}

/// `select` of this number of aggregates by one statement, as [`select_whole`]; the root's id is between the version and the columns.
/// Parameters: all ids.
pub(super) fn select_many(sheet: &'static Sheet, mapping: &'static Mapping, count: usize) -> Arc<Sql> {
    text(sheet, What::SelectMany, &mapping.root, &[count], || {
        let id = &mapping.root.columns[..mapping.root.key];
        let select = |(at, table): (usize, &'static Table)| {
            let writer = Writer::on(sheet);
            let lineage = Lineage::to_root(mapping, table, sheet.quote);
            let columns = all_columns(&writer, mapping, at, &lineage);
            let version = match at {
                0 => writer.number(&writer.quoted(&mapping.version)),
                _ => (sheet.null)(Kind::Integer).to_owned(),
            };
            let names = lineage.id();
            let one = || match id {
                [id] => writer.place(id),
                _ => format!("({})", writer.places(id)),
            };
            let among = list((0..count).map(|_| one()));
            let found = match &names[..] {
                [name] => format!("{name} in ({among})"),
                _ => format!("({}) in ({}{among})", names.join(", "), sheet.rows),
            };
            let read = writer.reading(&mapping.root.key_alone(), &names);
            let at = (sheet.constant)(at);
            format!("select {at}, {version}, {read}, {columns} from {} where {found}", lineage.from())
        };
        union(sheet, tables(mapping).map(select))
    })
}

/// The root and its collections, numbered.
fn tables(mapping: &'static Mapping) -> impl Iterator<Item = (usize, &'static Table)> {
    std::iter::once(&mapping.root).chain(&mapping.children).enumerate()
}

/// The columns of all tables: null except for those of the table with this number.
fn all_columns(writer: &Writer, mapping: &'static Mapping, at: usize, lineage: &Lineage<'_>) -> String {
    list(tables(mapping).map(|(other, table)| match other == at {
        true => writer.reading(table, &lineage.columns()),
        false => writer.absent(table),
    }))
}

/// The parts of a union. Where it is read under the lock of its root and has to lock, too, each part has a lock of its own.
fn union(sheet: &Sheet, parts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<_> = parts.collect();
    if parts.len() > 1 && sheet.row_locks.as_ref().is_some_and(|locks| locks.rereads != RowLock::None) {
        parts.iter_mut().for_each(|part| *part = format!("({part}{LOCK})"));
    }
    parts.join(" union all ")
}

/// `select` of the root's version alone. Parameters: the id.
pub(super) fn select_version(sheet: &'static Sheet, mapping: &'static Mapping) -> Arc<Sql> {
    text(sheet, What::SelectVersion, &mapping.root, &[], || {
        let (writer, root) = (Writer::on(sheet), &mapping.root);
        let version = writer.number(&writer.quoted(&mapping.version));
        format!("select {version} from {} where {}", writer.table(root), writer.root_is(root))
    })
}

/// `insert` of the root. Parameters: its columns, the audit columns, the version, the kind and the id of its key. Where the database can, it
/// returns the version of the aggregate that was deleted under this key.
pub(super) fn insert_root(sheet: &'static Sheet, mapping: &'static Mapping) -> Arc<Sql> {
    text(sheet, What::InsertRoot, &mapping.root, &[], || {
        let (writer, root) = (Writer::on(sheet), &mapping.root);
        let own = root.columns.iter().map(|column| (writer.quoted(&column.name), writer.place(column)));
        let insert = insert(&writer, mapping, own.collect());
        let (kind, id) = (writer.next(), writer.next());
        match sheet.inserts {
            Inserts::OrNothing(removed) => {
                let key = writer.names(root.columns[..root.key].iter().map(|column| &column.name));
                format!("{insert} on conflict ({key}) do nothing returning {removed}({kind}, {id})")
            }
            Inserts::Returning => {
                format!("{insert} returning (select version from tenure_removed where kind = {kind} and id = {id})")
            }
            Inserts::Silent => insert,
        }
    })
}

/// `insert` of the root without its id, which the database generates. Parameters: the other columns, the audit columns, the version.
pub(super) fn insert_generated(sheet: &'static Sheet, mapping: &'static Mapping) -> Arc<Sql> {
    text(sheet, What::InsertGenerated, &mapping.root, &[], || {
        let writer = Writer::on(sheet);
        let (id, own) = mapping.root.columns.split_at(mapping.root.key);
        let own = own.iter().map(|column| (writer.quoted(&column.name), writer.place(column)));
        let insert = insert(&writer, mapping, own.collect());
        match sheet.inserts {
            Inserts::Silent => insert,
            _ => format!("{insert} returning {}", writer.number(&writer.quoted(&id[0].name))),
        }
    })
}

/// The beginning of both: these columns with their parameters, the audit columns, the version.
fn insert(writer: &Writer, mapping: &Mapping, own: Vec<(String, String)>) -> String {
    let audit = writer.audit(mapping);
    let version = (writer.quoted(&mapping.version), writer.next());
    let (names, places): (Vec<_>, Vec<_>) = own.into_iter().chain(audit).chain([version]).unzip();
    format!("insert into {} ({}) values ({})", writer.table(&mapping.root), names.join(", "), places.join(", "))
}

/// `insert` of this number of children. Parameters: for each, its row as stored.
pub(super) fn insert_children(
    sheet: &'static Sheet,
    mapping: &'static Mapping,
    child: &'static Table,
    count: usize,
) -> Arc<Sql> {
    text(sheet, What::InsertChildren, child, &[count], || {
        let writer = Writer::on(sheet);
        let own = &child.columns[mapping.not_stored(child)..];
        let id = &mapping.root.columns[..child.owner.len()];
        let names = writer.names(child.owner.iter().chain(own.iter().map(|column| &column.name)));
        let rows = list((0..count).map(|_| format!("({})", writer.places(id.iter().chain(own)))));
        format!("insert into {} ({names}) values {rows}", writer.table(child))
    })
}

/// `update` of the root if the version is the expected one. Parameters: the changed columns, the audit columns, the new version, the id, the
/// expected version.
pub(super) fn update_root(sheet: &'static Sheet, mapping: &'static Mapping, changed: &[usize]) -> Arc<Sql> {
    text(sheet, What::UpdateRoot, &mapping.root, changed, || {
        let writer = Writer::on(sheet);
        let mut set = writer.assign(&mapping.root, changed);
        set.extend(writer.audit(mapping).into_iter().map(|(name, place)| format!("{name} = {place}")));
        set.push(format!("{} = {}", writer.quoted(&mapping.version), writer.next()));
        update_at_version(&writer, mapping, &set)
    })
}

/// As [`update_root`], for unversioned columns alone. Parameters: the changed columns, the id, the expected version.
pub(super) fn update_unversioned(sheet: &'static Sheet, mapping: &'static Mapping, changed: &[usize]) -> Arc<Sql> {
    text(sheet, What::UpdateUnversioned, &mapping.root, changed, || {
        let writer = Writer::on(sheet);
        update_at_version(&writer, mapping, &writer.assign(&mapping.root, changed))
    })
}

fn update_at_version(writer: &Writer, mapping: &Mapping, set: &[String]) -> String {
    let (table, version) = (writer.table(&mapping.root), writer.quoted(&mapping.version));
    let (set, root) = (set.join(", "), writer.root_is(&mapping.root));
    format!("update {table} set {set} where {root} and {version} = {}", writer.next())
}

/// `update` of one child. Parameters: the changed columns, its key as stored.
pub(super) fn update_child(
    sheet: &'static Sheet,
    mapping: &'static Mapping,
    child: &'static Table,
    changed: &[usize],
) -> Arc<Sql> {
    text(sheet, What::UpdateChild, child, changed, || {
        let writer = Writer::on(sheet);
        let set = writer.assign(child, changed).join(", ");
        format!("update {} set {set} where {}", writer.table(child), writer.child_is(mapping, child))
    })
}

/// `select` of one child. Parameters: its key as stored.
pub(super) fn select_child(sheet: &'static Sheet, mapping: &'static Mapping, child: &'static Table) -> Arc<Sql> {
    text(sheet, What::SelectChild, child, &[], || {
        let writer = Writer::on(sheet);
        let one = (sheet.constant)(1);
        format!("select {one} from {} where {}", writer.table(child), writer.child_is(mapping, child))
    })
}

/// `delete` of one child. Parameters: its key as stored.
pub(super) fn delete_child(sheet: &'static Sheet, mapping: &'static Mapping, child: &'static Table) -> Arc<Sql> {
    text(sheet, What::DeleteChild, child, &[], || {
        let writer = Writer::on(sheet);
        format!("delete from {} where {}", writer.table(child), writer.child_is(mapping, child))
    })
}

/// `delete` of all children of one root in one collection. Parameters: the root's id.
pub(super) fn delete_children(sheet: &'static Sheet, mapping: &'static Mapping, child: &'static Table) -> Arc<Sql> {
    text(sheet, What::DeleteChildren, child, &[], || {
        let (writer, lineage) = (Writer::on(sheet), Lineage::of(mapping, child, sheet.quote));
        match sheet.slow_subqueries && mapping.names_parent_only(child) {
            true => {
                let found = writer.owner_is(mapping, &lineage.owner());
                format!("delete t0 from {} where {found}", lineage.from())
            }
            false => {
                let found = lineage.within(|owner| writer.owner_is(mapping, owner));
                format!("delete from {} where {found}", writer.table(child))
            }
        }
    })
}

/// `delete` of the root. Parameters: the id.
pub(super) fn delete_root(sheet: &'static Sheet, mapping: &'static Mapping) -> Arc<Sql> {
    text(sheet, What::DeleteRoot, &mapping.root, &[], || {
        let (writer, root) = (Writer::on(sheet), &mapping.root);
        format!("delete from {} where {}", writer.table(root), writer.root_is(root))
    })
}

/// `select` of the audit columns, the time in milliseconds; no row if nobody has saved it since it has them. Parameters: the id.
pub(super) fn select_audit(sheet: &'static Sheet, mapping: &'static Mapping, audit: &Audit, at: &str) -> Arc<Sql> {
    let writer = Writer::on(sheet);
    let text = |name: Option<&String>| match name {
        Some(name) => (sheet.read)(&Column::new("", "", Kind::Text), &writer.quoted(name)),
        None => (sheet.null)(Kind::Text).to_owned(),
    };
    // Without a column of the author's name, the id is shown.
    let by_name = audit.by_name.as_ref().or(audit.by.as_ref());
    let [by, by_name, command] = [audit.by.as_ref(), by_name, audit.command.as_ref()].map(text);
    let version = writer.number(&writer.quoted(&mapping.version));
    let dated = writer.quoted(at);
    let at = (sheet.millis_of)(&dated);
    let select = format!(
        "select {version} as version, {by} as by_id, {by_name} as by_name, {at} as changed_at, {command} as command \
           from {} where {} and {dated} is not null",
        writer.table(&mapping.root),
        writer.root_is(&mapping.root)
    );
    Arc::new(Sql::numbered(&select, sheet))
}
