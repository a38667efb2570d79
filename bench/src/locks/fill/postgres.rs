//! On PostgreSQL.

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{AT_ONCE, TEMPLATE, copied, step};
use crate::Outcome;

const COLUMNS: &str = "
    select column_name::text from information_schema.columns
     where table_schema = current_schema and table_name = 'tenure_lock' and is_generated = 'NEVER'
     order by ordinal_position";
const ID: &str = "'row-' || lpad(n::text, 9, '0')";

pub(super) async fn grow(url: &str, rows: u64) -> Outcome<()> {
    let mut connection = PgConnection::connect(url).await?;
    let columns: Vec<String> = sqlx::query_scalar(COLUMNS).fetch_all(&mut connection).await?;
    let hash = format!("decode(lpad(to_hex(n * {}), 8, '0') || lpad(to_hex(n), 56, '0'), 'hex')", step(rows));
    let (names, values) = (columns.join(", "), copied(&columns, [ID, &hash])?);
    for first in (0..rows).step_by(AT_ONCE as usize) {
        let last = rows.min(first + AT_ONCE) - 1;
        let copy = format!(
            "insert into tenure_lock ({names}) select {values}
               from tenure_lock as template cross join generate_series({first}::bigint, {last}::bigint) as n
              where {TEMPLATE}"
        );
        sqlx::raw_sql(AssertSqlSafe(copy)).execute(&mut connection).await?;
    }
    sqlx::raw_sql("vacuum analyze tenure_lock").execute(&mut connection).await?;
    sqlx::raw_sql("checkpoint").execute(&mut connection).await?;
    Ok(connection.close().await?)
}
