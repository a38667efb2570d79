//! What tenure's verbs come down to, written by hand: one statement each, no history, no answer to a repeated request, nothing
//! batched. What tenure costs beside that is seen against this.

pub(super) mod mysql;
pub(super) mod postgres;
pub(super) mod sqlite;

use async_trait::async_trait;

use crate::Outcome;

/// The least that can take a lock: one prepared upsert that asks nothing.
#[async_trait]
pub(super) trait Upsert: Send + Sync {
    /// Writes the row of a key, whoever holds it.
    async fn upsert(&self, id: &str, owner: &str) -> Outcome<()>;
}
