//! SQL text for a mapping. Names come from [`Mapping::validate`]d mappings and are quoted; values are always bound.

use std::sync::Arc;

use crate::aggregate::condition::Test;
use crate::aggregate::mapping::{Audit, Mapping, Table};
use crate::aggregate::value::Value;
use crate::storage::texts::{Texts, What};
use crate::storage::{BulkChange, condition};

static TEXTS: Texts = Texts::new();

/// `select` of an aggregate by one statement: a row of the root, and one of each child, in no order. First comes the number
/// of the table (0 is the root), then the root's version, then the columns of all tables, null but for those of the row's own.
/// Binds the id once for each table.
pub(super) fn select_whole(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::SelectWhole, &mapping.root, &[], || {
        let tables = || std::iter::once(&mapping.root).chain(&mapping.children).enumerate();
        let select = |(at, table): (usize, &'static Table)| {
            let columns = tables().map(|(other, table)| if other == at { self::columns(table) } else { absent(table) });
            let columns = columns.collect::<Vec<_>>().join(", ");
            let (version, found) = match at {
                0 => (format!("\"{}\"", mapping.version), id_is(table)),
                _ => ("null".to_owned(), equal(&table.owner, " and ")),
            };
            format!("select {at}, {version}, {columns} from \"{}\" where {found}", table.name)
        };
        tables().map(select).collect::<Vec<_>>().join(" union all ")
    })
}

/// `insert` of the root at the first version, unless an aggregate was deleted under its id; binds its columns, the audit columns, the
/// kind and id of its key.
pub(super) fn insert_root(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::InsertRoot, &mapping.root, &[], || {
        let (names, places) = root_columns(mapping);
        format!(
            "insert into \"{}\" ({names}, \"{}\") select {places}, 1
              where not exists (select 1 from tenure_removed where kind = ? and id = ?)",
            mapping.root.name, mapping.version
        )
    })
}

/// `insert` of the root where another was deleted; binds its columns, the audit columns, the version.
pub(super) fn insert_successor(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::InsertSuccessor, &mapping.root, &[], || {
        let (names, places) = root_columns(mapping);
        format!("insert into \"{}\" ({names}, \"{}\") values ({places}, ?)", mapping.root.name, mapping.version)
    })
}

/// The names of the root's columns and of the audit columns, and a place for each.
fn root_columns(mapping: &'static Mapping) -> (String, String) {
    let names = mapping.root.columns.iter().map(|column| &column.name);
    let names = names.chain(mapping.audit.iter().flat_map(Audit::columns));
    (list(names.clone()), vec!["?"; names.count()].join(", "))
}

/// `insert` of so many children; binds the root's id and its columns for each.
pub(super) fn insert_children(child: &'static Table, count: usize) -> Arc<str> {
    TEXTS.get(What::InsertChildren, child, &[count], || {
        let row = format!("({})", vec!["?"; child.owner.len() + child.columns.len()].join(", "));
        let rows = vec![row; count].join(", ");
        format!("insert into \"{}\" ({}, {}) values {rows}", child.name, list(&child.owner), columns(child))
    })
}

/// `update` of the root if the version is the expected one; binds the changed columns, the audit columns, the version
/// to be, the id, the expected version.
pub(super) fn update_root(mapping: &'static Mapping, changed: &[usize]) -> Arc<str> {
    TEXTS.get(What::UpdateRoot, &mapping.root, changed, || {
        let (root, version) = (&mapping.root, &mapping.version);
        let set = changed.iter().map(|&index| &root.columns[index].name);
        let set = equal(set.chain(mapping.audit.iter().flat_map(Audit::columns)).chain([version]), ", ");
        format!("update \"{}\" set {set} where {} and \"{version}\" = ?", root.name, id_is(root))
    })
}

/// `update` of one child; binds the changed columns, the root's id, the key.
pub(super) fn update_child(child: &'static Table, changed: &[usize]) -> Arc<str> {
    TEXTS.get(What::UpdateChild, child, changed, || {
        let set = equal(changed.iter().map(|&index| &child.columns[index].name), ", ");
        format!("update \"{}\" set {set} where {}", child.name, key_is(child))
    })
}

