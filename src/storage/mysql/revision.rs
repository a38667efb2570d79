//! Reading the last versions of an aggregate, and their authors.

use sqlx::Row;

use super::errors::classify;
use super::session::{Session, Statement};
use super::{statements, values};
use crate::aggregate::mapping::{Mapping, Rows};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::sql::revisions::{change, misfit};
use crate::version::conflict::Change;

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

/// A statement whose first values are a key, as bytes.
fn of(sql: &'static str, key: &LockKey) -> Statement {
    Statement::new(sql).bind(key.kind().as_bytes()).bind(key.id().as_bytes())
}
