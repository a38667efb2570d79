//! MariaDB's counters: for the whole server, if it is otherwise unused at that time.

use std::fs;

use sqlx::{Connection, MySqlConnection};

use crate::Outcome;
use crate::process::Server;

/// It has one process, and a file with its id.
pub(super) async fn server(url: &str) -> Outcome<Server> {
    let mut connection = MySqlConnection::connect(url).await?;
    let file: String = sqlx::query_scalar("select @@pid_file").fetch_one(&mut connection).await?;
    connection.close().await?;
    let number = fs::read_to_string(&file).map_err(|error| format!("cannot read {file}: {error}"))?;
    Ok(Server::of(number.trim().parse()?))
}

const WRITTEN: &str = "
    select cast(sum(variable_value) as signed) from information_schema.global_status
     where variable_name in ('HANDLER_WRITE', 'HANDLER_UPDATE', 'HANDLER_DELETE')";

pub(in crate::locks) struct Witness(MySqlConnection);

impl Witness {
    pub(super) async fn open(url: &str) -> Outcome<Self> {
        Ok(Witness(MySqlConnection::connect(url).await?))
    }

    /// Also rows that existed already.
    pub(super) async fn rows_written(&mut self) -> Outcome<i64> {
        Ok(sqlx::query_scalar(WRITTEN).fetch_one(&mut self.0).await?)
    }
}
