//! What happens to the nodes of a database, and how it becomes whole again.

use std::thread::sleep;
use std::time::{Duration, Instant};

use testkit::MariaDb;

use super::Server;
use crate::Result;

/// How long a server may take to answer again after its disk was full.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a former primary that came back stays one, beside the new one.
const BESIDE: Duration = Duration::from_secs(5);

/// How long an operator takes to notice that the primary is silent, and to promote the standby.
const NOTICED: Duration = Duration::from_secs(3);

/// How long the primary stays cut off from the others.
const ISOLATED: Duration = Duration::from_secs(10);

/// Until Galera's other nodes go on without an isolated one, and it without them.
const SUSPECTED: Duration = Duration::from_secs(12);

impl Server {
    /// The node that a fault is about: the writer, or this one of several.
    pub(crate) fn target(&self, one: usize) -> Result<usize> {
        match self {
            Server::Galera(_) => Ok(one),
            _ => self.writer(),
        }
    }

    /// Kills a node with all its processes.
    pub(crate) fn kill(&self, node: usize) {
        match self {
            Server::Patroni(patroni) => patroni.kill(node),
            _ => {
                self.postgres(node).into_iter().for_each(testkit::Postgres::kill);
                self.mysql(node).into_iter().for_each(MariaDb::kill);
            }
        }
    }

    /// Starts it again.
    pub(crate) fn restart(&self, node: usize) -> Result<()> {
        match self {
            Server::File(_) => Ok(()),
            Server::Postgres(server) => Ok(server.restart()?),
            Server::MariaDb(server) => Ok(server.restart()?),
            Server::Galera(galera) => Ok(galera.restart(node)?),
            Server::Pair(pair) => Ok(pair.servers()[node].restart()?),
            Server::Patroni(patroni) => Ok(patroni.restart(node)?),
            Server::Group { group, .. } => Ok(group.nodes()[node].restart()?),
        }
    }

    /// Kills a node. Another one takes its place, if it was the primary; then it comes back as it was, and at last it joins the others.
    pub(crate) fn crash(&self, node: usize) -> Result<()> {
        self.kill(node);
        self.replace(node)?;
        self.restart(node)?;
        if matches!(self, Server::Pair(_) | Server::Group { all_write: false, .. }) {
            sleep(BESIDE);
        }
        self.rejoin(node)
    }

    /// Another node takes the place of a primary, if that is how this database goes on.
    fn replace(&self, node: usize) -> Result<()> {
        match self {
            Server::Pair(pair) if pair.primary() == node => Ok(pair.promote()?),
            Server::Patroni(patroni) => Ok(patroni.wait_until_replaced(node)?),
            Server::Group { group, all_write: false } => Ok(group.wait_until_replaced(node)?),
            _ => Ok(()),
        }
    }

    /// A node stands still for so long. The others go on without it, if they can: a primary is replaced.
    pub(crate) fn stand_still(&self, node: usize, time: Duration) -> Result<()> {
        let begun = Instant::now();
        self.pause(node, true);
        if let Server::Pair(pair) = self {
            sleep(NOTICED);
            pair.promote()?;
        }
        sleep(time.saturating_sub(begun.elapsed()));
        self.pause(node, false);
        if matches!(self, Server::Pair(_)) {
            sleep(BESIDE);
        }
        self.rejoin(node)
    }

    /// All nodes but this one stand still for so long.
    pub(crate) fn leave_alone(&self, node: usize, time: Duration) -> Result<()> {
        let others = || (0..self.nodes()).filter(|other| *other != node);
        others().for_each(|other| self.pause(other, true));
        sleep(time);
        others().for_each(|other| self.pause(other, false));
        match self {
            // It followed all the time.
            Server::Pair(pair) => Ok(pair.wait_for_the_standby()?),
            _ => (0..self.nodes()).try_for_each(|node| self.rejoin(node)),
        }
    }

    /// The network between a node and the others falls silent. Returns when they go on without it.
    pub(crate) fn isolate(&self, node: usize) -> Result<()> {
        match self {
            Server::Pair(pair) => {
                pair.isolate();
                sleep(NOTICED);
                pair.promote()?;
                sleep(ISOLATED - NOTICED);
                Ok(())
            }
            Server::Patroni(patroni) => {
                patroni.isolate(node);
                Ok(patroni.wait_until_replaced(node)?)
            }
            Server::Galera(galera) => {
                galera.isolate(node, true)?;
                sleep(SUSPECTED);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Ends [`isolate`](Self::isolate). A former primary stays one for a while, and joins the others then.
    pub(crate) fn reconnect(&self, node: usize) -> Result<()> {
        match self {
            Server::Pair(_) => sleep(BESIDE),
            Server::Patroni(patroni) => patroni.reconnect(node),
            Server::Galera(galera) => galera.isolate(node, false)?,
            _ => {}
        }
        self.rejoin(node)
    }

    /// Waits until a node has joined the others again.
    fn rejoin(&self, node: usize) -> Result<()> {
        match self {
            Server::Galera(galera) => Ok(galera.wait_until_synced(node)?),
            Server::Pair(pair) if pair.primary() == node => Ok(pair.wait_for_the_standby()?),
            Server::Pair(pair) => Ok(pair.rejoin()?),
            Server::Patroni(patroni) => Ok(patroni.wait_for_the_standby()?),
            Server::Group { group, .. } => Ok(group.rejoin()?),
            Server::File(_) | Server::Postgres(_) | Server::MariaDb(_) => Ok(()),
        }
    }

    /// Waits until a node answers again, and starts it if it has ended by itself.
    pub(crate) fn revive(&self, node: usize) -> Result<()> {
        let begun = Instant::now();
        loop {
            let runs = match (self.postgres(node), self.mysql(node)) {
                (Some(server), _) => server.is_running(),
                (_, Some(server)) => server.is_running(),
                _ => return Ok(()),
            };
            match (runs, self.query(node, "select 1").is_ok()) {
                (true, true) => return Ok(()),
                (false, _) => return self.restart(node),
                (true, false) if begun.elapsed() > PATIENCE => return Err("the server does not answer any more".into()),
                (true, false) => sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Stops the processes of a node, or lets them go on.
    pub(crate) fn pause(&self, node: usize, stopped: bool) {
        match (self, self.postgres(node), self.mysql(node)) {
            (Server::Patroni(patroni), ..) if stopped => patroni.pause(node),
            (Server::Patroni(patroni), ..) => patroni.resume(node),
            (_, Some(server), _) if stopped => server.pause(),
            (_, Some(server), _) => server.resume(),
            (_, _, Some(server)) if stopped => server.pause(),
            (_, _, Some(server)) => server.resume(),
            _ => {}
        }
    }

    /// Waits until all nodes have applied what was committed.
    pub(crate) fn catch_up(&self) -> Result<()> {
        match self {
            Server::Galera(galera) => {
                for node in galera.nodes() {
                    node.query("mysql", "set session wsrep_sync_wait = 1; select count(*) from user")?;
                }
            }
            Server::Group { group, .. } => {
                let done = self.query(self.writer()?, "select @@global.gtid_executed")?.replace("\\n", "");
                for node in group.nodes() {
                    let wait = format!("select wait_for_executed_gtid_set('{done}', {})", PATIENCE.as_secs());
                    if node.query("mysql", &wait)? != "0" {
                        return Err("a node has not applied everything in time".into());
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
