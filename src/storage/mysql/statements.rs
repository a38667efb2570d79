//! SQL text for a mapping. Names come from [`Mapping::validate`]d mappings and are quoted; values are always bound.
//!
//! Every column is read through a cast to the kind of its mapping, so that an `int`, a `bigint unsigned` and a `decimal`
//! are all numbers, and instants travel as microseconds. How a root is locked is not written here: that is for whoever
//! runs the statement, because it depends on how long may be waited.

use std::sync::Arc;

use super::deadline::Flavour;
use crate::aggregate::condition::Test;
use crate::aggregate::mapping::{Audit, Column, Mapping, Table};
use crate::aggregate::value::{Kind, Value};
use crate::storage::texts::{Texts, What};
use crate::storage::{BulkChange, condition};

static TEXTS: Texts = Texts::new();

/// `select` of the root: its version, then its columns. Binds the id.
pub(super) fn select_root(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::SelectRoot, &mapping.root, &[], || {
        let root = &mapping.root;
        let id = key_is(root);
        format!("select cast(`{}` as signed), {} from `{}` where {id}", mapping.version, reading(root), root.name)
    })
}

/// `select` of an aggregate by one statement: a row of the root, and one of each child, in no order. First comes the number
/// of the table (0 is the root), then the root's version, then the columns of all tables, null but for those of the row's own.
/// Binds the id once for each table.
pub(super) fn select_whole(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::SelectWhole, &mapping.root, &[], || {
        let tables = || std::iter::once(&mapping.root).chain(&mapping.children).enumerate();
        let select = |(at, table): (usize, &'static Table)| {
            let columns = tables().map(|(other, table)| if other == at { reading(table) } else { absent(table) });
            let columns = columns.collect::<Vec<_>>().join(", ");
            let (version, found) = match at {
                0 => (format!("cast(`{}` as signed)", mapping.version), key_is(table)),
                _ => ("null".to_owned(), owner_is(mapping, table)),
            };
            format!("select {at}, {version}, {columns} from `{}` where {found}", table.name)
        };
        tables().map(select).collect::<Vec<_>>().join(" union all ")
    })
}

/// `select` of all children of one root in one collection, in the order of their keys. Binds the root's id.
pub(super) fn select_children(mapping: &'static Mapping, child: &'static Table) -> Arc<str> {
    TEXTS.get(What::SelectChildren, child, &[], || {
        let key = child.columns[..child.key].iter().map(|column| match column.kind {
            // By bytes, as every other database and the language itself do.
            Kind::Text => format!("cast(convert(`{}` using utf8mb4) as binary)", column.name),
            _ => format!("`{}`", column.name),
        });
        let owner = child.owner.iter().map(|name| format!("`{name}`"));
        let (order, owner) = (owner.chain(key).collect::<Vec<_>>().join(", "), owner_is(mapping, child));
        format!("select {} from `{}` where {owner} order by {order}", reading(child), child.name)
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
        format!("insert into `{}` ({names}, {audited}`{version}`) values ({values}, {audit}?){removed}", root.name)
    })
}

/// `insert` of so many children; binds the root's id and its columns for each.
pub(super) fn insert_children(mapping: &'static Mapping, child: &'static Table, count: usize) -> Arc<str> {
    TEXTS.get(What::InsertChildren, child, &[count], || {
        let owner = child.owner.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let id = places(&mapping.root.columns[..mapping.root.key]);
        let (names, row) = (names(&child.columns), format!("({id}, {})", places(&child.columns)));
        format!("insert into `{}` ({owner}, {names}) values {}", child.name, vec![row; count].join(", "))
    })
}

/// `update` of the root if the version is the expected one; binds the changed columns, the audit columns, the version
/// to be, the id, the expected version.
pub(super) fn update_root(mapping: &'static Mapping, changed: &[usize]) -> Arc<str> {
    TEXTS.get(What::UpdateRoot, &mapping.root, changed, || {
        let (root, version) = (&mapping.root, &mapping.version);
        let set: String = assign(root, changed).into_iter().map(|set| set + ", ").collect();
        let (audit, id) = (assign_audit(mapping), key_is(root));
        format!("update `{}` set {set}{audit}`{version}` = ? where {id} and `{version}` = ?", root.name)
    })
}

/// `update` of one child; binds the changed columns, the root's id, the key.
pub(super) fn update_child(mapping: &'static Mapping, child: &'static Table, changed: &[usize]) -> Arc<str> {
    TEXTS.get(What::UpdateChild, child, changed, || {
        let set = assign(child, changed).join(", ");
        format!("update `{}` set {set} where {}", child.name, child_is(mapping, child))
    })
}

/// `delete` of one child; binds the root's id, the key.
pub(super) fn delete_child(mapping: &'static Mapping, child: &'static Table) -> Arc<str> {
    TEXTS.get(What::DeleteChild, child, &[], || {
        format!("delete from `{}` where {}", child.name, child_is(mapping, child))
    })
}

/// `delete` of all children of one root in one collection; binds the root's id.
pub(super) fn delete_children(mapping: &'static Mapping, child: &'static Table) -> Arc<str> {
    TEXTS.get(What::DeleteChildren, child, &[], || {
        format!("delete from `{}` where {}", child.name, owner_is(mapping, child))
    })
}

/// `delete` of the root; binds the id.
pub(super) fn delete_root(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::DeleteRoot, &mapping.root, &[], || {
        format!("delete from `{}` where {}", mapping.root.name, key_is(&mapping.root))
    })
}

/// `select` of the version alone; binds the id.
pub(super) fn select_version(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::SelectVersion, &mapping.root, &[], || {
        format!(
            "select cast(`{}` as signed) from `{}` where {}",
            mapping.version,
            mapping.root.name,
            key_is(&mapping.root)
        )
    })
}

