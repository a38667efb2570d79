//! SQL text for a mapping. Names come from [`Mapping::validate`]d mappings and are quoted; values are always bound.
//!
//! Names are in backquotes. SQLite reads an unknown name in double quotes as a text: a missing column would equal its own name, and a child
//! table without its owner's column would have no children.

use std::sync::Arc;

use crate::aggregate::mapping::{Audit, Mapping, Table};
use crate::storage::sql::lineage::Lineage;
use crate::storage::sql::texts::{Texts, What};

static TEXTS: Texts = Texts::new();

/// `select` of an aggregate by one statement: one row for the root and for each child, in no order. The columns are the number of the table
/// (0 is the root), the root's version, then the columns of all tables, null except for those of the row's own table. Binds the id once for
/// each table.
pub(super) fn select_whole(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::SelectWhole, &mapping.root, &[], || {
        let tables = || std::iter::once(&mapping.root).chain(&mapping.children).enumerate();
        let select = |(at, table): (usize, &'static Table)| {
            let lineage = Lineage::of(mapping, table, '`');
            let columns = tables().map(|(other, table)| match other == at {
                true => lineage.columns().join(", "),
                false => absent(table),
            });
            let columns = columns.collect::<Vec<_>>().join(", ");
            let (version, found) = match at {
                0 => (format!("`{}`", mapping.version), id_is(table)),
                _ => ("null".to_owned(), assigned(&lineage.owner())),
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
        let select = |(at, table): (usize, &'static Table)| {
            let lineage = Lineage::to_root(mapping, table, '`');
            let columns = tables().map(|(other, table)| match other == at {
                true => lineage.columns().join(", "),
                false => absent(table),
            });
            let columns = columns.collect::<Vec<_>>().join(", ");
            let version = if at == 0 { format!("`{}`", mapping.version) } else { "null".to_owned() };
            let (names, found) = (lineage.id(), id_among(&lineage.id(), count));
            let names = names.join(", ");
            format!("select {at}, {version}, {names}, {columns} from {} where {found}", lineage.from())
        };
        tables().map(select).collect::<Vec<_>>().join(" union all ")
    })
}

/// `insert` of the root as version 1, unless an aggregate was deleted under its key; binds its columns, the audit columns, the kind and the
/// id of the key, or twice NULL to insert it in any case.
pub(super) fn insert_root(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::InsertRoot, &mapping.root, &[], || {
        let (names, places) = root_columns(mapping);
        format!(
            "insert into {} ({names}, `{}`) select {places}, 1
              where not exists (select 1 from tenure_removed where kind = ? and id = ?)",
            qualified(&mapping.root),
            mapping.version
        )
    })
}

/// `insert` of the root without its id, which the database generates and returns; binds the other columns, the audit columns.
pub(super) fn insert_generated(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::InsertGenerated, &mapping.root, &[], || {
        let (names, places) = columns_from(mapping, mapping.root.key);
        let id = list(mapping.root.columns[..mapping.root.key].iter().map(|column| &column.name));
        let names = [names, format!("`{}`", mapping.version)].into_iter().filter(|names| !names.is_empty());
        let places = [places, "1".to_owned()].into_iter().filter(|places| !places.is_empty());
        let [names, places] = [names.collect::<Vec<_>>(), places.collect()].map(|parts| parts.join(", "));
        format!("insert into {} ({names}) values ({places}) returning {id}", qualified(&mapping.root))
    })
}

/// The names of the root's columns and of the audit columns, and a placeholder for each.
fn root_columns(mapping: &'static Mapping) -> (String, String) {
    columns_from(mapping, 0)
}

fn columns_from(mapping: &'static Mapping, first: usize) -> (String, String) {
    let names = mapping.root.columns[first..].iter().map(|column| &column.name);
    let names = names.chain(mapping.audit.iter().flat_map(Audit::columns));
    (list(names.clone()), vec!["?"; names.count()].join(", "))
}

/// `insert` of this number of children; binds the root's id and its columns for each.
pub(super) fn insert_children(mapping: &'static Mapping, child: &'static Table, count: usize) -> Arc<str> {
    TEXTS.get(What::InsertChildren, child, &[count], || {
        let own = child.columns[mapping.not_stored(child)..].iter().map(|column| &column.name);
        let names = child.owner.iter().chain(own);
        let row = format!("({})", vec!["?"; names.clone().count()].join(", "));
        format!("insert into {} ({}) values {}", qualified(child), list(names), vec![row; count].join(", "))
    })
}

