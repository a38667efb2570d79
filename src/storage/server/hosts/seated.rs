//! A connection that was checked out under an epoch.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::Pool;
use sqlx::pool::PoolConnection;

use super::{Engine, Hosts};
use crate::storage::server::{checkout, reserve};

/// The time after which a connection that is still not open is a reason to look for the writer.
const LATE: Duration = Duration::from_millis(200);

/// The epoch under which a connection was checked out, or `None` for a database with one host.
#[derive(Debug)]
pub(in crate::storage) struct Seated<E: Engine>(Option<(Arc<Hosts<E>>, u64)>);

impl<E: Engine> Clone for Seated<E> {
    fn clone(&self) -> Self {
        Seated(self.0.clone())
    }
}

impl<E: Engine> Seated<E> {
    /// The epoch in use.
    pub(in crate::storage) fn now(hosts: Option<&Arc<Hosts<E>>>) -> Self {
        if let Some(hosts) = hosts {
            hosts.look_regularly();
        }
        Seated(hosts.map(|hosts| (Arc::clone(hosts), hosts.generation())))
    }

    /// The number of the epoch in this process.
    pub(in crate::storage) fn number(&self) -> u64 {
        self.0.as_ref().map_or(0, |(_, generation)| *generation)
    }

    /// Whether another epoch is in use now.
    pub(in crate::storage) fn is_former(&self) -> bool {
        self.0.as_ref().is_some_and(|(hosts, generation)| hosts.generation() != *generation)
    }

    /// Looks for the writer.
    pub(in crate::storage) fn suspect(&self) {
        if let Some((hosts, _)) = &self.0 {
            hosts.suspect();
        }
    }

    /// Looks for the writer if this error says so.
    #[cfg(feature = "postgres")]
    pub(in crate::storage) fn noticed(&self, error: &crate::error::DatabaseError) {
        use crate::error::DatabaseError;
        if matches!(
            error,
            DatabaseError::ConnectionLost(_)
                | DatabaseError::ReadOnly
                | DatabaseError::CommitUnknown(_)
                | DatabaseError::OutcomeUnknown(_)
        ) {
            self.suspect();
        }
    }

    /// As [`noticed`](Self::noticed), for the driver's error.
    #[cfg(feature = "mysql")]
    pub(in crate::storage) fn noticed_of_driver(&self, error: &sqlx::Error) {
        if E::is_lost(error) {
            self.suspect();
        }
    }

    /// The answer to a statement on a connection of a former epoch. It was not sent.
    pub(in crate::storage) fn former() -> &'static str {
        "a failover happened after this connection was opened, and its server may be the old one; nothing was sent"
    }
}

/// The pool of a connection, and the reserve of the lock manager.
pub(in crate::storage) struct Source<'a, E: Engine> {
    pub pool: &'a Pool<E>,
    pub reserve: Option<&'a Pool<E>>,
}

impl<E: Engine> Source<'_, E> {
    async fn acquire(&self, left: Duration) -> Result<PoolConnection<E>, sqlx::Error> {
        match self.reserve {
            Some(reserve) => reserve::acquire(self.pool, reserve, left).await,
            None => checkout::acquire(self.pool, left).await,
        }
    }

    fn is_busy(&self) -> bool {
        reserve::is_busy(self.pool)
    }
}

/// A connection. With several hosts, one that cannot be opened is a reason to look for the writer, and the attempt is repeated when it was
/// found.
pub(in crate::storage) async fn acquire<E: Engine>(
    hosts: Option<&Arc<Hosts<E>>>,
    left: Duration,
    source: Source<'_, E>,
) -> Result<(PoolConnection<E>, Seated<E>), sqlx::Error> {
    let Some(hosts) = hosts else { return Ok((source.acquire(left).await?, Seated(None))) };
    let asked = Instant::now();
    let mut found = hosts.found.subscribe();
    loop {
        let seated = Seated::now(Some(hosts));
        let left = left.saturating_sub(asked.elapsed());
        let answer = {
            let mut attempt = pin!(source.acquire(left));
            let mut late = pin!(tokio::time::sleep(LATE));
            let mut waited = false;
            loop {
                tokio::select! {
                    biased;
                    answer = &mut attempt => break Some(answer),
                    () = &mut late, if !waited => {
                        waited = true;
                        if !source.is_busy() {
                            hosts.look();
                        }
                    }
                    // The attempt may wait for the former host.
                    Ok(()) = found.changed(), if waited => {
                        if seated.is_former() {
                            break None;
                        }
                    }
                }
            }
        };
        match answer {
            None => {}
            Some(Ok(connection)) if seated.is_former() => drop(connection.detach()),
            Some(Ok(connection)) => return Ok((connection, seated)),
            Some(Err(error))
                if E::is_lost(&error) || matches!(error, sqlx::Error::PoolTimedOut) && !source.is_busy() =>
            {
                hosts.suspect();
                let left = left.saturating_sub(asked.elapsed());
                if tokio::time::timeout(left, found.changed()).await.is_err() {
                    return Err(explained(hosts, error));
                }
            }
            Some(Err(error)) => return Err(error),
        }
    }
}

/// The reason that no connection could be opened: the answers of the hosts, if none of them is the writer.
fn explained<E: Engine>(hosts: &Hosts<E>, error: sqlx::Error) -> sqlx::Error {
    match hosts.searches().problem() {
        Some(problem) => sqlx::Error::Io(std::io::Error::other(problem.to_owned())),
        None => error,
    }
}
