//! SQL text for a mapping. Names come from [`Mapping::validate`]d mappings and are quoted; values are always bound.
//!
//! Every column is read through a cast to the kind of its mapping, so that an `integer`, a `bigint` and a `numeric` are
//! all numbers. What has no type in the driver travels as text. Casts are on the side of the parameter, so that indexes are
//! used.

use crate::mapping::{Column, Mapping, Table};
use crate::value::Kind;

/// How the root is locked when it is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowLock {
    None,
    Share,
    Update,
    /// Only if nobody else holds it.
    SkipLocked,
}

/// `select` of the root: its version, then its columns. Binds the id.
pub(super) fn select_root(mapping: &Mapping, lock: RowLock) -> String {
    let root = &mapping.root;
    let lock = match lock {
        RowLock::None => "",
        RowLock::Share => " for share",
        RowLock::Update => " for update",
        RowLock::SkipLocked => " for update skip locked",
    };
    let id = key_is(root, 1);
    format!("select \"{}\"::bigint, {} from \"{}\" where {id}{lock}", mapping.version, reading(root), root.name)
}

/// `select` of all children of one root in one collection, in the order of their keys. Binds the root's id.
pub(super) fn select_children(mapping: &Mapping, child: &Table) -> String {
    let key = child.columns[..child.key].iter().map(|column| match column.kind {
        // By bytes, as every other database and the language itself do.
        Kind::Text => format!("\"{}\" collate \"C\"", column.name),
        _ => format!("\"{}\"", column.name),
    });
    let (key, owner) = (key.collect::<Vec<_>>().join(", "), owner_is(mapping, child, 1));
    format!("select {} from \"{}\" where {owner} order by {key}", reading(child), child.name)
}

/// `insert` of the root, nothing if the id is taken; binds its columns, then the version.
pub(super) fn insert_root(mapping: &Mapping) -> String {
    let root = &mapping.root;
    let (names, values) = (names(&root.columns), places(&root.columns, 1));
    let (version, id, last) = (&mapping.version, self::names(&root.columns[..root.key]), root.columns.len() + 1);
    format!(
        "insert into \"{}\" ({names}, \"{version}\") values ({values}, ${last}) on conflict ({id}) do nothing",
        root.name
    )
}

/// `insert` of one child; binds the root's id, then its columns.
pub(super) fn insert_child(mapping: &Mapping, child: &Table) -> String {
    let owner = child.owner.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let id = places(&mapping.root.columns[..mapping.root.key], 1);
    let values = places(&child.columns, mapping.root.key + 1);
    format!("insert into \"{}\" ({owner}, {}) values ({id}, {values})", child.name, names(&child.columns))
}

/// `update` of the root if the version is the expected one; binds the changed columns, the id, the version.
pub(super) fn update_root(mapping: &Mapping, changed: &[usize]) -> String {
    let (root, version) = (&mapping.root, &mapping.version);
    let set: String = assign(root, changed).into_iter().map(|set| set + ", ").collect();
    let (id, last) = (key_is(root, changed.len() + 1), changed.len() + root.key + 1);
    format!(
        "update \"{}\" set {set}\"{version}\" = \"{version}\" + 1 where {id} and \"{version}\" = ${last}",
        root.name
    )
}

/// `update` of one child; binds the changed columns, the root's id, the key.
pub(super) fn update_child(mapping: &Mapping, child: &Table, changed: &[usize]) -> String {
    let set = assign(child, changed).join(", ");
    let owner = owner_is(mapping, child, changed.len() + 1);
    let key = key_is(child, changed.len() + mapping.root.key + 1);
    format!("update \"{}\" set {set} where {owner} and {key}", child.name)
}

/// `delete` of one child; binds the root's id, the key.
pub(super) fn delete_child(mapping: &Mapping, child: &Table) -> String {
    let (owner, key) = (owner_is(mapping, child, 1), key_is(child, mapping.root.key + 1));
    format!("delete from \"{}\" where {owner} and {key}", child.name)
}

/// `delete` of all children of one root in one collection; binds the root's id.
pub(super) fn delete_children(mapping: &Mapping, child: &Table) -> String {
    format!("delete from \"{}\" where {}", child.name, owner_is(mapping, child, 1))
}

/// `delete` of the root; binds the id.
pub(super) fn delete_root(mapping: &Mapping) -> String {
    format!("delete from \"{}\" where {}", mapping.root.name, key_is(&mapping.root, 1))
}

fn names(columns: &[Column]) -> String {
    columns.iter().map(|column| format!("\"{}\"", column.name)).collect::<Vec<_>>().join(", ")
}

fn reading(table: &Table) -> String {
    let read = |column: &Column| match column.kind {
        Kind::Bool => format!("\"{}\"::boolean", column.name),
        Kind::Integer => format!("\"{}\"::bigint", column.name),
        Kind::Real => format!("\"{}\"::float8", column.name),
        Kind::Bytes => format!("\"{}\"", column.name),
        Kind::Text | Kind::Decimal | Kind::Uuid | Kind::Json | Kind::Time => format!("\"{}\"::text", column.name),
        // Their text depends on `DateStyle`, but JSON is always in ISO 8601; also infinity, and years before Christ, which
        // `to_char` does not tell from others.
        Kind::Date | Kind::DateTime => format!("to_json(\"{}\") #>> '{{}}'", column.name),
        Kind::Timestamp => format!("(extract(epoch from \"{}\") * 1000000)::bigint", column.name),
    };
    table.columns.iter().map(read).collect::<Vec<_>>().join(", ")
}

/// The place of a bound value, typed by the kind of its column and not by the value at hand.
fn place(column: &Column, at: usize) -> String {
    match column.kind {
        Kind::Bool => format!("${at}::boolean"),
        Kind::Integer => format!("${at}::bigint"),
        Kind::Real => format!("${at}::float8"),
        Kind::Text => format!("${at}::text"),
        Kind::Bytes => format!("${at}::bytea"),
        Kind::Decimal => format!("${at}::text::numeric"),
        Kind::Uuid => format!("${at}::text::uuid"),
        // Assigned to a column of type `json` it becomes one.
        Kind::Json => format!("${at}::text::jsonb"),
        // From a number it would have to be multiplied, which is only exact up to the year 2255.
        Kind::Timestamp => format!("${at}::text::timestamptz"),
        Kind::Date => format!("${at}::text::date"),
        Kind::DateTime => format!("${at}::text::timestamp"),
        Kind::Time => format!("${at}::text::time"),
    }
}

fn places(columns: &[Column], first: usize) -> String {
    columns.iter().zip(first..).map(|(column, at)| place(column, at)).collect::<Vec<_>>().join(", ")
}

fn assign(table: &Table, changed: &[usize]) -> Vec<String> {
    let assign = |(&index, at): (&usize, usize)| {
        let column = &table.columns[index];
        format!("\"{}\" = {}", column.name, place(column, at))
    };
    changed.iter().zip(1..).map(assign).collect()
}

fn key_is(table: &Table, first: usize) -> String {
    let is = |(column, at): (&Column, usize)| format!("\"{}\" = {}", column.name, place(column, at));
    table.columns[..table.key].iter().zip(first..).map(is).collect::<Vec<_>>().join(" and ")
}

fn owner_is(mapping: &Mapping, child: &Table, first: usize) -> String {
    let id = &mapping.root.columns[..mapping.root.key];
    let is = |((name, column), at): ((&String, &Column), usize)| format!("\"{name}\" = {}", place(column, at));
    child.owner.iter().zip(id).zip(first..).map(is).collect::<Vec<_>>().join(" and ")
}
