//! tenure's verbs, written by hand: one statement each, no history, no answer to a repeated request, no batching. It shows tenure's
//! additional cost.

pub(super) mod mysql;
pub(super) mod postgres;
pub(super) mod sqlite;

use async_trait::async_trait;

use crate::Outcome;

/// The least work that acquires a lock: one prepared upsert without conditions.
#[async_trait]
pub(super) trait Upsert: Send + Sync {
    /// Writes the row of a key, independent of its holder.
    async fn upsert(&self, id: &str, owner: &str) -> Outcome<()>;
}
