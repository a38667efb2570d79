//! On MariaDB.

use sqlx::{AssertSqlSafe, Connection, MySqlConnection};

use super::{AT_ONCE, TEMPLATE, copied, step};
use crate::Outcome;

const COLUMNS: &str = "
    select column_name from information_schema.columns
     where table_schema = database() and table_name = 'tenure_lock' and is_generated = 'NEVER'
     order by ordinal_position";
const ID: &str = "concat('row-', seq)";

pub(super) async fn grow(url: &str, rows: u64) -> Outcome<()> {
    let mut connection = MySqlConnection::connect(url).await?;
    let columns: Vec<String> = sqlx::query_scalar(COLUMNS).fetch_all(&mut connection).await?;
    let hash = format!("unhex(concat(lpad(hex(seq * {}), 8, '0'), lpad(hex(seq), 56, '0')))", step(rows));
    let (names, values) = (columns.join(", "), copied(&columns, [ID, &hash])?);
    for first in (0..rows).step_by(AT_ONCE as usize) {
        let last = rows.min(first + AT_ONCE) - 1;
        let copy = format!(
            "insert into tenure_lock ({names}) select {values}
               from tenure_lock as template cross join seq_{first}_to_{last} where template.id = '{TEMPLATE}'"
        );
        sqlx::raw_sql(AssertSqlSafe(copy)).execute(&mut connection).await?;
    }
    Ok(connection.close().await?)
}
