//! MySQL Group Replication: nodes that agree on the order of all commits. The programs of MySQL must be named, see
//! [`Kind::programs_variable`].

use std::thread;
use std::time::{Duration, Instant};

use crate::DATABASE;
use crate::address::port_of;
use crate::error::StartError;
use crate::kind::Kind;
use crate::mariadb::{MariaDb, Programs};
use crate::port;
use crate::programs::Place;
use crate::server::Server;

/// A failover takes about twenty seconds, and a node that joins again copies what it has missed.
const PATIENCE: Duration = Duration::from_secs(240);

/// The channel over which a node that joins gets what it lacks.
const CHANNEL: &str = "change replication source to source_user = 'tenure', source_password = 'secret' \
                       for channel 'group_replication_recovery'";

const STATE: &str =
    "select member_state from performance_schema.replication_group_members where member_id = @@server_uuid";

const ONLINE: &str = "select count(*) from performance_schema.replication_group_members where member_state = 'ONLINE'";

const PRIMARY: &str = "select member_port from performance_schema.replication_group_members
                        where member_role = 'PRIMARY' and member_state = 'ONLINE'";

/// A group of throw-away nodes on 127.0.0.1. Dropping it ends all of them.
#[derive(Debug)]
pub struct GroupReplication {
    nodes: Vec<MariaDb>,
}

impl GroupReplication {
    /// Starts this number of nodes, with these settings of the servers: one of them accepts writes, or all do. The database [`DATABASE`]
    /// exists on all of them.
    pub fn start(count: usize, all_write: bool, settings: &[(&str, &str)]) -> Result<Self, StartError> {
        // Of each node: clients, the group.
        let ports: Vec<[u16; 2]> = (0..count).map(|_| [(); 2].map(|()| port::free())).collect();
        let seeds = ports.iter().map(|[_, group]| format!("127.0.0.1:{group}")).collect::<Vec<_>>().join(",");
        let mut group = GroupReplication { nodes: Vec::with_capacity(count) };
        for (at, ports) in ports.iter().enumerate() {
            let own = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let settings = own.chain(of_node(at, ports, &seeds, all_write)).collect();
            let mut node = Server::<Programs>::install(settings, &[], Place::of(Kind::MariaDb), None)?;
            node.start_on(ports[0])?;
            // From now on our user is that of the group.
            node.set_later("init-file", "/dev/null");
            if all_write {
                // Otherwise it would accept writes of its own after a restart. (With one primary, a test wants to see that.)
                node.set_later("loose-group-replication-start-on-boot", "ON");
            }
            node.query("mysql", "reset binary logs and gtids")?;
            node.query("mysql", CHANNEL)?;
            group.nodes.push(node);
            match at {
                0 => {
                    let begin = "set global group_replication_bootstrap_group = on; start group_replication; \
                                 set global group_replication_bootstrap_group = off";
                    group.nodes[0].query("mysql", begin)?;
                    group.rejoin()?;
                    group.nodes[0].create_database(DATABASE)?;
                }
                _ => group.rejoin()?,
            }
        }
        Ok(group)
    }

    /// The nodes.
    pub fn nodes(&self) -> &[MariaDb] {
        &self.nodes
    }

    /// Which node accepts writes, as seen by another one; the first of them if all do.
    pub fn primary(&self, seen_by: usize) -> Result<Option<usize>, StartError> {
        let ports = self.nodes[seen_by].query("mysql", PRIMARY)?;
        let is_primary = |node: &MariaDb| ports.lines().any(|port| port_of(&node.url(DATABASE)) == Some(port));
        Ok(self.nodes.iter().position(is_primary))
    }

    /// Waits until another node than this one is the primary, which at least one of the others has seen.
    pub fn wait_until_replaced(&self, node: usize) -> Result<(), StartError> {
        let witness = (node + 1) % self.nodes.len();
        let begun = Instant::now();
        loop {
            let primary = self.primary(witness)?;
            if primary.is_some_and(|primary| primary != node) {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                let (answer, log) = (format!("the primary is {primary:?}"), self.nodes[witness].last_words());
                return Err(StartError::NotReady { waited: PATIENCE, answer, log });
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Makes every node a member again, and waits until all of them see all others. All nodes must run.
    pub fn rejoin(&self) -> Result<(), StartError> {
        let begun = Instant::now();
        loop {
            let mut lacking = None;
            for node in &self.nodes {
                let state = node.query("mysql", STATE)?;
                if ["OFFLINE", "ERROR", ""].contains(&&*state) {
                    // The others may not have given it up yet, and refuse it until then. One that was expelled refuses clients (error 6400) until
                    // an operator says otherwise.
                    let again = "stop group_replication; set global offline_mode = off; start group_replication";
                    let _ = node.query("mysql", again);
                }
                let seen = node.query("mysql", ONLINE)?;
                if seen != self.nodes.len().to_string() {
                    lacking = Some((format!("a node is {state}, and sees {seen} nodes"), node));
                }
            }
            let Some((answer, node)) = lacking else { return Ok(()) };
            if begun.elapsed() > PATIENCE {
                return Err(StartError::NotReady { waited: PATIENCE, answer, log: node.last_words() });
            }
            thread::sleep(Duration::from_millis(200));
        }
    }
}

fn of_node(at: usize, ports: &[u16; 2], seeds: &str, all_write: bool) -> impl Iterator<Item = (String, String)> {
    let [clients, group] = ports;
    let whether = |is: bool| if is { "ON" } else { "OFF" }.to_owned();
    [
        ("server-id", (at + 1).to_string()),
        ("log-bin", "log-bin".to_owned()),
        ("sync-binlog", "1".to_owned()),
        ("gtid-mode", "ON".to_owned()),
        ("enforce-gtid-consistency", "ON".to_owned()),
        ("report-host", "127.0.0.1".to_owned()),
        ("report-port", clients.to_string()),
        ("skip-replica-start", "ON".to_owned()),
        ("plugin-load-add", "group_replication.so".to_owned()),
        ("loose-group-replication-group-name", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee".to_owned()),
        ("loose-group-replication-start-on-boot", "OFF".to_owned()),
        ("loose-group-replication-local-address", format!("127.0.0.1:{group}")),
        ("loose-group-replication-group-seeds", seeds.to_owned()),
        ("loose-group-replication-recovery-get-public-key", "ON".to_owned()),
        ("loose-group-replication-recovery-reconnect-interval", "1".to_owned()),
        // A node that was excluded joins again when a test says so.
        ("loose-group-replication-autorejoin-tries", "0".to_owned()),
        // A new primary answers no reads before it has applied all that the former one had acknowledged.
        ("loose-group-replication-consistency", "BEFORE_ON_PRIMARY_FAILOVER".to_owned()),
        ("loose-group-replication-single-primary-mode", whether(!all_write)),
        ("loose-group-replication-enforce-update-everywhere-checks", whether(all_write)),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
}
