//! Rows that a transaction requires to stay as they are, where several nodes of a cluster accept writes.
//!
//! The nodes compare the rows that transactions *write*: of two transactions on different nodes that write one row, one fails at its
//! commit. Rows that a transaction only reads, also with a lock, are not compared. So a row that must not change on another node before the
//! commit is written, with a change that means nothing. (A statement that leaves a row as it is writes nothing.) On other servers the row
//! lock is enough, and nothing is written.
//!
//! Such a transaction also sends **one statement per message**. A cluster aborts a transaction that conflicts with a write of another node at
//! any moment. If that is between two statements of one message, the server reports no error: it runs the rest of the message in a new
//! transaction (measured on MariaDB 10.11: of 6,709 acknowledged commits 91 were missing, and none of 5,774 when the COMMIT was sent alone).

use super::errors::classify;
use super::session::{Session, Statement};
use super::statements;
use super::values::query;
use crate::aggregate::mapping::Mapping;
use crate::aggregate::value::Value;
use crate::error::DatabaseError;
use crate::lease::LockKey;

/// `verdict` is of use only within the statement that computes it, so it can have any value before. This changes every value.
const LOCK: &str = "update tenure_lock set verdict = (verdict <> 1) where kind = ? and id = ? and slot = ?";

/// Keeps a row of the lock table, which this transaction has locked, unchanged to its end.
pub(super) async fn lock(session: &mut Session, key: &LockKey, slot: &[u8]) -> Result<(), DatabaseError> {
    if session.has_several_writers() {
        let write = Statement::new(LOCK).bind(key.kind().as_bytes()).bind(key.id().as_bytes()).bind(slot);
        session.write(write).await.map_err(classify)?;
    }
    Ok(())
}

/// Keeps the root of an aggregate, which this transaction has locked, unchanged to its end. The second change undoes the first.
pub(super) async fn root(session: &mut Session, mapping: &'static Mapping, id: &[Value]) -> Result<(), DatabaseError> {
    if session.has_several_writers() {
        for _ in ["changed", "restored"] {
            session.write(query(statements::toggle_root(mapping), id)).await.map_err(classify)?;
        }
    }
    Ok(())
}
