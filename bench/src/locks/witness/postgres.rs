//! PostgreSQL's counters.

use std::time::Duration;

use sqlx::{Connection, PgConnection};

use crate::Outcome;
use crate::process::Server;

/// The parent of any backend process is the server's first process.
pub(super) async fn server(url: &str) -> Outcome<Server> {
    let mut connection = PgConnection::connect(url).await?;
    let process: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut connection).await?;
    // Before the connection is closed: that process ends with it.
    let server = Server::of_child(u32::try_from(process)?)?;
    connection.close().await?;
    Ok(server)
}

/// All other sessions in this database.
const OTHERS: &str = "
    select count(*) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'";

const WRITTEN: &str = "
    select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint from pg_stat_user_tables
     where relname like 'tenure\\_%'";

pub(in crate::locks) struct Witness(PgConnection);

impl Witness {
    pub(super) async fn open(url: &str) -> Outcome<Self> {
        Ok(Witness(PgConnection::connect(url).await?))
    }

    /// A process reports its counts at the latest when it ends, so this waits for the ends.
    pub(super) async fn rows_written(&mut self) -> Outcome<i64> {
        while sqlx::query_scalar::<_, i64>(OTHERS).fetch_one(&mut self.0).await? > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(sqlx::query_scalar(WRITTEN).fetch_one(&mut self.0).await?)
    }
}
