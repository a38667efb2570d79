//! SQL text for a mapping. Names come from [`Mapping::validate`]d mappings and are quoted; values are always bound.
//!
//! Every column is read through a cast to the kind of its mapping, so that an `integer`, a `bigint` and a `numeric` are
//! all numbers. Values without a type in the driver are sent as text. Casts are on the side of the parameter, so that indexes are
//! used.

use std::sync::Arc;

use crate::aggregate::mapping::{Audit, Column, Mapping, Table};
use crate::aggregate::value::Kind;
use crate::storage::sql::lineage::Lineage;
use crate::storage::sql::texts::{Texts, What};

static TEXTS: Texts = Texts::new();

/// The lock of the root when it is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowLock {
    None,
    Share,
    Update,
    /// Skips rows that another transaction has locked.
    SkipLocked,
}

impl RowLock {
    fn clause(self) -> &'static str {
        match self {
            RowLock::None => "",
            RowLock::Share => " for share",
            RowLock::Update => " for update",
            RowLock::SkipLocked => " for update skip locked",
        }
    }
}

/// `select` of the root: its version, then its columns. Binds the id.
pub(super) fn select_root(mapping: &'static Mapping, lock: RowLock) -> Arc<str> {
    TEXTS.get(What::SelectRoot, &mapping.root, &[lock as usize], || {
        let (root, id, lock) = (&mapping.root, key_is(&mapping.root, 1), lock.clause());
        format!("select \"{}\"::bigint, {} from {} where {id}{lock}", mapping.version, reading(root), qualified(root))
    })
}

/// `select` of the root's version alone; binds the id.
pub(super) fn select_version(mapping: &'static Mapping, lock: RowLock) -> Arc<str> {
    TEXTS.get(What::SelectVersion, &mapping.root, &[lock as usize], || {
        let (root, id, lock) = (&mapping.root, key_is(&mapping.root, 1), lock.clause());
        format!("select \"{}\"::bigint from {} where {id}{lock}", mapping.version, qualified(root))
    })
}

/// `select` of an aggregate by one statement: one row for the root and for each child, in no order. The columns are the number of the table
/// (0 is the root), the root's version, then the columns of all tables, null except for those of the row's own table. Binds the id.
pub(super) fn select_whole(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::SelectWhole, &mapping.root, &[], || {
        let tables = || std::iter::once(&mapping.root).chain(&mapping.children).enumerate();
        let select = |(at, table): (usize, &'static Table)| {
            let lineage = Lineage::of(mapping, table, '"');
            let columns = tables().map(|(other, table)| match other == at {
                true => reading_as(table, &lineage.columns()),
                false => absent(table),
            });
            let columns = columns.collect::<Vec<_>>().join(", ");
            let (version, found) = match at {
                0 => (format!("\"{}\"::bigint", mapping.version), key_is(table, 1)),
                _ => ("null::bigint".to_owned(), owner_is(mapping, &lineage.owner(), 1)),
            };
            format!("select {at}::bigint, {version}, {columns} from {} where {found}", lineage.from())
        };
        tables().map(select).collect::<Vec<_>>().join(" union all ")
    })
}

/// `select` of this number of aggregates by one statement, as [`select_whole`]; the root's id is between the version and the columns.
/// Binds all ids.
pub(super) fn select_many(mapping: &'static Mapping, count: usize) -> Arc<str> {
    TEXTS.get(What::SelectMany, &mapping.root, &[count], || {
        let tables = || std::iter::once(&mapping.root).chain(&mapping.children).enumerate();
        let id = &mapping.root.columns[..mapping.root.key];
        let select = |(at, table): (usize, &'static Table)| {
            let lineage = Lineage::to_root(mapping, table, '"');
            let columns = tables().map(|(other, table)| match other == at {
                true => reading_as(table, &lineage.columns()),
                false => absent(table),
            });
            let columns = columns.collect::<Vec<_>>().join(", ");
            let version = if at == 0 { format!("\"{}\"::bigint", mapping.version) } else { "null::bigint".to_owned() };
            let (names, found) = (lineage.id(), id_among(id, &lineage.id(), count));
            let names = reading_as(&mapping.root.key_alone(), &names);
            format!("select {at}::bigint, {version}, {names}, {columns} from {} where {found}", lineage.from())
        };
        tables().map(select).collect::<Vec<_>>().join(" union all ")
    })
}

