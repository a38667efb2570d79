//! Resolves the outcome of a commit whose answer was lost.
//!
//! A transaction with an operation id stores it in the same round trip as its COMMIT. If the answer is lost, the id is queried later: it
//! exists if and only if the transaction was committed. The query reserves the id, so a transaction that is still in flight cannot be
//! committed after it was reported as not committed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::DatabaseError;
use crate::storage::Backend;

/// Identifies one transaction permanently: 16 random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperationId(pub(crate) [u8; 16]);

impl OperationId {
    pub(crate) fn random() -> Result<Self, DatabaseError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| DatabaseError::NoRandomness)?;
        Ok(OperationId(bytes))
    }

    /// As hexadecimal digits.
    pub(crate) fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// How long queries to a database that does not answer are repeated: long enough for a restart of the server.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(200);

/// Repeats the query until there is an answer: whether the transaction was committed. `None` if there is none in time.
pub(crate) async fn resolve(backend: &Arc<dyn Backend>, operation: &OperationId) -> Option<bool> {
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
