//! All aggregates that match a condition.

use sqlx::Row as _;

use super::aggregate_rows::AggregateTables;
use super::deadline::RowLock;
use super::errors::classify;
use super::session::Session;
use super::statements;
use super::values::{query, read};
use crate::aggregate::condition::Test;
use crate::aggregate::mapping::{Mapping, Row};
use crate::error::DatabaseError;
use crate::storage::BulkChange;
use crate::storage::aggregates::{AggregateRows, audit};

/// The ids of the matching aggregates, locked.
pub(super) async fn lock_matching(
    session: &mut Session,
    mapping: &'static Mapping,
    when: &Test,
) -> Result<Vec<Row>, DatabaseError> {
    let (select, values) = statements::select_matching(mapping, when);
    let rows = session.fetch_all_locked(query(select, &values), RowLock::Update).await.map_err(classify)?;
    let id = mapping.root.key_alone();
    rows.iter().map(|row| read(&id, row, 0)).collect()
}

/// The number of matching roots.
pub(super) async fn count(session: &mut Session, mapping: &'static Mapping, when: &Test) -> Result<u64, DatabaseError> {
    let (select, values) = statements::count_matching(mapping, when);
    let rows = session.fetch_all(query(select, &values)).await.map_err(classify)?;
    let count = rows.first().map_or(Ok(0), |row| row.try_get::<i64, _>(0)).map_err(classify)?;
    Ok(count.unsigned_abs())
}

/// Changes all matching aggregates and raises their versions.
pub(super) async fn update_matching(
    tables: AggregateTables<'_>,
    change: &BulkChange<'_>,
) -> Result<u64, DatabaseError> {
    let (update, values) =
        statements::update_matching(change, &audit(change.mapping, change.author, &tables.audited_at()));
    tables.session.write(query(update, &values)).await.map_err(classify)
}
