//! The connection pools.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};

use super::checkout::Checkout;
use super::connect::SetUp;
use super::errors::classify;
use crate::db::patience;
use crate::db::server::checkout::{self, Silence};
use crate::db::server::recent::{Kept, RecentConnections};
use crate::db::server::reserve;
use crate::error::DatabaseError;

/// The pool of the application, and those of the lock manager.
#[derive(Debug)]
pub(crate) struct Pools {
    /// For transactions and loads, and the application's own queries.
    pub main: PgPool,
    /// Connections of that pool which had a transaction a moment ago.
    pub recent: RecentConnections<Postgres>,
    /// For batches of the lock table: they never wait for a lock, waiting sessions cannot exhaust them, and they have their own settings.
    pub batches: PgPool,
    /// For single requests when the others are busy: they may wait for a save under a lease.
    pub alone: PgPool,
    /// The settings of the main pool's connections.
    pub set_up: SetUp,
    /// The last silence of any of these connections.
    pub silence: Silence,
}

impl Pools {
    /// A connection of one of the pools.
    pub(crate) async fn checkout(&self, pool: &PgPool, left: Duration) -> Result<Checkout, DatabaseError> {
        self.acquired(checkout::acquire(pool, left)).await
    }

    async fn acquired(
        &self,
        acquire: impl Future<Output = Result<PoolConnection<Postgres>, sqlx::Error>>,
    ) -> Result<Checkout, DatabaseError> {
        // Boxed: it contains the opening of a connection, and would make every operation as large.
        let connection = self.set_up.refusals.or(classify, Box::pin(acquire)).await?;
        Ok(Checkout::of(connection, &self.silence))
    }

    /// A connection of the main pool; if it was kept, with the id of its backend process.
    pub(crate) async fn of_main(&self, left: Duration) -> Result<(Checkout, Option<Kept>), DatabaseError> {
        match self.recent.take(&self.silence) {
            Some((connection, kept)) => Ok((Checkout::of(connection, &self.silence), Some(kept))),
            None => Ok((self.checkout(&self.main, left).await?, None)),
        }
    }

    /// A connection for the lock manager, also when the application uses all of its own.
    pub(crate) async fn for_one(&self, left: Duration) -> Result<Checkout, DatabaseError> {
        self.acquired(reserve::acquire(&self.main, &self.alone, left)).await
    }

    /// A connection of the main pool, for reads of the application.
    pub(crate) async fn reader(&self) -> Result<Checkout, DatabaseError> {
        match reserve::is_busy(&self.main) {
            true => Ok(self.of_main(patience::left()).await?.0),
            false => self.checkout(&self.main, patience::left()).await,
        }
    }

    pub(crate) async fn close(&self) {
        self.recent.close();
        tokio::join!(self.main.close(), self.batches.close(), self.alone.close());
    }
}
