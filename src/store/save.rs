//! Saving and deleting a loaded aggregate. The root is written first, always: its row is the lock of the aggregate.

use crate::aggregate::Stored;
use crate::aggregate::diff::Diff;
use crate::aggregate::mapping::{Mapping, Row, Rows, Table};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::db::{Bind, Connection, RowLock, Statement};
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::store::Authorship;
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
    pub rows: &'a Rows,
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

/// Writes the difference if the stored version is still the one that it is based on.
pub(crate) async fn save(db: &mut Connection, save: &Save<'_>) -> Result<Saved, DatabaseError> {
    let (mapping, root) = (save.mapping, &save.rows.root);
    let id = &root[..mapping.root.key];
    if update_root(db, mapping, root, &save.diff.root, save.author, save.from, save.to).await? == 0 {
        // With a lock, or it might return the state before the commit that this save waited for.
        return Ok(Saved::Stale(load::load(db, mapping, id, RowLock::Share).await?));
    }
    // Deletes first, so that a new child may reuse a unique value of a deleted one; inner children before the outer ones.
    for (children, child) in mapping.children.iter().zip(&save.diff.children).rev() {
        for key in &child.deleted {
            let values = mapping.stored(children, id, key).map(Bind::from).collect();
            let delete = statements::delete_child(db.sheet(), mapping, children);
            child_found(children, db.write(Statement::new(delete, values)).await?)?;
        }
    }
    for (children, child) in mapping.children.iter().zip(&save.diff.children) {
        for (row, changed) in &child.updated {
            let key = mapping.stored(children, id, &row[..children.key]);
            let values = changed.iter().map(|&index| &row[index]).chain(key).map(Bind::from).collect();
            let update = statements::update_child(db.sheet(), mapping, children, changed);
            child_found(children, db.write(Statement::new(update, values)).await?)?;
        }
        insert_children(db, mapping, children, root, &child.inserted).await?;
    }
    revisions::keep(db, mapping, save.key, save.to, save.rows, save.author).await?;
    Ok(Saved::Done)
}

/// Deletes an aggregate if the version is still the one that was loaded. Another one that is inserted under its id gets a higher version.
pub(crate) async fn delete(
    db: &mut Connection,
    mapping: &'static Mapping,
    key: &LockKey,
    old: &Stored,
) -> Result<Saved, DatabaseError> {
    let id = &old.rows.root[..mapping.root.key];
    // The root is locked and its version checked before the children are deleted, so that a refusal has written nothing.
    let now = load::load(db, mapping, id, RowLock::Update).await?;
    if now.as_ref().is_none_or(|now| now.version != old.version) {
        return Ok(Saved::Stale(now));
    }
    let values = || id.iter().map(Bind::from).collect();
    for children in mapping.children.iter().rev() {
        let delete = statements::delete_children(db.sheet(), mapping, children);
        db.write(Statement::new(delete, values())).await?;
    }
    db.write(Statement::new(statements::delete_root(db.sheet(), mapping), values())).await?;
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
    db.write(Statement::new(statements::update_root(db.sheet(), mapping, changed), values)).await
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

/// Inserts rows into a table of children.
pub(super) async fn insert_children(
    db: &mut Connection,
    mapping: &'static Mapping,
    children: &'static Table,
    root: &Row,
    inserted: &[&Row],
) -> Result<(), DatabaseError> {
    let id = &root[..mapping.root.key];
    for rows in inserted.chunks(ROWS) {
        let values = rows.iter().flat_map(|row| mapping.stored(children, id, row)).map(Bind::from).collect();
        let insert = statements::insert_children(db.sheet(), mapping, children, rows.len());
        db.write(Statement::new(insert, values)).await?;
    }
    Ok(())
}

/// Checks that the change of a loaded child found its row.
fn child_found(table: &Table, rows: u64) -> Result<(), DatabaseError> {
    match rows {
        0 => Err(DatabaseError::ChildGone { table: table.name.clone() }),
        _ => Ok(()),
    }
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
