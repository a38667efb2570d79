//! The versions of deleted aggregates: one that is inserted under the same id continues from there.

use sqlx::{Row, SqliteConnection};

use super::errors::classify;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;

const NOTE: &str = "
    insert into tenure_removed (kind, id, version, removed_at) values (?2, ?3, ?4, ?1)
        on conflict (kind, id) do update
           set version = max(version, excluded.version), removed_at = excluded.removed_at";

/// Records the version of a deleted aggregate.
pub(super) async fn note(
    connection: &mut SqliteConnection,
    key: &LockKey,
    version: Version,
    now: i64,
) -> Result<(), DatabaseError> {
    let note = sqlx::query(NOTE).bind(now).bind(key.kind()).bind(key.id()).bind(version.number());
    note.execute(connection).await.map(drop).map_err(classify)
}

const READ: &str = "select version from tenure_removed where kind = ? and id = ?";

/// The last version of a deleted aggregate with this key, if there was one.
pub(super) async fn version(connection: &mut SqliteConnection, key: &LockKey) -> Result<Option<i64>, DatabaseError> {
    let read = sqlx::query(READ).bind(key.kind()).bind(key.id());
    let row = read.fetch_optional(connection).await.map_err(classify)?;
    row.map(|row| row.try_get(0)).transpose().map_err(classify)
}
