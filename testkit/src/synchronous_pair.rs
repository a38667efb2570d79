//! A PostgreSQL primary with a synchronous standby. The two change places: the standby is promoted, and the former primary becomes a standby.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::DATABASE;
use crate::error::StartError;
use crate::kind::Kind;
use crate::postgres::{Postgres, copy};
use crate::programs::Place;
use crate::proxy::Proxy;
use crate::server::Server;

/// Replication takes milliseconds; other tests may keep the disk busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A standby that lost its primary tries again at once.
const SETTINGS: [(&str, &str); 3] =
    [("wal_keep_size", "64MB"), ("hot_standby", "on"), ("wal_retrieve_retry_interval", "500ms")];

/// Clients and standbys of this machine need no password: an unoptimised driver takes long to prove one.
const EVERYBODY: &str = "host all,replication all 127.0.0.1/32 trust\n";

/// The name under which a standby connects, unless it sets another one.
const STANDBY: &str = "walreceiver";

/// Two throw-away servers on 127.0.0.1. A commit on the primary waits for the standby. Dropping it ends both.
#[derive(Debug)]
pub struct SynchronousPair {
    servers: [Postgres; 2],
    /// The network to each of them, for the replication.
    networks: [Proxy; 2],
    primary: AtomicUsize,
}

impl SynchronousPair {
    /// Starts both, with these settings besides. The database [`DATABASE`] exists, and no client needs a password.
    pub fn start(settings: &[(&str, &str)]) -> Result<Self, StartError> {
        let settings = || settings.iter().copied().chain(SETTINGS).chain([("hba_file", "hba")]);
        let builder = settings().fold(Postgres::builder(), |builder, (name, value)| builder.setting(name, value));
        let primary = builder.file("hba", EVERYBODY).start()?;
        let network = network_to(&primary)?;
        let settings = settings().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let (place, files) = (Place::of(Kind::Postgres), [("hba".to_owned(), EVERYBODY.to_owned())]);
        let mut standby =
            Server::install_as(settings, &files, place.clone(), None, |_, home| copy(&place, network.url(), home))?;
        standby.start_on_any_port()?;
        let networks = [network, network_to(&standby)?];
        let pair = SynchronousPair { servers: [primary, standby], networks, primary: AtomicUsize::new(0) };
        pair.wait_for_the_standby()?;
        Ok(pair)
    }

    /// The servers, in the order of their start.
    pub fn servers(&self) -> &[Postgres; 2] {
        &self.servers
    }

    /// Which of them is the primary: the one that was promoted last.
    pub fn primary(&self) -> usize {
        self.primary.load(Ordering::SeqCst)
    }

    /// Interrupts the replication without an error on either side: commits on the primary wait. [`rejoin`](Self::rejoin) ends it.
    pub fn isolate(&self) {
        self.networks[self.primary()].fall_silent();
    }

    /// Makes the standby the primary, and waits until it accepts writes. Its commits wait for no standby until [`rejoin`](Self::rejoin). The
    /// former primary, if it runs, still takes itself for the primary.
    pub fn promote(&self) -> Result<(), StartError> {
        let standby = 1 - self.primary();
        self.require(standby, "")?;
        self.servers[standby].query(DATABASE, "select pg_promote()")?;
        self.primary.store(standby, Ordering::SeqCst);
        Ok(())
    }

    /// Makes the other server a standby of the primary, with a new copy of its data, and waits until commits wait for it.
    pub fn rejoin(&self) -> Result<(), StartError> {
        let primary = self.primary();
        let (network, place) = (&self.networks[primary], Place::of(Kind::Postgres));
        network.recover();
        self.servers[1 - primary].rebuild(|home| copy(&place, network.url(), home))?;
        self.wait_for_the_standby()
    }

    /// Waits until the standby follows, and commits wait for it.
    pub fn wait_for_the_standby(&self) -> Result<(), StartError> {
        let primary = self.primary();
        self.require(primary, STANDBY)?;
        let begun = Instant::now();
        loop {
            let waits = "select count(*) from pg_stat_replication where sync_state = 'sync' and state = 'streaming'";
            let answer = self.servers[primary].query(DATABASE, waits)?;
            if answer == "1" {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                let log = self.servers[1 - primary].last_words();
                return Err(StartError::NotReady { waited: PATIENCE, answer, log });
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Names the standby that commits on this server wait for.
    fn require(&self, server: usize, name: &str) -> Result<(), StartError> {
        let server = &self.servers[server];
        server.query(DATABASE, &format!("alter system set synchronous_standby_names = '{name}'"))?;
        server.query(DATABASE, "select pg_reload_conf()").map(drop)
    }
}

fn network_to(server: &Postgres) -> Result<Proxy, StartError> {
    Proxy::to(&server.url("postgres")).map_err(StartError::system("listen for the replication"))
}
