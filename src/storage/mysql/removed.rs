//! The versions of aggregates that were deleted: one that is inserted under the same id goes on from there.

use sqlx::Row;

use super::deadline::RowLock;
use super::errors::classify;
use super::leases::clock;
use super::session::{Session, Statement};
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;

const NOTE: &str = concat!(
    "insert into tenure_removed (kind, id, version, removed_at) values (?, ?, ?, ",
    clock!("?"),
    ") on duplicate key update version = greatest(version, values(version)), removed_at = values(removed_at)"
);

/// Notes the version that an aggregate had when it was deleted.
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

/// The version that the last aggregate of this key had, if there was one. Asked after the insert, which waits for a
/// transaction that deletes: a statement of its own sees what was committed during that wait.
pub(super) async fn version(session: &mut Session, key: &LockKey) -> Result<Option<i64>, DatabaseError> {
    let read = Statement::new(READ).bind(key.kind().as_bytes()).bind(key.id().as_bytes());
    // It locks, or MySQL might show the state from before, see `load::afterwards`.
    let row = session.fetch_locked(read, RowLock::Share).await.map_err(classify)?;
    row.map(|row| row.try_get(0)).transpose().map_err(classify)
}
