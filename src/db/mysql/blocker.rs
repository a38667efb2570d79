//! The session that blocks a transaction.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::Row;

use super::connection::Connections;
use super::deadline::Flavour;
use super::session::Statement;

/// The labels of this process's transactions, by connection id. The server has no place for them, so for other processes only the
/// connection is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Labels(Arc<Mutex<HashMap<i64, String>>>);

impl Labels {
    /// Sets the label of the transaction on a connection, until the returned value is dropped.
    pub(crate) fn put(&self, connection: i64, label: &str) -> Label {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(connection, label.to_owned());
        Label { connection, labels: self.clone() }
    }

    fn get(&self, connection: i64) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&connection).cloned()
    }
}

/// An entry, removed when this is dropped.
pub(crate) struct Label {
    connection: i64,
    labels: Labels,
}

impl Drop for Label {
    fn drop(&mut self) {
        self.labels.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.connection);
    }
}

/// The server's tables of waits are refreshed ten times a second: a shorter wait may not be in them.
pub(crate) const SHORTEST: Duration = Duration::from_millis(100);

const BLOCKER: &str = "
    select cast(who.id as signed), convert(who.user using utf8mb4), convert(who.host using utf8mb4),
           if(who.command = 'Sleep', 'idle', 'busy'), cast(who.time as signed)
      from information_schema.innodb_trx as asking
      join information_schema.innodb_lock_waits as waits on waits.requesting_trx_id = asking.trx_id
      join information_schema.innodb_trx as holding on holding.trx_id = waits.blocking_trx_id
      join information_schema.processlist as who on who.id = holding.trx_mysql_thread_id
     where asking.trx_mysql_thread_id = ? order by holding.trx_started limit 1";

/// The session that blocks a connection. It is for messages only, so errors are ignored: the user may lack the privilege PROCESS. On MySQL,
/// a transaction in a loop of attempts waits for nobody in between.
pub(crate) async fn blocker(connections: &Connections, connection: i64) -> Option<String> {
    if connections.flavour == Flavour::MySql {
        return None;
    }
    let mut session = connections.acquire_for_leases().await.ok()?;
    let row = session.fetch_optional(Statement::new(BLOCKER).bind(connection)).await.ok()??;
    let text = |at: usize| row.try_get::<String, _>(at).ok();
    let (id, seconds): (i64, i64) = (row.try_get(0).ok()?, row.try_get(4).ok()?);
    let what = connections.labels.get(id).unwrap_or_else(|| format!("connection {id}"));
    Some(format!("{what} ({}@{}, {} for {seconds} s)", text(1)?, text(2)?, text(3)?))
}