/// `select` of all children of one root in one collection, in the order of their keys. Binds the root's id.
pub(super) fn select_children(mapping: &'static Mapping, child: &'static Table) -> Arc<str> {
    TEXTS.get(What::SelectChildren, child, &[], || {
        let lineage = Lineage::of(mapping, child, '"');
        let columns = lineage.columns();
        let key = child.columns[..child.key].iter().zip(&columns).map(|(column, name)| match column.kind {
            // By bytes, as the other databases and Rust do.
            Kind::Text => format!("{name}::text collate \"C\""),
            _ => name.clone(),
        });
        let order = lineage.owner().into_iter().chain(key).collect::<Vec<_>>().join(", ");
        let (owner, reading) = (owner_is(mapping, &lineage.owner(), 1), reading_as(child, &columns));
        format!("select {reading} from {} where {owner} order by {order}", lineage.from())
    })
}

/// `insert` of the root, nothing if the id exists; binds its columns, the audit columns, the version, the kind and the id of its key.
/// Returns the version of the aggregate that was deleted under this key, if any.
pub(super) fn insert_root(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::InsertRoot, &mapping.root, &[], || {
        let root = &mapping.root;
        let audit = audit(mapping, root.columns.len() + 1).map(|(name, place)| (format!("\"{name}\", "), place + ", "));
        let (audited, audit): (String, String) = audit.unzip();
        let (names, values) = (names(&root.columns), places(&root.columns, 1));
        let (version, id) = (&mapping.version, self::names(&root.columns[..root.key]));
        let last = root.columns.len() + audit_width(mapping) + 1;
        format!(
            "insert into {} ({names}, {audited}\"{version}\") values ({values}, {audit}${last}) on conflict ({id}) do nothing
             returning tenure_removed_version(${}, ${})",
            qualified(root),
            last + 1,
            last + 2
        )
    })
}

/// `insert` of the root without its id, which the database generates and returns; binds the other columns, the audit columns, the
/// version.
pub(super) fn insert_generated(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::InsertGenerated, &mapping.root, &[], || {
        let (id, own) = mapping.root.columns.split_at(mapping.root.key);
        let own_names =
            own.iter().map(|column| &column.name).zip(own.iter().zip(1..).map(|(column, at)| place(column, at)));
        let last = own.len() + audit_width(mapping) + 1;
        let all = own_names.chain(audit(mapping, own.len() + 1)).chain([(&mapping.version, format!("${last}"))]);
        let (names, places): (Vec<_>, Vec<_>) = all.map(|(name, place)| (format!("\"{name}\""), place)).unzip();
        let (names, places) = (names.join(", "), places.join(", "));
        format!(
            "insert into {} ({names}) values ({places}) returning \"{}\"::bigint",
            qualified(&mapping.root),
            id[0].name
        )
    })
}

/// `insert` of this number of children; binds the root's id and its columns for each.
pub(super) fn insert_children(mapping: &'static Mapping, child: &'static Table, count: usize) -> Arc<str> {
    TEXTS.get(What::InsertChildren, child, &[count], || {
        let own = &child.columns[mapping.not_stored(child)..];
        let id = &mapping.root.columns[..child.owner.len()];
        let width = id.len() + own.len();
        let places = |at: usize| {
            let columns = id.iter().chain(own).zip(at * width + 1..).map(|(column, at)| place(column, at));
            format!("({})", columns.collect::<Vec<_>>().join(", "))
        };
        let names = child.owner.iter().chain(own.iter().map(|column| &column.name));
        let names = names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        let rows = (0..count).map(places).collect::<Vec<_>>().join(", ");
        format!("insert into {} ({names}) values {rows}", qualified(child))
    })
}

/// `update` of the root if the version is the expected one; binds the changed columns, the audit columns, the new
/// version, the id, the expected version.
pub(super) fn update_root(mapping: &'static Mapping, changed: &[usize]) -> Arc<str> {
    TEXTS.get(What::UpdateRoot, &mapping.root, changed, || {
        let (root, version) = (&mapping.root, &mapping.version);
        let set: String = assign(root, changed).into_iter().map(|set| set + ", ").collect();
        let audit = assign_audit(mapping, changed.len() + 1);
        let to = changed.len() + audit_width(mapping) + 1;
        let (id, from) = (key_is(root, to + 1), to + root.key + 1);
        format!(
            "update {} set {set}{audit}\"{version}\" = ${to} where {id} and \"{version}\" = ${from}",
            qualified(root)
        )
    })
}

