//! The versions of deleted aggregates: one that is inserted under the same id continues from there.

use sqlx::Row;

use super::columns::clock;
use super::deadline::RowLock;
use super::errors::classify;
use super::session::{Session, Statement};
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;

const NOTE: &str = concat!(
    "insert into tenure_removed (kind, id, version, removed_at) values (?, ?, ?, ",
    clock!("?"),
    ") on duplicate key update version = greatest(version, values(version)), removed_at = values(removed_at)"
);

/// Records the version of a deleted aggregate.
pub(super) async fn note(
    session: &mut Session,
    key: &LockKey,
    version: Version,
    now: Option<i64>,
) -> Result<(), DatabaseError> {
    let note = Statement::new(NOTE).bind(key.kind().as_bytes()).bind(key.id().as_bytes());
    session.write(note.bind(version.number()).bind(now)).await.map(drop).map_err(classify)
}

const READ: &str = "select version from tenure_removed where kind = ? and id = ?";

/// The last version of a deleted aggregate with this key, if there was one. Queried after the insert, which waits for a deleting
/// transaction: a separate statement sees the rows committed during that wait.
pub(super) async fn version(session: &mut Session, key: &LockKey) -> Result<Option<i64>, DatabaseError> {
    let read = Statement::new(READ).bind(key.kind().as_bytes()).bind(key.id().as_bytes());
    // It locks, because MySQL might otherwise return an older state, see `load::afterwards`.
    let row = session.fetch_locked(read, RowLock::Share).await.map_err(classify)?;
    row.map(|row| row.try_get(0)).transpose().map_err(classify)
}
