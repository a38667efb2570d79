//! A Galera cluster: several nodes of MariaDB that all accept writes.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::DATABASE;
use crate::engine::Engine;
use crate::error::StartError;
use crate::kind::Kind;
use crate::mariadb::{MariaDb, Programs};
use crate::port;
use crate::programs::Place;
use crate::server::Server;

/// The provider of Debian's package galera-4, on which mariadb-server depends.
const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";

/// A node copies the data of another one, which takes some seconds, and minutes on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(240);

/// A second attempt is necessary only if another program takes a port at the same moment.
const TRIES: usize = 3;

/// The state of a node that has applied everything and accepts writes.
const STATE: &str =
    "select variable_value from information_schema.global_status where variable_name = 'wsrep_local_state_comment'";

/// A cluster of throw-away nodes on 127.0.0.1, started from the installed programs. Dropping it ends all of them.
#[derive(Debug)]
pub struct Galera {
    nodes: Vec<MariaDb>,
}

impl Galera {
    /// Starts this number of nodes, with these settings of the servers. The database [`DATABASE`] exists on all of them.
    pub fn start(count: usize, settings: &[(&str, &str)]) -> Result<Self, StartError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match Self::start_once(count, settings) {
                Err(StartError::Exited { log, .. }) if tries < TRIES && log.contains("Address already in use") => {}
                started => return started,
            }
        }
    }

    fn start_once(count: usize, settings: &[(&str, &str)]) -> Result<Self, StartError> {
        let provider = provider()?;
        // Of each node: clients, the group, increments of the state, copies of it.
        let ports: Vec<[u16; 4]> = (0..count).map(|_| [(); 4].map(|()| port::free())).collect();
        let group = ports.iter().map(|ports| format!("127.0.0.1:{}", ports[1])).collect::<Vec<_>>().join(",");
        let mut galera = Galera { nodes: Vec::with_capacity(count) };
        for (at, ports) in ports.iter().enumerate() {
            let own = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let settings = own.chain(of_node(&provider, at, ports, &group)).collect();
            let mut node = Server::<Programs>::install(settings, &[], Place::of(Kind::MariaDb), None)?;
            node.start_in_cluster(ports[0], at == 0)?;
            galera.nodes.push(node);
            galera.wait_until_synced(at)?;
            if at == 0 {
                galera.nodes[0].create_database(DATABASE)?;
            }
        }
        Ok(galera)
    }

    /// The nodes.
    pub fn nodes(&self) -> &[MariaDb] {
        &self.nodes
    }

    /// The URLs of the database on each node.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.url(DATABASE)).collect()
    }

    /// Starts a node again after it was killed, and waits until it has joined the cluster and has its data.
    pub fn restart(&self, node: usize) -> Result<(), StartError> {
        self.nodes[node].restart()?;
        self.wait_until_synced(node)
    }

    /// Cuts a node off from the others, which then go on without it, or ends that. It answers its clients all the time.
    pub fn isolate(&self, node: usize, whether: bool) -> Result<(), StartError> {
        let set = format!("set global wsrep_provider_options = 'gmcast.isolate={}'", u8::from(whether));
        self.nodes[node].query("mysql", &set).map(drop)
    }

    /// Waits until a node has applied everything and accepts writes.
    pub fn wait_until_synced(&self, node: usize) -> Result<(), StartError> {
        let begun = Instant::now();
        loop {
            let state = self.nodes[node].query("information_schema", STATE);
            if matches!(&state, Ok(state) if state == "Synced") {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                let answer = state.map_or_else(|error| error.to_string(), |state| format!("its state is {state}"));
                let log = self.nodes[node].last_words();
                return Err(StartError::NotReady { waited: PATIENCE, answer, log });
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

fn provider() -> Result<PathBuf, StartError> {
    let provider = Path::new(PROVIDER);
    match provider.is_file() {
        true => Ok(provider.to_owned()),
        false => Err(StartError::Missing { program: PROVIDER.into(), kind: Programs::KIND }),
    }
}

fn of_node(provider: &Path, at: usize, ports: &[u16; 4], group: &str) -> impl Iterator<Item = (String, String)> {
    let [clients, own, increments, copies] = ports;
    let options =
        format!("gmcast.listen_addr=tcp://127.0.0.1:{own};ist.recv_addr=127.0.0.1:{increments};gcache.size=64M");
    [
        ("binlog-format", "ROW".to_owned()),
        ("innodb-autoinc-lock-mode", "2".to_owned()),
        ("wsrep-on", "ON".to_owned()),
        ("wsrep-provider", provider.display().to_string()),
        ("wsrep-provider-options", options),
        ("wsrep-cluster-name", "tenure".to_owned()),
        ("wsrep-cluster-address", format!("gcomm://{group}")),
        ("wsrep-node-name", format!("n{}", at + 1)),
        ("wsrep-node-address", format!("127.0.0.1:{own}")),
        ("wsrep-node-incoming-address", format!("127.0.0.1:{clients}")),
        ("wsrep-sst-method", "rsync".to_owned()),
        ("wsrep-sst-receive-address", format!("127.0.0.1:{copies}")),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
}