/// `select` of what the audit columns say, the time in milliseconds; binds the id.
pub(super) fn select_audit(mapping: &'static Mapping, audit: &Audit) -> String {
    let Audit { by, by_name, at, command } = audit;
    let text = |name: &str, called: &str| format!("convert(`{name}` using utf8mb4) as {called}");
    format!(
        "select cast(`{}` as signed) as version, {}, {}, timestampdiff(microsecond, {EPOCH}, `{at}`) div 1000 as changed_at, \
                {} from `{}` where {}",
        mapping.version,
        text(by, "by_id"),
        text(by_name, "by_name"),
        text(command, "command"),
        mapping.root.name,
        key_is(&mapping.root)
    )
}

/// `select` of the ids of the roots that match, in their order; and the values to bind.
pub(super) fn select_matching(mapping: &'static Mapping, when: &Test) -> (String, Vec<Value>) {
    let (mut values, root) = (Vec::new(), &mapping.root);
    let id = root.key_alone();
    let when = condition(mapping, when, &mut values);
    (format!("select {} from `{}` where {when} order by {}", reading(&id), root.name, names(&id.columns)), values)
}

/// `update` of all roots that match and are not so already; and the values to bind.
pub(super) fn update_matching(change: &BulkChange<'_>, audit: &[Value]) -> (String, Vec<Value>) {
    let (mapping, root, version) = (change.mapping, &change.mapping.root, &change.mapping.version);
    let columns: Vec<usize> = change.set.iter().map(|(column, _)| *column).collect();
    let set: String = assign(root, &columns).into_iter().map(|set| set + ", ").collect();
    let new = change.set.iter().map(|(_, value)| value.clone());
    let mut values: Vec<Value> = new.clone().chain(audit.iter().cloned()).collect();
    let when = condition(mapping, change.when, &mut values);
    values.extend(new);
    let differs = columns.iter().map(|&column| &root.columns[column]);
    let differs = differs.map(|column| format!("not (`{}` <=> {})", column.name, operand(column)));
    let differs = differs.collect::<Vec<_>>().join(" or ");
    let update = format!(
        "update `{}` set {set}{}`{version}` = `{version}` + 1 where {when} and ({differs})",
        root.name,
        assign_audit(mapping)
    );
    (update, values)
}

/// A condition; its values come after those that are there already.
fn condition(mapping: &'static Mapping, when: &Test, values: &mut Vec<Value>) -> String {
    condition::render(&mapping.root, when, '`', &mut |column, value| {
        values.push(value.clone());
        operand(column)
    })
}

/// The audit columns and the places of their values.
fn audit(mapping: &'static Mapping) -> impl Iterator<Item = (&'static String, String)> {
    let place = |audit: &Audit, name: &String| match *name == audit.at {
        true => format!("coalesce(timestampadd(microsecond, ? * 1000, {EPOCH}), sysdate(6))"),
        false => "?".to_owned(),
    };
    let columns = mapping.audit.iter().flat_map(|audit| audit.columns().map(|name| (audit, name)));
    columns.map(move |(audit, name)| (name, place(audit, name)))
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
    let read = |column: &Column| match column.kind {
        // A number, because there are no booleans.
        Kind::Bool => format!("cast(`{}` as signed)", column.name),
        Kind::Integer => format!("cast(`{}` as signed)", column.name),
        // As a cast, but MySQL has that only since 8.0.17.
        Kind::Real => format!("`{}` + 0e0", column.name),
        Kind::Text | Kind::Json => format!("convert(`{}` using utf8mb4)", column.name),
        // A UUID is one or the other: `uuid` of MariaDB, or `binary(16)`. Both give their 16 bytes.
        Kind::Bytes | Kind::Uuid => format!("cast(`{}` as binary)", column.name),
        Kind::Decimal | Kind::Date | Kind::DateTime | Kind::Time => format!("cast(`{}` as char)", column.name),
        Kind::Timestamp => format!("timestampdiff(microsecond, {EPOCH}, `{}`)", column.name),
    };
    table.columns.iter().map(read).collect::<Vec<_>>().join(", ")
}

/// In UTC, as the session is: a `timestamp` column is turned into it, a `datetime` column holds it.
const EPOCH: &str = "timestamp'1970-01-01 00:00:00'";

/// The place of a bound value; the driver says what type it is with every execution.
fn place(column: &Column) -> String {
    match column.kind {
        Kind::Timestamp => format!("timestampadd(microsecond, ?, {EPOCH})"),
        Kind::Date => "cast(? as date)".into(),
        Kind::DateTime => "cast(? as datetime(6))".into(),
        Kind::Time => "cast(? as time(6))".into(),
        _ => "?".into(),
    }
}

/// The place of a value that a column is compared with.
fn operand(column: &Column) -> String {
    match column.kind {
        // MySQL compares a decimal with a text as floating-point numbers; MariaDB does not. Exact up to 35 digits before the
        // point and 30 after it.
        Kind::Decimal => "cast(? as decimal(65, 30))".into(),
        _ => place(column),
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

fn child_is(mapping: &'static Mapping, child: &'static Table) -> String {
    // A child that there is at most one of has no key of its own.
    match child.key {
        0 => owner_is(mapping, child),
        _ => format!("{} and {}", owner_is(mapping, child), key_is(child)),
    }
}

fn owner_is(mapping: &'static Mapping, child: &'static Table) -> String {
    let id = &mapping.root.columns[..mapping.root.key];
    let is = |(name, column): (&String, &Column)| format!("`{name}` = {}", place(column));
    child.owner.iter().zip(id).map(is).collect::<Vec<_>>().join(" and ")
}
