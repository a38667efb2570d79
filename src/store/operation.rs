//! Operation ids: the outcome of a commit whose answer was lost.
//!
//! A transaction with an operation id stores it in the same round trip as its COMMIT. If the answer is lost, the id is queried later: it
//! exists if and only if the transaction was committed. The query reserves the id, so a transaction that is still in flight cannot be
//! committed after it was reported as not committed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::aggregate::value::hex;
use crate::clock::millis;
use crate::db::{Backend, Bind, Connection, RowLock, Text};
use crate::error::DatabaseError;

/// Identifies one transaction permanently: 16 random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperationId(pub(crate) [u8; 16]);

impl OperationId {
    pub(crate) fn random() -> Result<Self, DatabaseError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| DatabaseError::NoRandomness)?;
        Ok(OperationId(bytes))
    }

    /// The statement that a COMMIT carries.
    pub(crate) fn carried(&self, db: &Connection) -> String {
        let (sheet, now) = (db.sheet(), db.given());
        let now = (sheet.now)(&now.map_or("null".to_owned(), |now| now.to_string()));
        let id = (sheet.bytes)(&hex(&self.0));
        format!("insert into tenure_operation (id, committed, at) values ({id}, true, {now}); ")
    }
}

/// The locks of a commit may be released before it is flushed. So the row is changed in any case, and the commit of this change flushes that
/// one too.
static RESERVE: Text = Text::new(
    "insert into tenure_operation (id, committed, at) values ($1, false, {now $2})
     {on_conflict id} at = tenure_operation.at + 1",
);

static COMMITTED: Text = Text::new("select committed from tenure_operation where id = $1");

/// Reserves the id, unless it exists; waits for a transaction that is inserting it. Returns whether the transaction was committed.
pub(crate) async fn settle(db: &mut Connection, operation: &OperationId) -> Result<bool, DatabaseError> {
    let id = || Bind::Bytes(&operation.0);
    db.write(RESERVE.with([id(), db.now()])).await?;
    let rows = db.read(COMMITTED.with([id()]), RowLock::None).await?;
    let committed = rows.first().map(|row| row.get(|row| row.flag("committed")));
    Ok(committed.transpose()?.flatten() == Some(true))
}

static FORGET: Text = Text::new("delete from tenure_operation where at < {now $1} - $2");

/// Deletes ids that are older than this; returns their number.
pub(crate) async fn forget(db: &mut Connection, older_than: Duration) -> Result<u64, DatabaseError> {
    db.write(FORGET.with([db.now(), millis(older_than).into()])).await
}

/// How long queries to a database that does not answer are repeated: long enough for a restart of the server.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(200);

/// Repeats the query until there is an answer: whether the transaction was committed. `None` if there is none in time.
pub(crate) async fn resolve(backend: &Arc<Backend>, operation: &OperationId) -> Option<bool> {
    let asked = Instant::now();
    loop {
        match backend.settle(operation).await {
            Ok(committed) => return Some(committed),
            Err(error) if asked.elapsed() < PATIENCE => {
                tracing::debug!(%error, "nobody can say yet what became of a commit");
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => {
                tracing::warn!(%error, "nobody can say what became of a commit");
                return None;
            }
        }
    }
}
