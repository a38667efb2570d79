//! On MariaDB.

use sqlx::{AssertSqlSafe, Connection, MySqlConnection};

use super::{AT_ONCE, TEMPLATE, copied, step};
use crate::Outcome;

const COLUMNS: &str = "
    select column_name from information_schema.columns
     where table_schema = database() and table_name = 'tenure_lock' and is_generated = 'NEVER'
     order by ordinal_position";
/// The settings of a server with millions of rows. A throw-away one has so small a log that it mostly frees space in it.
const ROOM: &str = "set global innodb_log_file_size = 1073741824; set global innodb_buffer_pool_size = 1073741824";
const ID: &str = "concat('row-', lpad(seq, 9, '0'))";

pub(super) async fn grow(url: &str, rows: u64) -> Outcome<()> {
    let mut connection = MySqlConnection::connect(url).await?;
    sqlx::raw_sql(ROOM).execute(&mut connection).await?;
    let columns: Vec<String> = sqlx::query_scalar(COLUMNS).fetch_all(&mut connection).await?;
    let hash = format!("unhex(concat(lpad(hex(seq * {}), 8, '0'), lpad(hex(seq), 56, '0')))", step(rows));
    let (names, values) = (columns.join(", "), copied(&columns, [ID, &hash])?);
    for first in (0..rows).step_by(AT_ONCE as usize) {
        let last = rows.min(first + AT_ONCE) - 1;
        let copy = format!(
            "insert into tenure_lock ({names}) select {values}
               from tenure_lock as template cross join seq_{first}_to_{last} where {TEMPLATE}"
        );
        sqlx::raw_sql(AssertSqlSafe(copy)).execute(&mut connection).await?;
    }
    Ok(connection.close().await?)
}
