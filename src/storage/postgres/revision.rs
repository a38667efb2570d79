//! The last versions of an aggregate, and their authors.

use sqlx::PgConnection;

use super::errors::classify;
use super::{statements, values};
use crate::aggregate::mapping::{Mapping, Rows};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::Authorship;
use crate::storage::sql::revisions::{change, misfit};
use crate::version::conflict::Change;

/// Stores this version, replacing an earlier save of it in the same transaction, and deletes versions beyond the limit.
pub(super) async fn keep(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    key: &LockKey,
    version: Version,
    rows: &Rows,
    author: &Authorship,
    now: Option<i64>,
) -> Result<(), DatabaseError> {
    if mapping.revisions == 0 {
        return Ok(());
    }
    let state = serde_json::to_string(rows).map_err(|error| misfit(&error))?;
    sqlx::query(
        "insert into tenure_revision (kind, id, version, state, changed_at, by_id, by_name, command, shape)
         values ($2, $3, $4, $5, tenure_now($1), $6, $7, $8, $9)
         on conflict (kind, id, version) do update set state = excluded.state, changed_at = excluded.changed_at,
            by_id = excluded.by_id, by_name = excluded.by_name, command = excluded.command, shape = excluded.shape",
    )
    .bind(now)
    .bind(key.kind())
    .bind(key.id())
    .bind(version.number())
    .bind(state)
    .bind(author.by.as_ref().map(|by| by.id.as_str()))
    .bind(author.by.as_ref().map(|by| by.name.as_str()))
    .bind(author.command.as_deref())
    .bind(mapping.shape())
    .execute(&mut *connection)
    .await
    .map_err(classify)?;
    sqlx::query("delete from tenure_revision where kind = $1 and id = $2 and version <= $3")
        .bind(key.kind())
        .bind(key.id())
        .bind(version.number() - i64::from(mapping.revisions))
        .execute(connection)
        .await
        .map(drop)
        .map_err(classify)
}

/// The state at a version, if it is still stored, and was written with the same columns.
pub(super) async fn state(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    key: &LockKey,
    at: Version,
) -> Result<Option<Rows>, DatabaseError> {
    let select = "select state from tenure_revision where kind = $1 and id = $2 and version = $3 and shape = $4";
    let state = sqlx::query_scalar::<_, String>(select)
        .bind(key.kind())
        .bind(key.id())
        .bind(at.number())
        .bind(mapping.shape())
        .fetch_optional(connection)
        .await
        .map_err(classify)?;
    state.map(|state| serde_json::from_str(&state)).transpose().map_err(|error| misfit(&error))
}

/// The stored changes, newest first. Without revisions, the audit columns contain the latest.
pub(super) async fn changes(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    key: &LockKey,
    id: &[Value],
    limit: u32,
) -> Result<Vec<Change>, DatabaseError> {
    if let (0, Some((audit, at))) = (mapping.revisions, mapping.dated_audit()) {
        let select = values::query(statements::select_audit(mapping, audit, at), id);
        let row = select.fetch_optional(connection).await.map_err(classify)?;
        return row.iter().take(limit as usize).map(|row| change(row, classify)).collect();
    }
    let rows = sqlx::query(
        "select version, changed_at, by_id, by_name, command from tenure_revision
         where kind = $1 and id = $2 order by version desc limit $3",
    )
    .bind(key.kind())
    .bind(key.id())
    .bind(i64::from(limit))
    .fetch_all(connection)
    .await
    .map_err(classify)?;
    rows.iter().map(|row| change(row, classify)).collect()
}

/// Deletes the revisions of a deleted aggregate: another one may be created under its id.
pub(super) async fn forget(connection: &mut PgConnection, key: &LockKey) -> Result<(), DatabaseError> {
    sqlx::query("delete from tenure_revision where kind = $1 and id = $2")
        .bind(key.kind())
        .bind(key.id())
        .execute(connection)
        .await
        .map(drop)
        .map_err(classify)
}
