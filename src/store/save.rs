//! Saving and deleting a loaded aggregate. The root is written first, always: its row is the lock of the aggregate.

use std::sync::Arc;

use crate::aggregate::Stored;
use crate::aggregate::diff::Diff;
use crate::aggregate::mapping::{Mapping, MappingError, Row, Rows, Table};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::db::{Bind, Connection, RowLock, Sql, Statement};
use crate::error::{DatabaseError, DoesNotFit};
use crate::lease::LockKey;
use crate::store::Authorship;
use crate::store::plan::{Rules, Step, plan};
use crate::store::{load, revisions, statements};

/// The number of children that one statement inserts: small enough that the driver can cache a statement for every number.
const ROWS: usize = 32;

/// The input of a save.
#[derive(Debug)]
pub(crate) struct Save<'a> {
    pub mapping: &'static Mapping,
    pub key: &'a LockKey,
    /// The version that must be stored now.
    pub from: Version,
    /// The version after the save: the next one, or the same if this transaction has raised it already.
    pub to: Version,
    pub diff: &'a Diff<'a>,
    /// The rows that it is based on, and those after it.
    pub old: &'a Rows,
    pub rows: &'a Rows,
    pub rules: &'a Rules,
    pub author: &'a Authorship,
}

/// The result of a save or a delete.
#[derive(Debug)]
pub(crate) enum Saved {
    /// Done.
    Done,
    /// The stored version is not the expected one; nothing was written. Contains the stored state, read with a lock.
    Stale(Option<Stored>),
}

/// Checks that every database can store the values. The text of a refusal is the same on all of them.
pub(crate) fn check(mapping: &Mapping, rows: &Rows) -> Result<(), DatabaseError> {
    for (table, column, value) in rows.values(mapping) {
        let Err(problem) = value.check(column.kind) else { continue };
        if value.kind() != column.kind {
            return Err(MappingError::new(&table.name, &column.name, problem).into());
        }
        let (table, column) = (Some(table.name.clone()), Some(column.name.clone()));
        return Err(DatabaseError::DoesNotFit(Box::new(DoesNotFit { table, column, problem })));
    }
    Ok(())
}

/// Writes the difference if the stored version is still the one that it is based on.
pub(crate) async fn save(db: &mut Connection, save: &Save<'_>) -> Result<Saved, DatabaseError> {
    let (mapping, root) = (save.mapping, &save.rows.root);
    let id = &root[..mapping.root.key];
    if update_root(db, mapping, root, &save.diff.root, save.author, save.from, save.to).await? == 0 {
        // With a lock, or it might return the state before the commit that this save waited for.
        let now = load::load(db, mapping, id, RowLock::Share).await?;
        return stale(db, mapping, id, save.from, now).await;
    }
    write_children(db, mapping, root, plan(mapping, save.rules, save.old, save.diff)).await?;
    revisions::keep(db, mapping, save.key, save.to, save.rows, save.author).await?;
    Ok(Saved::Done)
}

/// Writes unversioned columns alone, whatever the version is now; no audit column and no revision. Returns whether the aggregate that was
/// loaded at this version is still there.
pub(crate) async fn save_unversioned(
    db: &mut Connection,
    mapping: &'static Mapping,
    key: &LockKey,
    loaded: Version,
    root: &Row,
    changed: &[usize],
) -> Result<bool, DatabaseError> {
    let id = &root[..mapping.root.key];
    lock_first(db, mapping, id).await?;
    if update_unversioned(db, mapping, root, changed, loaded).await? > 0 {
        return Ok(true);
    }
    let now = load::load(db, mapping, id, RowLock::Update).await?;
    let Saved::Stale(Some(now)) = stale(db, mapping, id, loaded, now).await? else { return Ok(false) };
    // Another aggregate may have been inserted under its id.
    if revisions::removed(db, key).await?.is_some_and(|removed| removed >= loaded.number()) {
        return Ok(false);
    }
    match update_unversioned(db, mapping, root, changed, now.version).await? {
        0 => Err(not_written(&mapping.root)),
        _ => Ok(true),
    }
}

async fn update_unversioned(
    db: &mut Connection,
    mapping: &'static Mapping,
    root: &Row,
    changed: &[usize],
    version: Version,
) -> Result<u64, DatabaseError> {
    let version = number(version);
    let values = changed.iter().map(|&index| &root[index]).chain(&root[..mapping.root.key]).chain([&version]);
    let update = statements::update_unversioned(db.sheet(), mapping, changed);
    write(db, &mapping.root, update, values.map(Bind::from).collect()).await
}

/// Deletes an aggregate if the version is still the one that was loaded. Another one that is inserted under its id gets a higher version.
pub(crate) async fn delete(
    db: &mut Connection,
    mapping: &'static Mapping,
    key: &LockKey,
    old: &Stored,
    rules: &Rules,
) -> Result<Saved, DatabaseError> {
    let id = &old.rows.root[..mapping.root.key];
    // The root is locked and its version checked before the children are deleted, so that a refusal has written nothing.
    let now = match load::load(db, mapping, id, RowLock::Update).await? {
        Some(now) if now.version == old.version => now,
        now => return stale(db, mapping, id, old.version, now).await,
    };
    if !rules.references.is_empty() {
        let gone = Diff::of_gone(mapping, &now.rows);
        write_children(db, mapping, &now.rows.root, plan(mapping, rules, &now.rows, &gone)).await?;
    }
    let values = || id.iter().map(Bind::from).collect();
    for children in mapping.children.iter().rev() {
        let delete = statements::delete_children(db.sheet(), mapping, children);
        db.write(Statement::new(delete, values())).await?;
    }
    // The row is locked, so it is there.
    if db.write(Statement::new(statements::delete_root(db.sheet(), mapping), values())).await? == 0 {
        return Err(not_written(&mapping.root));
    }
    revisions::end(db, key, old.version).await?;
    Ok(Saved::Done)
}