/// `delete` of one child; binds the root's id, the key.
pub(super) fn delete_child(child: &'static Table) -> Arc<str> {
    TEXTS.get(What::DeleteChild, child, &[], || format!("delete from \"{}\" where {}", child.name, key_is(child)))
}

/// `delete` of all children of one root in one collection; binds the root's id.
pub(super) fn delete_children(child: &'static Table) -> Arc<str> {
    TEXTS.get(What::DeleteChildren, child, &[], || {
        format!("delete from \"{}\" where {}", child.name, equal(&child.owner, " and "))
    })
}

/// `delete` of the root if the version is the expected one; binds the id, the version.
pub(super) fn delete_root(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::DeleteRoot, &mapping.root, &[], || {
        format!("delete from \"{}\" where {} and \"{}\" = ?", mapping.root.name, id_is(&mapping.root), mapping.version)
    })
}

/// `select` of the version alone; binds the id.
pub(super) fn select_version(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::SelectVersion, &mapping.root, &[], || {
        format!("select \"{}\" from \"{}\" where {}", mapping.version, mapping.root.name, id_is(&mapping.root))
    })
}

/// `select` of what the audit columns say, the time in milliseconds; binds the id.
pub(super) fn select_audit(mapping: &'static Mapping, audit: &Audit) -> String {
    let Audit { by, by_name, at, command } = audit;
    format!(
        "select \"{}\" as version, \"{by}\" as by_id, \"{by_name}\" as by_name, \"{at}\" / 1000 as changed_at, \
                \"{command}\" as command from \"{}\" where {}",
        mapping.version,
        mapping.root.name,
        id_is(&mapping.root)
    )
}

/// `select` of the ids of the roots that match, in their order; and the values to bind.
pub(super) fn select_matching(mapping: &'static Mapping, when: &Test) -> (String, Vec<Value>) {
    let (mut values, root) = (Vec::new(), &mapping.root);
    let id = list(root.columns[..root.key].iter().map(|column| &column.name));
    let when = condition(mapping, when, &mut values);
    (format!("select {id} from \"{}\" where {when} order by {id}", root.name), values)
}

/// `update` of all roots that match and are not so already; and the values to bind.
pub(super) fn update_matching(change: &BulkChange<'_>, audit: &[Value]) -> (String, Vec<Value>) {
    let (mapping, root, version) = (change.mapping, &change.mapping.root, &change.mapping.version);
    let set = change.set.iter().map(|(column, _)| &root.columns[*column].name);
    let differs = set.clone().map(|name| format!("\"{name}\" is not ?")).collect::<Vec<_>>().join(" or ");
    let set = equal(set.chain(mapping.audit.iter().flat_map(Audit::columns)), ", ");
    let new = change.set.iter().map(|(_, value)| value.clone());
    let mut values: Vec<Value> = new.clone().chain(audit.iter().cloned()).collect();
    let when = condition(mapping, change.when, &mut values);
    values.extend(new);
    let update =
        // A sum that is too large would become a floating point number; an absolute value that is too large is an error.
        format!("update \"{}\" set {set}, \"{version}\" = abs(-\"{version}\" - 1) where {when} and ({differs})", root.name);
    (update, values)
}

/// A condition; its values come after those that are there already.
fn condition(mapping: &'static Mapping, when: &Test, values: &mut Vec<Value>) -> String {
    condition::render(&mapping.root, when, '"', &mut |_, value| {
        values.push(value.clone());
        "?".into()
    })
}

fn absent(table: &Table) -> String {
    vec!["null"; table.columns.len()].join(", ")
}

fn columns(table: &Table) -> String {
    list(table.columns.iter().map(|column| &column.name))
}

fn id_is(root: &Table) -> String {
    equal(root.columns[..root.key].iter().map(|column| &column.name), " and ")
}

fn key_is(child: &'static Table) -> String {
    equal(child.owner.iter().chain(child.columns[..child.key].iter().map(|column| &column.name)), " and ")
}

fn list<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

fn equal<'a>(names: impl IntoIterator<Item = &'a String>, separator: &str) -> String {
    names.into_iter().map(|name| format!("\"{name}\" = ?")).collect::<Vec<_>>().join(separator)
}
