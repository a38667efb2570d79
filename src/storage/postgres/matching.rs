//! All aggregates that match a condition.

use sqlx::{PgConnection, Row as _};

use super::aggregate_rows::AggregateTables;
use super::errors::classify;
use super::statements;
use super::values::{query, read};
use crate::aggregate::condition::Test;
use crate::aggregate::mapping::{Mapping, Row};
use crate::error::DatabaseError;
use crate::storage::BulkChange;
use crate::storage::aggregates::{AggregateRows, audit};

/// The ids of the matching aggregates, locked.
pub(super) async fn lock_matching(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    when: &Test,
) -> Result<Vec<Row>, DatabaseError> {
    let (select, values) = statements::lock_matching(mapping, when);
    let rows = query(select, &values).fetch_all(connection).await.map_err(classify)?;
    let id = mapping.root.key_alone();
    rows.iter().map(|row| read(&id, row, 0)).collect()
}

/// The number of matching roots.
pub(super) async fn count(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    when: &Test,
) -> Result<u64, DatabaseError> {
    let (select, values) = statements::count_matching(mapping, when);
    let row = query(select, &values).fetch_one(connection).await.map_err(classify)?;
    row.try_get::<i64, _>(0).map(i64::unsigned_abs).map_err(classify)
}

/// Changes all matching aggregates and raises their versions.
pub(super) async fn update_matching(
    tables: AggregateTables<'_>,
    change: &BulkChange<'_>,
) -> Result<u64, DatabaseError> {
    let (update, values) =
        statements::update_matching(change, &audit(change.mapping, change.author, &tables.audited_at()));
    let done = query(update, &values).execute(tables.connection).await.map_err(classify)?;
    Ok(done.rows_affected())
}
