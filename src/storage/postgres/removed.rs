//! The versions of deleted aggregates: one that is inserted under the same id continues from there.

use sqlx::PgConnection;

use super::errors::classify;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;

const NOTE: &str = "
    insert into tenure_removed as r (kind, id, version, removed_at) values ($2, $3, $4, tenure_now($1))
        on conflict (kind, id) do update
           set version = greatest(r.version, excluded.version), removed_at = excluded.removed_at";

/// Records the version of a deleted aggregate.
pub(super) async fn note(
    connection: &mut PgConnection,
    key: &LockKey,
    version: Version,
    now: Option<i64>,
) -> Result<(), DatabaseError> {
    let note = sqlx::query(NOTE).bind(now).bind(key.kind()).bind(key.id()).bind(version.number());
    note.execute(connection).await.map(drop).map_err(classify)
}

/// The last committed version of a deleted aggregate with this key, if there was one.
pub(super) async fn version(connection: &mut PgConnection, key: &LockKey) -> Result<Option<i64>, DatabaseError> {
    let read = sqlx::query_scalar("select tenure_removed_version($1, $2)").bind(key.kind()).bind(key.id());
    read.fetch_one(connection).await.map_err(classify)
}
