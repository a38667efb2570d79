//! A MariaDB primary with a read-only replica that follows it.

use std::thread;
use std::time::{Duration, Instant};

use crate::DATABASE;
use crate::error::StartError;
use crate::mariadb::MariaDb;

/// Replication takes milliseconds; other tests may keep the disk busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two throw-away servers on 127.0.0.1: the first is the primary, the second its asynchronous, read-only replica. Dropping it ends both.
#[derive(Debug)]
pub struct MariaDbPair {
    servers: [MariaDb; 2],
}

impl MariaDbPair {
    /// Starts both. The database [`DATABASE`] exists.
    pub fn start() -> Result<Self, StartError> {
        let durable = MariaDb::builder().setting("sync-binlog", "1").setting("binlog-format", "ROW");
        let primary = durable.setting("server-id", "1").setting("log-bin", "log-bin").start()?;
        let replica = MariaDb::builder().setting("server-id", "2").setting("read-only", "1").start()?;
        // Both have created the database and the user themselves.
        let written = primary.query("mysql", "select @@global.gtid_binlog_pos")?;
        let url = primary.url(DATABASE);
        let port = url.rsplit_once(':').and_then(|(_, rest)| rest.split_once('/')).map_or("", |(port, _)| port);
        replica.query(
            "mysql",
            &format!(
                "set global gtid_slave_pos = '{written}'; change master to master_host = '127.0.0.1', master_port = {port}, \
                 master_user = 'tenure', master_password = 'secret', master_use_gtid = slave_pos, master_connect_retry = 1; \
                 start slave"
            ),
        )?;
        let pair = MariaDbPair { servers: [primary, replica] };
        pair.wait_until_the_same()?;
        Ok(pair)
    }

    /// The primary and the replica, in the order of their start.
    pub fn servers(&self) -> &[MariaDb; 2] {
        &self.servers
    }

    /// Waits until the replica has applied everything that the primary has written.
    pub fn wait_until_the_same(&self) -> Result<(), StartError> {
        let written = self.servers[0].query("mysql", "select @@global.gtid_binlog_pos")?;
        let begun = Instant::now();
        loop {
            let answer = self.servers[1].query("mysql", "select @@global.gtid_slave_pos")?;
            if answer == written {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                let log = self.servers[1].last_words();
                return Err(StartError::NotReady { waited: PATIENCE, answer, log });
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Makes the replica a primary.
    pub fn promote(&self) -> Result<(), StartError> {
        self.servers[1].query("mysql", "stop slave; reset slave all; set global read_only = 0").map(drop)
    }
}