/// `update` of one child; binds the changed columns, the root's id, the key.
pub(super) fn update_child(mapping: &'static Mapping, child: &'static Table, changed: &[usize]) -> Arc<str> {
    TEXTS.get(What::UpdateChild, child, changed, || {
        let set = assign(child, changed).join(", ");
        format!("update {} set {set} where {}", qualified(child), child_is(mapping, child, changed.len() + 1))
    })
}

/// `delete` of one child; binds the root's id, the key.
pub(super) fn delete_child(mapping: &'static Mapping, child: &'static Table) -> Arc<str> {
    TEXTS.get(What::DeleteChild, child, &[], || {
        format!("delete from {} where {}", qualified(child), child_is(mapping, child, 1))
    })
}

/// `delete` of all children of one root in one collection; binds the root's id.
pub(super) fn delete_children(mapping: &'static Mapping, child: &'static Table) -> Arc<str> {
    TEXTS.get(What::DeleteChildren, child, &[], || {
        format!("delete from {} where {}", qualified(child), owned(mapping, child))
    })
}

/// `delete` of the root; binds the id.
pub(super) fn delete_root(mapping: &'static Mapping) -> Arc<str> {
    TEXTS.get(What::DeleteRoot, &mapping.root, &[], || {
        format!("delete from {} where {}", qualified(&mapping.root), key_is(&mapping.root, 1))
    })
}

/// `select` of the audit columns, the time in milliseconds; binds the id.
pub(super) fn select_audit(mapping: &'static Mapping, audit: &Audit, at: &str) -> String {
    let text =
        |name: &Option<String>| name.as_ref().map_or("null::text".to_owned(), |name| format!("\"{name}\"::text"));
    let [by, by_name, command] = [&audit.by, named_by(audit), &audit.command].map(text);
    let root = &mapping.root;
    format!(
        "select \"{}\"::bigint as version, {by} as by_id, {by_name} as by_name, \
                (extract(epoch from \"{at}\") * 1000)::bigint as changed_at, {command} as command \
           from {} where {}",
        mapping.version,
        qualified(root),
        key_is(root, 1)
    )
}

/// The column of the author's name; the id if the table has none.
fn named_by(audit: &Audit) -> &Option<String> {
    if audit.by_name.is_some() { &audit.by_name } else { &audit.by }
}

/// The audit columns and their placeholders.
fn audit(mapping: &'static Mapping, first: usize) -> impl Iterator<Item = (&'static String, String)> {
    let place = |audit: &Audit, name: &String, at: usize| match Some(name) == audit.at.as_ref() {
        true => format!("('epoch'::timestamptz + tenure_now(${at}::bigint) * interval '1 millisecond')"),
        false => format!("${at}::text"),
    };
    let columns = mapping.audit.iter().flat_map(|audit| audit.columns().map(move |name| (audit, name)));
    columns.zip(first..).map(move |((audit, name), at)| (name, place(audit, name, at)))
}

/// The quoted name of a table, with that of its schema if the mapping has one.
fn qualified(table: &Table) -> String {
    table.quoted('"')
}

fn audit_width(mapping: &'static Mapping) -> usize {
    mapping.audit.as_ref().map_or(0, |audit| audit.columns().count())
}

fn assign_audit(mapping: &'static Mapping, first: usize) -> String {
    audit(mapping, first).map(|(name, place)| format!("\"{name}\" = {place}, ")).collect()
}

fn names(columns: &[Column]) -> String {
    columns.iter().map(|column| format!("\"{}\"", column.name)).collect::<Vec<_>>().join(", ")
}

/// Null for every column, with the type that [`reading`] returns.
fn absent(table: &Table) -> String {
    let absent = |column: &Column| match column.kind {
        Kind::Bool => "null::boolean",
        Kind::Integer | Kind::Timestamp => "null::bigint",
        Kind::Real => "null::float8",
        Kind::Bytes => "null::bytea",
        _ => "null::text",
    };
    table.columns.iter().map(absent).collect::<Vec<_>>().join(", ")
}

