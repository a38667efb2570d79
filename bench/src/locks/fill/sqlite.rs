//! On SQLite.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use super::{AT_ONCE, TEMPLATE, copied, step};
use crate::Outcome;

const COLUMNS: &str = "select name from pragma_table_info('tenure_lock') order by cid";
const ID: &str = "printf('row-%09d', n)";

pub(super) async fn grow(url: &str, rows: u64) -> Outcome<()> {
    let options: SqliteConnectOptions = url.parse()?;
    // There is no other connection yet; a cache of a quarter of a gigabyte reduces disk writes.
    let options = options.pragma("cache_size", "-262144").pragma("synchronous", "off");
    let mut connection = SqliteConnection::connect_with(&options).await?;
    let columns: Vec<String> = sqlx::query_scalar(COLUMNS).fetch_all(&mut connection).await?;
    let hash = format!("unhex(printf('%08x%056x', n * {}, n))", step(rows));
    let (names, values) = (columns.join(", "), copied(&columns, [ID, &hash])?);
    for first in (0..rows).step_by(AT_ONCE as usize) {
        let last = rows.min(first + AT_ONCE) - 1;
        let copy = format!(
            "insert into tenure_lock ({names})
             with recursive number (n) as (select {first} union all select n + 1 from number where n < {last})
             select {values} from tenure_lock as template cross join number where {TEMPLATE}"
        );
        sqlx::raw_sql(AssertSqlSafe(copy)).execute(&mut connection).await?;
    }
    sqlx::raw_sql("pragma wal_checkpoint(truncate)").execute(&mut connection).await?;
    Ok(connection.close().await?)
}
