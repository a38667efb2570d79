//! SQLite's counter. It does not count rows of other connections, but shows whether any of them committed.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};

use crate::Outcome;

pub(in crate::locks) struct Witness {
    connection: SqliteConnection,
    version: Option<i64>,
    changes: i64,
}

impl Witness {
    pub(super) async fn open(url: &str) -> Outcome<Self> {
        let options: SqliteConnectOptions = url.parse()?;
        let connection = SqliteConnection::connect_with(&options.create_if_missing(true)).await?;
        Ok(Witness { connection, version: None, changes: 0 })
    }

    /// One more than at the last call, if anything was written since: a lower bound.
    pub(super) async fn rows_written(&mut self) -> Outcome<i64> {
        let version: i64 = sqlx::query_scalar("pragma data_version").fetch_one(&mut self.connection).await?;
        if self.version.replace(version) != Some(version) {
            self.changes += 1;
        }
        Ok(self.changes)
    }
}
