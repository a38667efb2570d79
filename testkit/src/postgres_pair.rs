//! A PostgreSQL primary with a standby that follows it.

use std::thread;
use std::time::{Duration, Instant};

use crate::DATABASE;
use crate::error::StartError;
use crate::kind::Kind;
use crate::postgres::{Postgres, copy};
use crate::programs::Place;
use crate::server::Server;

/// Replication takes milliseconds; other tests may keep the disk busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two throw-away servers on 127.0.0.1: the first is the primary, the second its asynchronous standby. Dropping it ends both.
#[derive(Debug)]
pub struct PostgresPair {
    servers: [Postgres; 2],
}

impl PostgresPair {
    /// Starts both. The database [`DATABASE`] exists.
    pub fn start() -> Result<Self, StartError> {
        let primary = Postgres::builder().setting("wal_keep_size", "64MB").start()?;
        let (source, place) = (primary.url("postgres"), Place::of(Kind::Postgres));
        let settings = vec![("hot_standby".to_owned(), "on".to_owned())];
        let mut standby =
            Server::install_as(settings, &[], place.clone(), None, |_, home| copy(&place, &source, home))?;
        standby.start_on_any_port()?;
        let pair = PostgresPair { servers: [primary, standby] };
        pair.wait_until_the_same()?;
        Ok(pair)
    }

    /// The primary and the standby, in the order of their start.
    pub fn servers(&self) -> &[Postgres; 2] {
        &self.servers
    }

    /// Waits until the standby has applied everything that the primary has written.
    pub fn wait_until_the_same(&self) -> Result<(), StartError> {
        let begun = Instant::now();
        let written = self.servers[0].query(DATABASE, "select pg_current_wal_flush_lsn()")?;
        loop {
            let applied = format!("select pg_last_wal_replay_lsn() >= '{written}'");
            let answer = self.servers[1].query(DATABASE, &applied)?;
            if answer == "t" {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                let log = self.servers[1].last_words();
                return Err(StartError::NotReady { waited: PATIENCE, answer, log });
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops the replication: what the primary writes from now on never reaches the standby.
    pub fn stop_replication(&self) -> Result<(), StartError> {
        self.servers[1].query(DATABASE, "alter system set primary_conninfo = ''")?;
        self.servers[1].query(DATABASE, "select pg_reload_conf()")?;
        let begun = Instant::now();
        while self.servers[1].query(DATABASE, "select count(*) from pg_stat_wal_receiver")? != "0" {
            if begun.elapsed() > PATIENCE {
                let (answer, log) = ("the standby still receives".into(), self.servers[1].last_words());
                return Err(StartError::NotReady { waited: PATIENCE, answer, log });
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Makes the standby a primary, and waits until it accepts writes.
    pub fn promote(&self) -> Result<(), StartError> {
        self.servers[1].query(DATABASE, "select pg_promote()").map(drop)
    }
}
