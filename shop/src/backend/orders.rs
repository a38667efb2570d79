//! Lists of orders. They read past the aggregates: nothing is decided by what a list shows.

use jiff::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use tenure::{Database, DatabaseError, ValueObject};
use tenure::mapping::Column;
use tenure::value::{RowReader, Value};

use super::failed;
use crate::domain::{MemberId, OrderNo, OrderState, Money};
use crate::use_cases::OrderRow;

/// How many orders there are, of one member and in one state, or of all.
pub async fn count_orders(
    db: &Database,
    orderer: Option<&MemberId>,
    state: Option<OrderState>,
) -> Result<u64, DatabaseError> {
    let count: i64 = sqlx::query_scalar(
        "select count(*) from orders where (?1 is null or orderer = ?1) and (?2 is null or state = ?2)",
    )
    .bind(orderer.map(MemberId::as_str))
    .bind(state.map(OrderState::code))
    .fetch_one(db.sqlite()?)
    .await
    .map_err(failed)?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// A page of them, the newest first.
pub async fn list_orders(
    db: &Database,
    orderer: Option<&MemberId>,
    state: Option<OrderState>,
    limit: u32,
    offset: u32,
) -> Result<Vec<OrderRow>, DatabaseError> {
    let rows = sqlx::query(
        "select no, orderer_name, state, total, placed_at from orders
         where (?1 is null or orderer = ?1) and (?2 is null or state = ?2)
         order by placed_at desc, no desc limit ?3 offset ?4",
    )
    .bind(orderer.map(MemberId::as_str))
    .bind(state.map(OrderState::code))
    .bind(limit)
    .bind(offset)
    .fetch_all(db.sqlite()?)
    .await
    .map_err(failed)?;
    rows.iter().map(order_row).collect()
}

/// Whether anybody can sign in: whether the shop was seeded.
pub async fn has_members(db: &Database) -> Result<bool, DatabaseError> {
    sqlx::query_scalar("select exists (select 1 from member)").fetch_one(db.sqlite()?).await.map_err(failed)
}

fn order_row(row: &SqliteRow) -> Result<OrderRow, DatabaseError> {
    let text = |column| row.try_get::<String, _>(column).map(Value::Text).map_err(failed);
    let number = |column| row.try_get::<i64, _>(column).map_err(failed);
    Ok(OrderRow {
        no: value("no", text("no")?)?,
        orderer_name: value("orderer_name", text("orderer_name")?)?,
        state: value("state", text("state")?)?,
        total: value::<Money>("total", Value::Integer(number("total")?))?,
        placed_at: value::<Timestamp>("placed_at", Value::Timestamp(number("placed_at")?))?,
        editing: None,
    })
}

/// Reads a column the way the aggregates do.
fn value<T: ValueObject>(name: &str, value: Value) -> Result<T, DatabaseError> {
    let columns = [Column::new(name, name, value.kind())];
    Ok(T::read(&mut RowReader::new("orders", &columns, &[value]))?)
}
