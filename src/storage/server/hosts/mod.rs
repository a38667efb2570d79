//! Several hosts of one database: which of them is the writer, and the change to another one after a failover.
//!
//! All hosts are asked at the same time, because the choice needs all answers: an old primary that came back answers as a primary. A new
//! connection is checked once, before it is used, and after a lost connection not before all hosts were asked again. A lost connection, and
//! an error that says "not writable any more", start a search in the background. When it finds another writer, or a higher epoch, the pools
//! open their next connections there, and connections of the former epoch are used no more.

pub(in crate::storage) mod choice;
pub(in crate::storage) mod epoch;
mod in_use;
pub(in crate::storage) mod list;
mod search;
mod seated;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::pool::PoolConnectionMetadata;
use sqlx::{Connection, Database, Pool};
use tokio::sync::watch;

use crate::clock::ManualClock;
use crate::error::DatabaseError;
use crate::lease::engine::Declared;
use crate::storage::ConnectOptions;
use crate::storage::capabilities::WriterHost;
use crate::storage::server::checkout::Silence;
use choice::{Answer, Seat};
use epoch::Origin;
use in_use::InUse;
use search::Searches;

pub(in crate::storage) use list::{Host, several};
pub(in crate::storage) use search::{Found, find};
pub(in crate::storage) use seated::{Seated, Source, acquire};

/// The time limit of one host. Hosts are asked at the same time, so a search lasts as long.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time limit of storing an epoch: it reads the lock table once, and its commit may wait for a synchronous standby.
const LONGEST_SETTLING: Duration = Duration::from_secs(10);

type Options<E> = <<E as Database>::Connection as Connection>::Options;

/// The statements of an engine about its role and its epoch.
#[async_trait]
pub(in crate::storage) trait Engine: Database {
    /// The origin of its epochs.
    const ORIGIN: Origin;

    /// Opens a connection, without a pool, and runs these statements of the application.
    async fn open(options: &Options<Self>, first: &str) -> Result<Self::Connection, String>;
    /// The role and the epoch of the server of a connection.
    async fn ask(connection: &mut Self::Connection) -> Result<Answer, sqlx::Error>;
    /// Stores the epoch of a writer if it is a new one. Returns it, and the time without grants that is left.
    async fn settle(
        connection: &mut Self::Connection,
        seat: &Seat,
        rules: &Rules,
    ) -> Result<(Seat, Duration), DatabaseError>;
    /// The options with another password.
    fn with_password(options: Options<Self>, password: &str) -> Options<Self>;
    /// Whether an error is a reason to look for the writer.
    fn is_lost(error: &sqlx::Error) -> bool;
}

/// A host and the driver's options for it.
pub(in crate::storage) struct Candidate<E: Engine> {
    /// `db1:5432`.
    pub name: String,
    pub options: Options<E>,
}

/// The options of a database that concern its hosts.
#[derive(Debug, Clone, Default)]
pub(in crate::storage) struct Rules {
    /// The application's statements for each connection.
    pub first: String,
    pub declared: Declared,
    pub clock: Option<ManualClock>,
}

impl Rules {
    pub(in crate::storage) fn of(connect: &ConnectOptions) -> Self {
        Rules {
            first: connect.after_connect.clone().unwrap_or_default(),
            declared: Declared { lossless: connect.lossless, longest_ttl: connect.longest_ttl },
            clock: connect.clock.clone(),
        }
    }
}

/// Checks a new connection of a pool, once. A pool that outlives its database has nothing to compare it with.
pub(in crate::storage) async fn admit<E: Engine>(
    guard: Option<&Weak<Hosts<E>>>,
    connection: &mut E::Connection,
) -> Result<(), sqlx::Error> {
    match guard.and_then(Weak::upgrade) {
        Some(hosts) => hosts.admit(connection).await,
        None => Ok(()),
    }
}

/// Checks an idle connection of a pool: it was not opened under a former epoch, and its server lives. A dead one is a reason to look for the
/// writer.
pub(in crate::storage) async fn check_idle<E: Engine>(
    guard: Option<&Weak<Hosts<E>>>,
    silence: &Silence,
    connection: &mut E::Connection,
    metadata: &PoolConnectionMetadata,
) -> Result<bool, sqlx::Error> {
    let hosts = guard.and_then(Weak::upgrade);
    if hosts.as_ref().is_some_and(|hosts| !hosts.in_use().is_current(metadata.age)) {
        return Err(sqlx::Error::Io(std::io::Error::other("it was opened before a failover")));
    }
    let alive = silence.is_alive::<E>(connection, metadata).await;
    if let (Some(hosts), Err(_)) = (hosts, &alive) {
        hosts.suspect();
    }
    alive
}

/// The hosts of a database, shared by its pools.
pub(in crate::storage) struct Hosts<E: Engine> {
    hosts: Mutex<Vec<Candidate<E>>>,
    rules: Rules,
    in_use: Mutex<InUse>,
    /// Rises with every change of the writer or its epoch.
    generation: AtomicU64,
    /// Changes after every search that found the writer.
    found: watch::Sender<u64>,
    /// The pools, once they exist. They refer to this weakly.
    pools: OnceLock<Vec<Pool<E>>>,
    searching: AtomicBool,
    searches: Mutex<Searches>,
}

