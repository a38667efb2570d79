//! SQL text for a mapping. Names come from [`Mapping::validate`]d mappings and are quoted; values are always bound.

use crate::mapping::{Mapping, Table};

/// `select` of the root: its version, then its columns.
pub(super) fn select_root(mapping: &Mapping) -> String {
    let root = &mapping.root;
    format!("select \"{}\", {} from \"{}\" where {}", mapping.version, columns(root), root.name, id_is(root))
}

/// `select` of all children of one root in one collection, in the order of their keys.
pub(super) fn select_children(child: &Table) -> String {
    let key = list(child.columns[..child.key].iter().map(|column| &column.name));
    let order = if key.is_empty() { String::new() } else { format!(" order by {key}") };
    format!("select {} from \"{}\" where {}{order}", columns(child), child.name, equal(&child.owner, " and "))
}

/// `insert` of the root; binds its columns, then the version.
pub(super) fn insert_root(mapping: &Mapping) -> String {
    let root = &mapping.root;
    let places = vec!["?"; root.columns.len() + 1].join(", ");
    format!("insert into \"{}\" ({}, \"{}\") values ({places})", root.name, columns(root), mapping.version)
}

/// `insert` of one child; binds the root's id, then its columns.
pub(super) fn insert_child(child: &Table) -> String {
    let places = vec!["?"; child.owner.len() + child.columns.len()].join(", ");
    format!("insert into \"{}\" ({}, {}) values ({places})", child.name, list(&child.owner), columns(child))
}

/// `update` of the root if the version is the expected one; binds the changed columns, the id, the version.
pub(super) fn update_root(mapping: &Mapping, changed: &[usize]) -> String {
    let (root, version) = (&mapping.root, &mapping.version);
    let set: String = changed.iter().map(|&index| format!("\"{}\" = ?, ", root.columns[index].name)).collect();
    format!(
        "update \"{}\" set {set}\"{version}\" = \"{version}\" + 1 where {} and \"{version}\" = ?",
        root.name,
        id_is(root)
    )
}

/// `update` of one child; binds the changed columns, the root's id, the key.
pub(super) fn update_child(child: &Table, changed: &[usize]) -> String {
    let set = equal(changed.iter().map(|&index| &child.columns[index].name), ", ");
    format!("update \"{}\" set {set} where {}", child.name, key_is(child))
}

/// `delete` of one child; binds the root's id, the key.
pub(super) fn delete_child(child: &Table) -> String {
    format!("delete from \"{}\" where {}", child.name, key_is(child))
}

/// `delete` of all children of one root in one collection; binds the root's id.
pub(super) fn delete_children(child: &Table) -> String {
    format!("delete from \"{}\" where {}", child.name, equal(&child.owner, " and "))
}

/// `delete` of the root if the version is the expected one; binds the id, the version.
pub(super) fn delete_root(mapping: &Mapping) -> String {
    format!("delete from \"{}\" where {} and \"{}\" = ?", mapping.root.name, id_is(&mapping.root), mapping.version)
}

fn columns(table: &Table) -> String {
    list(table.columns.iter().map(|column| &column.name))
}

fn id_is(root: &Table) -> String {
    equal(root.columns[..root.key].iter().map(|column| &column.name), " and ")
}

fn key_is(child: &Table) -> String {
    equal(child.owner.iter().chain(child.columns[..child.key].iter().map(|column| &column.name)), " and ")
}

fn list<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

fn equal<'a>(names: impl IntoIterator<Item = &'a String>, separator: &str) -> String {
    names.into_iter().map(|name| format!("\"{name}\" = ?")).collect::<Vec<_>>().join(separator)
}