/// Writes the changed columns of a root, and its version, if it has the expected one. Returns the number of rows that it found.
pub(super) async fn update_root(
    db: &mut Connection,
    mapping: &'static Mapping,
    root: &Row,
    changed: &[usize],
    author: &Authorship,
    from: Version,
    to: Version,
) -> Result<u64, DatabaseError> {
    let id = &root[..mapping.root.key];
    lock_first(db, mapping, id).await?;
    let (audit, to, from) = (Audit::of(mapping, author), number(to), number(from));
    let mut values: Vec<_> = changed.iter().map(|&index| Bind::from(&root[index])).collect();
    values.extend(audit.values(db));
    values.extend([&to].into_iter().chain(id).chain([&from]).map(Bind::from));
    let update = statements::update_root(db.sheet(), mapping, changed);
    write(db, &mapping.root, update, values).await
}

/// Writes to a table; returns the number of rows that it found.
async fn write(db: &mut Connection, table: &Table, sql: Arc<Sql>, values: Vec<Bind<'_>>) -> Result<u64, DatabaseError> {
    db.write(Statement::new(sql, values)).await.map_err(|error| error.in_table(&table.name))
}

/// Locks a root before it is written, where only that can wait for less than a second.
pub(super) async fn lock_first(
    db: &mut Connection,
    mapping: &'static Mapping,
    id: &[Value],
) -> Result<(), DatabaseError> {
    if db.sheet().row_locks.as_ref().is_some_and(|locks| locks.lock_before_write) {
        load::version(db, mapping, id, RowLock::Update).await?;
    }
    Ok(())
}

/// Writes the rows of children in this order.
pub(super) async fn write_children(
    db: &mut Connection,
    mapping: &'static Mapping,
    root: &Row,
    steps: Vec<Step<'_>>,
) -> Result<(), DatabaseError> {
    let id = &root[..mapping.root.key];
    let mut steps = steps.into_iter().peekable();
    while let Some(step) = steps.next() {
        match step {
            Step::Delete { table, key } => {
                let table = &mapping.children[table];
                let values = mapping.stored(table, id, key).map(Bind::from).collect();
                let delete = statements::delete_child(db.sheet(), mapping, table);
                if write(db, table, delete, values).await? == 0 {
                    return Err(child_missed(db, mapping, table, id, key).await?);
                }
            }
            Step::Update { table, row, changed } => {
                let table = &mapping.children[table];
                let key = &row[..table.key];
                let values = changed.iter().map(|&index| &row[index]).chain(mapping.stored(table, id, key));
                let values = values.map(Bind::from).collect();
                let update = statements::update_child(db.sheet(), mapping, table, &changed);
                if write(db, table, update, values).await? == 0 {
                    return Err(child_missed(db, mapping, table, id, key).await?);
                }
            }
            Step::Insert { table: at, row } => {
                let (table, mut rows) = (&mapping.children[at], vec![row]);
                let same = |step: &Step<'_>| matches!(step, Step::Insert { table, .. } if *table == at);
                while rows.len() < ROWS
                    && let Some(Step::Insert { row, .. }) = steps.next_if(same)
                {
                    rows.push(row);
                }
                let values = rows.iter().flat_map(|row| mapping.stored(table, id, row)).map(Bind::from).collect();
                let insert = statements::insert_children(db.sheet(), mapping, table, rows.len());
                if write(db, table, insert, values).await? < rows.len() as u64 {
                    return Err(not_written(table));
                }
            }
        }
    }
    Ok(())
}

/// The answer to a save that found no root at the expected version, though nobody may have changed it. `now` was read with a lock.
async fn stale(
    db: &mut Connection,
    mapping: &'static Mapping,
    id: &[Value],
    expected: Version,
    now: Option<Stored>,
) -> Result<Saved, DatabaseError> {
    let hidden = now.is_none() && db.sheet().row_locks.as_ref().is_some_and(|locks| locks.may_be_hidden);
    let now = if hidden { load::load(db, mapping, id, RowLock::None).await? } else { now };
    match now {
        Some(now) if now.version == expected => Err(not_written(&mapping.root)),
        now => Ok(Saved::Stale(now)),
    }
}

/// Why a change of a loaded child found no row.
async fn child_missed(
    db: &mut Connection,
    mapping: &'static Mapping,
    children: &'static Table,
    id: &[Value],
    key: &[Value],
) -> Result<DatabaseError, DatabaseError> {
    let values = mapping.stored(children, id, key).map(Bind::from).collect();
    let select = Statement::new(statements::select_child(db.sheet(), mapping, children), values);
    Ok(match db.read(select, RowLock::None).await?.is_empty() {
        true => DatabaseError::ChildGone { table: children.name.clone() },
        false => not_written(children),
    })
}

/// The database left a row as it was.
pub(super) fn not_written(table: &Table) -> DatabaseError {
    DatabaseError::NotWritten { table: table.name.clone() }
}

/// The value of the version's column.
pub(super) fn number(version: Version) -> Value {
    Value::Integer(version.number())
}

/// The values of the audit columns that a mapping has, in their order; `None` is the time.
pub(super) struct Audit(Vec<Option<Value>>);

impl Audit {
    pub(super) fn of(mapping: &Mapping, author: &Authorship) -> Self {
        Audit(mapping.audit.iter().flat_map(|audit| author.audit(audit)).collect())
    }

    pub(super) fn values(&self, db: &Connection) -> impl Iterator<Item = Bind<'_>> {
        let now = db.now();
        self.0.iter().map(move |value| value.as_ref().map_or_else(|| now.clone(), Bind::from))
    }
}
