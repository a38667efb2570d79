//! The last versions of an aggregate, and their authors.

use sqlx::Row;

use super::errors::classify;
use super::session::{Session, Statement};
use super::{statements, values};
use crate::aggregate::mapping::{Mapping, Rows};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::Authorship;
use crate::storage::sql::revisions::{change, misfit};
use crate::version::conflict::Change;

const KEEP: &str = "
    insert into tenure_revision (kind, id, version, state, changed_at, by_id, by_name, command, shape)
    values (?, ?, ?, ?, coalesce(?, cast(unix_timestamp(sysdate(6)) * 1000 as signed)), ?, ?, ?, ?)
    on duplicate key update state = values(state), changed_at = values(changed_at), by_id = values(by_id),
        by_name = values(by_name), command = values(command), shape = values(shape)";

/// Stores this version, replacing an earlier save of it in the same transaction, and deletes versions beyond the limit.
pub(super) async fn keep(
    session: &mut Session,
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
    let insert = of(KEEP, key)
        .bind(version.number())
        .bind(state)
        .bind(now)
        .bind(author.by.as_ref().map(|by| by.id.as_str()))
        .bind(author.by.as_ref().map(|by| by.name.as_str()))
        .bind(author.command.as_deref())
        .bind(mapping.shape());
    session.write(insert).await.map_err(classify)?;
    let delete = of("delete from tenure_revision where kind = ? and id = ? and version <= ?", key)
        .bind(version.number() - i64::from(mapping.revisions));
    session.write(delete).await.map(drop).map_err(classify)
}

/// The state at a version, if it is still stored, and was written with the same columns.
pub(super) async fn state(
    session: &mut Session,
    mapping: &'static Mapping,
    key: &LockKey,
    at: Version,
) -> Result<Option<Rows>, DatabaseError> {
    let select = of("select state from tenure_revision where kind = ? and id = ? and version = ? and shape = ?", key)
        .bind(at.number())
        .bind(mapping.shape());
    let Some(row) = session.fetch_optional(select).await.map_err(classify)? else { return Ok(None) };
    let state: String = row.try_get(0).map_err(classify)?;
    serde_json::from_str(&state).map(Some).map_err(|error| misfit(&error))
}

const CHANGES: &str = "
    select version, changed_at, by_id, by_name, command from tenure_revision
     where kind = ? and id = ? order by version desc limit ?";

/// The stored changes, newest first. Without revisions, the audit columns contain the latest.
pub(super) async fn changes(
    session: &mut Session,
    mapping: &'static Mapping,
    key: &LockKey,
    id: &[Value],
    limit: u32,
) -> Result<Vec<Change>, DatabaseError> {
    if let (0, Some((audit, at))) = (mapping.revisions, mapping.dated_audit()) {
        let select = values::query(statements::select_audit(mapping, audit, at), id);
        let row = session.fetch_optional(select).await.map_err(classify)?;
        return row.iter().take(limit as usize).map(|row| change(row, classify)).collect();
    }
    let rows = session.fetch_all(of(CHANGES, key).bind(i64::from(limit))).await.map_err(classify)?;
    rows.iter().map(|row| change(row, classify)).collect()
}

/// Deletes the revisions of a deleted aggregate: another one may be created under its id.
pub(super) async fn forget(session: &mut Session, key: &LockKey) -> Result<(), DatabaseError> {
    let delete = of("delete from tenure_revision where kind = ? and id = ?", key);
    session.write(delete).await.map(drop).map_err(classify)
}

/// A statement whose first values are a key, as bytes.
fn of(sql: &'static str, key: &LockKey) -> Statement {
    Statement::new(sql).bind(key.kind().as_bytes()).bind(key.id().as_bytes())
}
