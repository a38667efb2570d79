//! All aggregates that match a condition.

use sqlx::{Row as _, SqliteConnection};

use super::aggregate_rows::AggregateTables;
use super::errors::classify;
use super::statements;
use super::values::{query, read};
use crate::aggregate::condition::Test;
use crate::aggregate::mapping::{Mapping, Row};
use crate::aggregate::value::Kind;
use crate::error::DatabaseError;
use crate::storage::BulkChange;
use crate::storage::aggregates::{AggregateRows, audit};

/// The ids of the matching aggregates, which the transaction's lock on the file protects.
pub(super) async fn lock_matching(
    connection: &mut SqliteConnection,
    mapping: &'static Mapping,
    when: &Test,
) -> Result<Vec<Row>, DatabaseError> {
    comparable(when)?;
    let (select, values) = statements::select_matching(mapping, when);
    let rows = query(select, &values).fetch_all(connection).await.map_err(classify)?;
    let id = mapping.root.key_alone();
    rows.iter().map(|row| read(&id, row, 0)).collect()
}

/// The number of matching roots.
pub(super) async fn count(
    connection: &mut SqliteConnection,
    mapping: &'static Mapping,
    when: &Test,
) -> Result<u64, DatabaseError> {
    comparable(when)?;
    let (select, values) = statements::count_matching(mapping, when);
    let row = query(select, &values).fetch_one(connection).await.map_err(classify)?;
    row.try_get::<i64, _>(0).map(i64::unsigned_abs).map_err(classify)
}

/// Refuses comparisons that SQLite would make in another order: as text, 9 is more than 10 and 1.0 is not 1.00; as floating-point numbers
/// decimals would be rounded.
fn comparable(when: &Test) -> Result<(), DatabaseError> {
    if when.compares(Kind::Decimal) {
        return Err(DatabaseError::Unsupported(
            "a condition on a decimal: SQLite has no decimals that it could compare",
        ));
    }
    Ok(())
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
