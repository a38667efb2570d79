//! SQL text for a mapping. Names come from [`Mapping::validate`]d mappings and are quoted; values are always bound.
//!
//! Every column is read through a cast to the kind of its mapping, so that an `int`, a `bigint unsigned` and a `decimal` are all numbers,
//! and instants are microseconds. The lock of a root is not part of the text: the caller adds it, because it depends on the remaining wait.

use std::sync::Arc;

use super::deadline::Flavour;
use crate::aggregate::mapping::{Audit, Column, Mapping, Table};
use crate::aggregate::value::Kind;
use crate::storage::sql::lineage::Lineage;
use crate::storage::sql::texts::{Texts, What};

static TEXTS: Texts = Texts::new();

/// `select` of the root: its version, then its columns. Binds the id.
pub(super) fn select_root(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::SelectRoot, &mapping.root, &[], || {
        let root = &mapping.root;
        let id = key_is(root);
        format!("select cast(`{}` as signed), {} from {} where {id}", mapping.version, reading(root), qualified(root))
    })
}

/// `select` of an aggregate by one statement: one row for the root and for each child, in no order. The columns are the number of the table
/// (0 is the root), the root's version, then the columns of all tables, null except for those of the row's own table. Binds the id once for
/// each table.
pub(super) fn select_whole(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::SelectWhole, &mapping.root, &[], || {
        let tables = || std::iter::once(&mapping.root).chain(&mapping.children).enumerate();
        let select = |(at, table): (usize, &'static Table)| {
            let lineage = Lineage::of(mapping, table, '`');
            let columns = tables().map(|(other, table)| match other == at {
                true => reading_as(table, &lineage.columns()),
                false => absent(table),
            });
            let columns = columns.collect::<Vec<_>>().join(", ");
            let (version, found) = match at {
                0 => (format!("cast(`{}` as signed)", mapping.version), key_is(table)),
                _ => ("null".to_owned(), owner_is(mapping, &lineage.owner())),
            };
            format!("select {at}, {version}, {columns} from {} where {found}", lineage.from())
        };
        tables().map(select).collect::<Vec<_>>().join(" union all ")
    })
}

/// `select` of this number of aggregates by one statement, as [`select_whole`]; the root's id is between the version and the columns.
/// Binds all ids once for each table.
pub(super) fn select_many(mapping: &'static Mapping, count: usize) -> Arc<str> {
    TEXTS.get(What::SelectMany, &mapping.root, &[count], || {
        let tables = || std::iter::once(&mapping.root).chain(&mapping.children).enumerate();
        let id = &mapping.root.columns[..mapping.root.key];
        let select = |(at, table): (usize, &'static Table)| {
            let lineage = Lineage::to_root(mapping, table, '`');
            let columns = tables().map(|(other, table)| match other == at {
                true => reading_as(table, &lineage.columns()),
                false => absent(table),
            });
            let columns = columns.collect::<Vec<_>>().join(", ");
            let version = if at == 0 { format!("cast(`{}` as signed)", mapping.version) } else { "null".to_owned() };
            let (names, found) = (lineage.id(), id_among(id, &lineage.id(), count));
            let names = reading_as(&mapping.root.key_alone(), &names);
            format!("select {at}, {version}, {names}, {columns} from {} where {found}", lineage.from())
        };
        tables().map(select).collect::<Vec<_>>().join(" union all ")
    })
}

/// `select` of all children of one root in one collection, in the order of their keys. Binds the root's id.
pub(super) fn select_children(mapping: &'static Mapping, child: &'static Table) -> Arc<str> {
    TEXTS.get(What::SelectChildren, child, &[], || {
        let lineage = Lineage::of(mapping, child, '`');
        let columns = lineage.columns();
        let key = child.columns[..child.key].iter().zip(&columns).map(|(column, name)| match column.kind {
            // By bytes, as the other databases and Rust do.
            Kind::Text => format!("cast(convert({name} using utf8mb4) as binary)"),
            _ => name.clone(),
        });
        let order = lineage.owner().into_iter().chain(key).collect::<Vec<_>>().join(", ");
        let (owner, reading) = (owner_is(mapping, &lineage.owner()), reading_as(child, &columns));
        format!("select {reading} from {} where {owner} order by {order}", lineage.from())
    })
}

/// `insert` of the root; binds its columns, the audit columns, the version. On MariaDB it also binds the kind and the id of the
/// key, and returns the version of the aggregate that was deleted under it: a subquery of `returning` is read after the insert.
pub(super) fn insert_root(mapping: &'static Mapping, flavour: Flavour) -> Arc<str> {
    TEXTS.get(What::InsertRoot, &mapping.root, &[flavour as usize], || {
        let (root, version) = (&mapping.root, &mapping.version);
        let (names, values) = (names(&root.columns), places(&root.columns));
        let (audited, audit): (String, String) =
            audit(mapping).map(|(name, place)| (format!("`{name}`, "), format!("{place}, "))).unzip();
        let removed = match flavour {
            Flavour::MariaDb => " returning (select version from tenure_removed where kind = ? and id = ?)",
            Flavour::MySql => "",
        };
        format!("insert into {} ({names}, {audited}`{version}`) values ({values}, {audit}?){removed}", qualified(root))
    })
}

