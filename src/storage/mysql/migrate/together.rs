//! The lock for migrations of a cluster whose nodes all accept writes: a row that expires. The server's own locks by name hold on one node only.
//!
//! It has a table of its own, which is made first. A change of a table aborts every transaction on that table, on all nodes; a process that
//! waits for this lock must not abort the one that has it, so it only reads and writes the row.

use std::time::{Duration, Instant};

use sqlx::{Executor, MySqlConnection};

use super::super::errors::{classify, number};
use crate::error::DatabaseError;

/// How long a process waits, as for the lock on a single server; and how long others wait for one that was killed.
const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(100);

/// Whatever the server's default is: otherwise the tables would change on this node only.
const ON_ALL_NODES: &str = "set session wsrep_osu_method = 'TOI'";

const TABLE: &str = "create table if not exists _tenure_migrating
    (id integer not null primary key, holder bigint not null, expires_at bigint not null) engine = InnoDB";

/// The assignments are evaluated from left to right: the second one applies to the new holder.
const TAKE: &str = "
    insert into _tenure_migrating (id, holder, expires_at) values (1, ?, unix_timestamp(sysdate(6)) * 1000 + ?)
        on duplicate key update
           holder = if(expires_at <= unix_timestamp(sysdate(6)) * 1000, values(holder), holder),
           expires_at = if(holder = values(holder), values(expires_at), expires_at)";

/// The process that migrates.
pub(super) struct Turn(i64);

impl Turn {
    /// Waits until no other process migrates.
    pub(super) async fn wait(connection: &mut MySqlConnection) -> Result<Self, DatabaseError> {
        let begun = Instant::now();
        let holder = i64::from(getrandom::u32().map_err(|_| DatabaseError::NoRandomness)?);
        connection.execute(ON_ALL_NODES).await.map_err(classify)?;
        connection.execute(TABLE).await.map_err(classify)?;
        while !unless_aborted(Self::take(connection, holder).await)?.unwrap_or(false) {
            if begun.elapsed() >= PATIENCE {
                return Err(super::busy());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(Turn(holder))
    }

    /// Whether it has the lock now.
    async fn take(connection: &mut MySqlConnection, holder: i64) -> Result<bool, sqlx::Error> {
        let lifetime = i64::try_from(PATIENCE.as_millis()).unwrap_or(i64::MAX);
        sqlx::query(TAKE).bind(holder).bind(lifetime).execute(&mut *connection).await?;
        let read = sqlx::query_scalar("select holder from _tenure_migrating where id = 1");
        Ok(read.fetch_optional(connection).await? == Some(holder))
    }

    /// Lets the next process begin.
    pub(super) async fn end(self, connection: &mut MySqlConnection) -> Result<(), DatabaseError> {
        loop {
            let end = sqlx::query("delete from _tenure_migrating where id = 1 and holder = ?").bind(self.0);
            if unless_aborted(end.execute(&mut *connection).await)?.is_some() {
                return Ok(());
            }
        }
    }
}

/// `None`: a process on another node wrote the row, or made the table, at this moment.
fn unless_aborted<T>(outcome: Result<T, sqlx::Error>) -> Result<Option<T>, DatabaseError> {
    match outcome {
        Err(error) if number(&error) == Some(1213) => Ok(None),
        outcome => outcome.map(Some).map_err(classify),
    }
}