/// `update` of the root if the version is the expected one; binds the changed columns, the audit columns, the new
/// version, the id, the expected version.
pub(super) fn update_root(mapping: &'static Mapping, changed: &[usize]) -> Arc<str> {
    TEXTS.get(What::UpdateRoot, &mapping.root, changed, || {
        let (root, version) = (&mapping.root, &mapping.version);
        let set = changed.iter().map(|&index| &root.columns[index].name);
        let set = equal(set.chain(mapping.audit.iter().flat_map(Audit::columns)).chain([version]), ", ");
        format!("update {} set {set} where {} and `{version}` = ?", qualified(root), id_is(root))
    })
}

/// `update` of one child; binds the changed columns, the root's id, the key.
pub(super) fn update_child(mapping: &'static Mapping, child: &'static Table, changed: &[usize]) -> Arc<str> {
    TEXTS.get(What::UpdateChild, child, changed, || {
        let set = equal(changed.iter().map(|&index| &child.columns[index].name), ", ");
        format!("update {} set {set} where {}", qualified(child), key_is(mapping, child))
    })
}

/// `delete` of one child; binds the root's id, the key.
pub(super) fn delete_child(mapping: &'static Mapping, child: &'static Table) -> Arc<str> {
    TEXTS.get(What::DeleteChild, child, &[], || {
        format!("delete from {} where {}", qualified(child), key_is(mapping, child))
    })
}

/// `delete` of all children of one root in one collection; binds the root's id.
pub(super) fn delete_children(mapping: &'static Mapping, child: &'static Table) -> Arc<str> {
    TEXTS.get(What::DeleteChildren, child, &[], || {
        format!("delete from {} where {}", qualified(child), Lineage::of(mapping, child, '`').within(assigned))
    })
}

/// `delete` of the root; binds the id.
pub(super) fn delete_root(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::DeleteRoot, &mapping.root, &[], || {
        format!("delete from {} where {}", qualified(&mapping.root), id_is(&mapping.root))
    })
}

/// `select` of the version alone; binds the id.
pub(super) fn select_version(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::SelectVersion, &mapping.root, &[], || {
        format!("select `{}` from {} where {}", mapping.version, qualified(&mapping.root), id_is(&mapping.root))
    })
}

/// `select` of the audit columns, the time in milliseconds; binds the id.
pub(super) fn select_audit(mapping: &'static Mapping, audit: &Audit, at: &str) -> String {
    let text = |name: &Option<String>| name.as_ref().map_or("null".to_owned(), |name| format!("`{name}`"));
    let [by, by_name, command] = [&audit.by, named_by(audit), &audit.command].map(text);
    format!(
        "select `{}` as version, {by} as by_id, {by_name} as by_name, `{at}` / 1000 as changed_at, \
                {command} as command from {} where {}",
        mapping.version,
        qualified(&mapping.root),
        id_is(&mapping.root)
    )
}

/// The column of the author's name; the id if the table has none.
fn named_by(audit: &Audit) -> &Option<String> {
    if audit.by_name.is_some() { &audit.by_name } else { &audit.by }
}

/// The quoted name of a table, with that of its database if the mapping has one.
fn qualified(table: &Table) -> String {
    table.quoted('`')
}

fn absent(table: &Table) -> String {
    vec!["null"; table.columns.len()].join(", ")
}

fn id_is(root: &Table) -> String {
    equal(root.columns[..root.key].iter().map(|column| &column.name), " and ")
}

/// The columns by which the table of a child identifies a row.
fn key_is(mapping: &'static Mapping, child: &'static Table) -> String {
    let own = child.columns[mapping.not_stored(child)..child.key].iter().map(|column| &column.name);
    equal(child.owner.iter().chain(own), " and ")
}

/// These quoted names, each compared with a value.
fn assigned(names: &[String]) -> String {
    names.iter().map(|name| format!("{name} = ?")).collect::<Vec<_>>().join(" and ")
}

fn list<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn equal<'a>(names: impl IntoIterator<Item = &'a String>, separator: &str) -> String {
    names.into_iter().map(|name| format!("`{name}` = ?")).collect::<Vec<_>>().join(separator)
}

/// The condition that these quoted columns are one of this number of ids.
fn id_among(names: &[String], count: usize) -> String {
    let one = format!("({})", vec!["?"; names.len()].join(", "));
    match names {
        [name] => format!("{name} in ({})", vec!["?"; count].join(", ")),
        // As rows: `(a, b) in (values (?, ?), (?, ?))`.
        _ => format!("({}) in (values {})", names.join(", "), vec![one; count].join(", ")),
    }
}