impl<E: Engine> std::fmt::Debug for Hosts<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosts").field("writer", &self.writer()).finish_non_exhaustive()
    }
}

impl<E: Engine> Hosts<E> {
    /// With the writer that was found at connect.
    pub(in crate::storage) fn new(found: Found<E>, rules: Rules) -> Arc<Self> {
        let Found { hosts, at, seat, asked, .. } = found;
        Arc::new(Hosts {
            hosts: Mutex::new(hosts),
            rules,
            in_use: Mutex::new(InUse::new(at, seat)),
            generation: AtomicU64::new(0),
            found: watch::Sender::new(0),
            pools: OnceLock::new(),
            searching: AtomicBool::new(false),
            searches: Mutex::new(Searches::since(asked)),
        })
    }

    /// Stores the epoch, and begins to check new connections: the tables exist now.
    pub(in crate::storage) async fn begin(self: &Arc<Self>, pools: Vec<Pool<E>>) -> Result<(), DatabaseError> {
        let (at, seat) = self.in_use().seat();
        let (seat, pause) = self.settle(at, &seat).await?;
        self.in_use().settle(seat, pause, self.rules.clock.as_ref());
        let _ = self.pools.set(pools);
        Ok(())
    }

    /// Stores the epoch of a writer on a connection of its own.
    async fn settle(&self, at: usize, seat: &Seat) -> Result<(Seat, Duration), DatabaseError> {
        let settle = async {
            let opened = E::open(&self.options(at), &self.rules.first).await;
            let mut connection = opened.map_err(DatabaseError::ConnectionLost)?;
            let settled = E::settle(&mut connection, seat, &self.rules).await?;
            let _ = connection.close().await;
            Ok(settled)
        };
        let late = || DatabaseError::ConnectionLost("the writer did not store its epoch in time".into());
        tokio::time::timeout(LONGEST_SETTLING, settle).await.unwrap_or_else(|_| Err(late()))
    }

    fn in_use(&self) -> MutexGuard<'_, InUse> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hosts(&self) -> MutexGuard<'_, Vec<Candidate<E>>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn options(&self, at: usize) -> Options<E> {
        self.hosts()[at].options.clone()
    }

    fn names(&self) -> Vec<String> {
        self.hosts().iter().map(|host| host.name.clone()).collect()
    }

    /// The writer in use.
    pub(in crate::storage) fn writer(&self) -> WriterHost {
        let (at, seat) = self.in_use().seat();
        let hosts = self.names();
        WriterHost { host: hosts[at].clone(), hosts, epoch: seat.epoch }
    }

    /// The time without grants that is left.
    pub(in crate::storage) fn pause(&self) -> Option<Duration> {
        self.in_use().pause(self.rules.clock.as_ref())
    }

    /// The password of connections from now on, to every host.
    pub(in crate::storage) fn set_password(&self, password: &str) {
        for host in self.hosts().iter_mut() {
            host.options = E::with_password(host.options.clone(), password);
        }
        self.point();
    }

    /// Lets the pools open their next connections to the writer in use. The hosts are locked meanwhile, so that the last change counts.
    fn point(&self) {
        let hosts = self.hosts();
        let (at, _) = self.in_use().seat();
        for pool in self.pools.get().into_iter().flatten() {
            pool.set_connect_options(hosts[at].options.clone());
        }
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Checks a new connection, once. It is not used before all hosts were asked, if that was not done since the last lost connection: an
    /// old primary that was restarted is in the epoch in use, as long as this process does not know the new one.
    async fn admit(self: &Arc<Self>, connection: &mut E::Connection) -> Result<(), sqlx::Error> {
        if self.pools.get().is_none() {
            return Ok(());
        }
        let mut found = self.found.subscribe();
        while !self.searches().are_fresh() {
            self.look();
            let _ = found.changed().await;
        }
        let answer = match tokio::time::timeout(PATIENCE, E::ask(connection)).await {
            Ok(answer) => answer?,
            Err(_) => return Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
        };
        // No wait between this and the end of the opening.
        self.in_use().accepts(&answer, E::ORIGIN).map_err(|reason| {
            self.suspect();
            sqlx::Error::Io(std::io::Error::other(reason))
        })
    }

    fn searches(&self) -> MutexGuard<'_, Searches> {
        self.searches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes to another writer, or to a higher epoch of the same one.
    fn switch(&self, at: usize, seat: Seat, pause: Duration) {
        let former = {
            let mut in_use = self.in_use();
            let former = in_use.seat();
            // Before any connection to it can be opened.
            in_use.switch(at, seat.clone(), pause, self.rules.clock.as_ref());
            self.generation.fetch_add(1, Ordering::AcqRel);
            former
        };
        self.point();
        let names = self.names();
        tracing::warn!(
            host = names[at],
            epoch = seat.epoch,
            former_host = names[former.0],
            former_epoch = former.1.epoch,
            no_grants_for_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
            "the writer of the database changed"
        );
    }
}