/// `insert` of the root without its id, which the database generates; binds the other columns, the audit columns, the version.
pub(super) fn insert_generated(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::InsertGenerated, &mapping.root, &[], || {
        let own = mapping.root.columns[mapping.root.key..].iter().map(|column| (&column.name, place(column)));
        let all = own.chain(audit(mapping)).chain([(&mapping.version, "?".to_owned())]);
        let (names, places): (Vec<_>, Vec<_>) = all.map(|(name, place)| (format!("`{name}`"), place)).unzip();
        format!("insert into {} ({}) values ({})", qualified(&mapping.root), names.join(", "), places.join(", "))
    })
}

/// `insert` of this number of children; binds the root's id and its columns for each.
pub(super) fn insert_children(mapping: &'static Mapping, child: &'static Table, count: usize) -> Arc<str> {
    TEXTS.get(What::InsertChildren, child, &[count], || {
        let own = &child.columns[mapping.not_stored(child)..];
        let id = &mapping.root.columns[..child.owner.len()];
        let names = child.owner.iter().chain(own.iter().map(|column| &column.name));
        let names = names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let row = format!("({})", id.iter().chain(own).map(place).collect::<Vec<_>>().join(", "));
        format!("insert into {} ({names}) values {}", qualified(child), vec![row; count].join(", "))
    })
}

/// `update` of the root if the version is the expected one; binds the changed columns, the audit columns, the new
/// version, the id, the expected version.
pub(super) fn update_root(mapping: &'static Mapping, changed: &[usize]) -> Arc<str> {
    TEXTS.get(What::UpdateRoot, &mapping.root, changed, || {
        let (root, version) = (&mapping.root, &mapping.version);
        let set: String = assign(root, changed).into_iter().map(|set| set + ", ").collect();
        let (audit, id) = (assign_audit(mapping), key_is(root));
        format!("update {} set {set}{audit}`{version}` = ? where {id} and `{version}` = ?", qualified(root))
    })
}

/// `update` of one child; binds the changed columns, the root's id, the key.
pub(super) fn update_child(mapping: &'static Mapping, child: &'static Table, changed: &[usize]) -> Arc<str> {
    TEXTS.get(What::UpdateChild, child, changed, || {
        let set = assign(child, changed).join(", ");
        format!("update {} set {set} where {}", qualified(child), child_is(mapping, child))
    })
}

/// `delete` of one child; binds the root's id, the key.
pub(super) fn delete_child(mapping: &'static Mapping, child: &'static Table) -> Arc<str> {
    TEXTS.get(What::DeleteChild, child, &[], || {
        format!("delete from {} where {}", qualified(child), child_is(mapping, child))
    })
}

/// `delete` of all children of one root in one collection; binds the root's id.
pub(super) fn delete_children(mapping: &'static Mapping, child: &'static Table) -> Arc<str> {
    TEXTS.get(What::DeleteChildren, child, &[], || {
        let lineage = Lineage::of(mapping, child, '`');
        let found = owner_is(mapping, &lineage.owner());
        match mapping.names_parent_only(child) {
            // A subquery of `delete` would run for each row of the table.
            true => format!("delete t0 from {} where {found}", lineage.from()),
            false => format!("delete from {} where {found}", lineage.from()),
        }
    })
}

/// `delete` of the root; binds the id.
pub(super) fn delete_root(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::DeleteRoot, &mapping.root, &[], || {
        format!("delete from {} where {}", qualified(&mapping.root), key_is(&mapping.root))
    })
}

/// `select` of the version alone; binds the id.
pub(super) fn select_version(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::SelectVersion, &mapping.root, &[], || {
        format!(
            "select cast(`{}` as signed) from {} where {}",
            mapping.version,
            qualified(&mapping.root),
            key_is(&mapping.root)
        )
    })
}

/// `select` of the audit columns, the time in milliseconds; binds the id.
pub(super) fn select_audit(mapping: &'static Mapping, audit: &Audit, at: &str) -> String {
    let text = |name: &Option<String>, called: &str| match name {
        Some(name) => format!("convert(`{name}` using utf8mb4) as {called}"),
        None => format!("null as {called}"),
    };
    let by_name = named_by(audit);
    format!(
        "select cast(`{}` as signed) as version, {}, {}, timestampdiff(microsecond, {EPOCH}, `{at}`) div 1000 as changed_at, \
                {} from {} where {}",
        mapping.version,
        text(&audit.by, "by_id"),
        text(by_name, "by_name"),
        text(&audit.command, "command"),
        qualified(&mapping.root),
        key_is(&mapping.root)
    )
}

