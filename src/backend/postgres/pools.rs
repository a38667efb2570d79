//! Where connections come from.

use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};

use super::errors::classify;
use crate::backend::kept::Kept;
use crate::backend::reserve;
use crate::error::DatabaseError;

/// The pool, and what is kept for the lock manager. Clones are the same.
#[derive(Debug, Clone)]
pub(super) struct Pools {
    /// For transactions and loads, and the application's own queries.
    pub main: PgPool,
    /// Connections of that pool which had a transaction a moment ago.
    pub kept: Kept<Postgres>,
    /// For batches of questions to the lock table: they wait for nobody, nobody who waits keeps them from a connection, and
    /// their connections are set up for them.
    pub batches: PgPool,
    /// For questions that are asked alone when the others are busy: they may wait for a save under a lease.
    pub alone: PgPool,
}

impl Pools {
    pub(super) async fn for_one(&self) -> Result<PoolConnection<Postgres>, DatabaseError> {
        reserve::acquire(&self.main, &self.alone).await.map_err(classify)
    }

    pub(super) async fn close(&self) {
        self.kept.close();
        tokio::join!(self.main.close(), self.batches.close(), self.alone.close());
    }
}