fn reading(table: &Table) -> String {
    reading_as(table, &table.columns.iter().map(|column| format!("\"{}\"", column.name)).collect::<Vec<_>>())
}

/// The columns of a table under these names, which are quoted.
fn reading_as(table: &Table, names: &[String]) -> String {
    let read = |(column, name): (&Column, &String)| match column.kind {
        // An array of PostgreSQL is sent as JSON.
        Kind::Json if column.is_array() => format!("to_json({name})::text"),
        Kind::Bool => format!("{name}::boolean"),
        Kind::Integer => format!("{name}::bigint"),
        Kind::Real => format!("{name}::float8"),
        Kind::Bytes => name.clone(),
        Kind::Text | Kind::Decimal | Kind::Uuid | Kind::Json | Kind::Time => format!("{name}::text"),
        // Their text depends on `DateStyle`, but JSON is always in ISO 8601, also for infinity, and for years before Christ, which
        // `to_char` does not mark.
        Kind::Date | Kind::DateTime => format!("to_json({name}) #>> '{{}}'"),
        Kind::Timestamp => format!("(extract(epoch from {name}) * 1000000)::bigint"),
    };
    table.columns.iter().zip(names).map(read).collect::<Vec<_>>().join(", ")
}

/// The placeholder of a bound value, typed by the kind of its column and not by the value.
fn place(column: &Column, at: usize) -> String {
    match (column.kind, &column.sql_type) {
        (Kind::Json, Some(array)) if column.is_array() => {
            let items = format!("array(select jsonb_array_elements_text(${at}::text::jsonb))::{array}");
            return format!("case when ${at}::text is not null then {items} end");
        }
        (_, Some(cast)) => {
            let cast = cast.split('.').map(|part| format!("\"{part}\"")).collect::<Vec<_>>().join(".");
            return format!("${at}::text::{cast}");
        }
        (_, None) => {}
    }
    match column.kind {
        Kind::Bool => format!("${at}::boolean"),
        Kind::Integer => format!("${at}::bigint"),
        Kind::Real => format!("${at}::float8"),
        Kind::Text => format!("${at}::text"),
        Kind::Bytes => format!("${at}::bytea"),
        Kind::Decimal => format!("${at}::text::numeric"),
        Kind::Uuid => format!("${at}::text::uuid"),
        // An assignment to a column of type `json` converts it.
        Kind::Json => format!("${at}::text::jsonb"),
        // A number would have to be multiplied, which is exact only up to the year 2255.
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

/// The condition that selects a child in its table; its values begin with this number.
fn child_is(mapping: &'static Mapping, child: &'static Table, first: usize) -> String {
    let id = child.owner.iter().zip(&mapping.root.columns);
    let own = child.columns[mapping.not_stored(child)..child.key].iter().map(|column| (&column.name, column));
    let is = |((name, column), at): ((&String, &Column), usize)| format!("\"{name}\" = {}", place(column, at));
    id.chain(own).zip(first..).map(is).collect::<Vec<_>>().join(" and ")
}

/// The condition that selects the children of one root in their table.
fn owned(mapping: &'static Mapping, child: &'static Table) -> String {
    Lineage::of(mapping, child, '"').within(|owner| owner_is(mapping, owner, 1))
}

/// The condition that these quoted names equal the root's id.
fn owner_is(mapping: &'static Mapping, owner: &[String], first: usize) -> String {
    let is = |((name, column), at): ((&String, &Column), usize)| format!("{name} = {}", place(column, at));
    owner.iter().zip(&mapping.root.columns).zip(first..).map(is).collect::<Vec<_>>().join(" and ")
}

/// The condition that these quoted columns are one of this number of ids.
fn id_among(id: &[Column], names: &[String], count: usize) -> String {
    let one = |at: usize| {
        let places =
            id.iter().zip(at * id.len() + 1..).map(|(column, at)| place(column, at)).collect::<Vec<_>>().join(", ");
        if id.len() == 1 { places } else { format!("({places})") }
    };
    format!("({}) in ({})", names.join(", "), (0..count).map(one).collect::<Vec<_>>().join(", "))
}