/// The column of the author's name; the id if the table has none.
fn named_by(audit: &Audit) -> &Option<String> {
    if audit.by_name.is_some() { &audit.by_name } else { &audit.by }
}

/// The audit columns and their placeholders.
fn audit(mapping: &'static Mapping) -> impl Iterator<Item = (&'static String, String)> {
    let place = |audit: &Audit, name: &String| match Some(name) == audit.at.as_ref() {
        true => format!("coalesce(timestampadd(microsecond, ? * 1000, {EPOCH}), sysdate(6))"),
        false => "?".to_owned(),
    };
    let columns = mapping.audit.iter().flat_map(|audit| audit.columns().map(move |name| (audit, name)));
    columns.map(move |(audit, name)| (name, place(audit, name)))
}

/// The quoted name of a table, with that of its database if the mapping has one.
fn qualified(table: &Table) -> String {
    table.quoted('`')
}

fn assign_audit(mapping: &'static Mapping) -> String {
    audit(mapping).map(|(name, place)| format!("`{name}` = {place}, ")).collect()
}

fn names(columns: &[Column]) -> String {
    columns.iter().map(|column| format!("`{}`", column.name)).collect::<Vec<_>>().join(", ")
}

fn absent(table: &Table) -> String {
    vec!["null"; table.columns.len()].join(", ")
}

fn reading(table: &Table) -> String {
    reading_as(table, &table.columns.iter().map(|column| format!("`{}`", column.name)).collect::<Vec<_>>())
}

/// The columns of a table under these names, which are quoted.
fn reading_as(table: &Table, names: &[String]) -> String {
    let read = |(column, name): (&Column, &String)| match column.kind {
        // A number, because there are no booleans.
        Kind::Bool => format!("cast({name} as signed)"),
        Kind::Integer => format!("cast({name} as signed)"),
        // Like a cast, which MySQL has only since 8.0.17.
        Kind::Real => format!("{name} + 0e0"),
        Kind::Text | Kind::Json => format!("convert({name} using utf8mb4)"),
        // A UUID is `uuid` on MariaDB, or `binary(16)`. Both return its 16 bytes.
        Kind::Bytes | Kind::Uuid => format!("cast({name} as binary)"),
        Kind::Decimal | Kind::Date | Kind::DateTime | Kind::Time => format!("cast({name} as char)"),
        Kind::Timestamp => format!("timestampdiff(microsecond, {EPOCH}, {name})"),
    };
    table.columns.iter().zip(names).map(read).collect::<Vec<_>>().join(", ")
}

/// In UTC, like the session: a `timestamp` column is converted to it, a `datetime` column contains it.
const EPOCH: &str = "timestamp'1970-01-01 00:00:00'";

/// The placeholder of a bound value; the driver sends its type with every execution.
fn place(column: &Column) -> String {
    match column.kind {
        Kind::Timestamp => format!("timestampadd(microsecond, ?, {EPOCH})"),
        Kind::Date => "cast(? as date)".into(),
        Kind::DateTime => "cast(? as datetime(6))".into(),
        // MySQL 9 misreads a text that is bound to `cast(? as time(6))`: 09:00 as 00:00.
        Kind::Time => "cast(cast(? as char) as time(6))".into(),
        _ => "?".into(),
    }
}

fn places(columns: &[Column]) -> String {
    columns.iter().map(place).collect::<Vec<_>>().join(", ")
}

fn assign(table: &Table, changed: &[usize]) -> Vec<String> {
    let assign = |&index: &usize| {
        let column = &table.columns[index];
        format!("`{}` = {}", column.name, place(column))
    };
    changed.iter().map(assign).collect()
}

fn key_is(table: &Table) -> String {
    let is = |column: &Column| format!("`{}` = {}", column.name, place(column));
    table.columns[..table.key].iter().map(is).collect::<Vec<_>>().join(" and ")
}

/// The condition that selects a child in its table.
fn child_is(mapping: &'static Mapping, child: &'static Table) -> String {
    let id = child.owner.iter().zip(&mapping.root.columns);
    let own = child.columns[mapping.not_stored(child)..child.key].iter().map(|column| (&column.name, column));
    let is = |(name, column): (&String, &Column)| format!("`{name}` = {}", place(column));
    id.chain(own).map(is).collect::<Vec<_>>().join(" and ")
}

/// The condition that these quoted names equal the root's id.
fn owner_is(mapping: &'static Mapping, owner: &[String]) -> String {
    let is = |(name, column): (&String, &Column)| format!("{name} = {}", place(column));
    owner.iter().zip(&mapping.root.columns).map(is).collect::<Vec<_>>().join(" and ")
}

/// The condition that these quoted columns are one of this number of ids.
fn id_among(id: &[Column], names: &[String], count: usize) -> String {
    let places = id.iter().map(place).collect::<Vec<_>>().join(", ");
    let one = if id.len() == 1 { places } else { format!("({places})") };
    format!("({}) in ({})", names.join(", "), vec![one; count].join(", "))
}
