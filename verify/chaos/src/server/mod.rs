//! The database under test: servers of our own, or a file.

mod faults;
mod sessions;

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use testkit::{
    Builder, DATABASE, Engine, Galera, GroupReplication, MariaDb, Patroni, Postgres, StartError, SynchronousPair,
};

use crate::Result;
use crate::backend::Backend;

/// Where a database runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
    /// A disk of its own.
    pub(crate) disk: Option<PathBuf>,
    /// Variables for its programs, such as those that give them a clock of their own.
    pub(crate) environment: Vec<(String, String)>,
}

/// A throw-away database.
#[derive(Debug)]
pub(crate) enum Server {
    /// A file in a folder that is removed afterwards.
    File(TempDir),
    /// PostgreSQL.
    Postgres(Postgres),
    /// MariaDB.
    MariaDb(MariaDb),
    /// Three nodes of MariaDB.
    Galera(Galera),
    /// A primary of PostgreSQL with a synchronous standby.
    Pair(SynchronousPair),
    /// The same under Patroni.
    Patroni(Patroni),
    /// Three nodes of MySQL. All of them may accept writes.
    Group { group: GroupReplication, all_write: bool },
}

/// Room for the connections of all clients.
const ROOM: (&str, &str) = ("max_connections", "400");

/// A secondary of Group Replication applies more slowly than its primary commits, and may lack 25,000 transactions before that is slowed down: a
/// killed member then joins again, and a new primary answers, after minutes.
const IN_STEP: [(&str, &str); 3] = [
    ("loose-group-replication-flow-control-applier-threshold", "500"),
    ("loose-group-replication-flow-control-certifier-threshold", "500"),
    ("replica-parallel-workers", "16"),
];

/// Clients of MySQL have no password: without TLS, which the proxy could not read, there is no way to prove one.
const CLIENT: &str = "create user chaos@'%'; grant all on tenure.* to chaos@'%'; \
                      grant select on performance_schema.* to chaos@'%'; grant process on *.* to chaos@'%'";

/// What is encrypted cannot be read by the proxy.
const PLAIN: &str = "?ssl-mode=disabled";

impl Server {
    /// Starts one, with room for the connections of all clients.
    pub(crate) fn start(backend: Backend, machine: &Machine) -> Result<Self> {
        Ok(match backend {
            Backend::Sqlite => {
                let beneath = machine.disk.clone().unwrap_or_else(std::env::temp_dir);
                Server::File(TempDir::with_prefix_in("chaos-", beneath)?)
            }
            // Resets and cuts cost a connection each. The exchange that proves a password takes an unoptimised driver longer than
            // everything else that is done here.
            Backend::Postgres => {
                let everybody = "host all all 127.0.0.1/32 trust\n";
                let server = on(machine, Postgres::builder()).setting(ROOM.0, ROOM.1);
                Server::Postgres(server.file("hba", everybody).setting("hba_file", "hba").start()?)
            }
            Backend::MariaDb => Server::MariaDb(on(machine, MariaDb::builder()).setting(ROOM.0, ROOM.1).start()?),
            Backend::Galera => Server::Galera(Galera::start(3, &[ROOM])?),
            Backend::PostgresPair => Server::Pair(SynchronousPair::start(&[ROOM])?),
            Backend::Patroni => Server::Patroni(Patroni::start(400)?),
            Backend::GroupReplication | Backend::MultiPrimary => {
                let all_write = backend == Backend::MultiPrimary;
                let group = GroupReplication::start(3, all_write, &[&[ROOM], &IN_STEP[..]].concat())?;
                group.nodes()[0].query("mysql", CLIENT)?;
                Server::Group { group, all_write }
            }
        })
    }

    /// The URL of the database on each node that clients use, without a network that misbehaves.
    pub(crate) fn urls(&self) -> Vec<String> {
        match self {
            Server::File(folder) => vec![format!("sqlite://{}", file(folder.path()).display())],
            Server::Postgres(server) => vec![server.url(DATABASE)],
            Server::MariaDb(server) => vec![server.url(DATABASE) + PLAIN],
            // The last one only applies.
            Server::Galera(galera) => galera.urls().into_iter().take(2).map(|url| url + PLAIN).collect(),
            Server::Pair(pair) => pair.servers().iter().map(|server| server.url(DATABASE)).collect(),
            Server::Patroni(patroni) => patroni.urls(),
            Server::Group { all_write, .. } => {
                (0..if *all_write { 2 } else { 3 }).map(|node| self.node_url(node)).collect()
            }
        }
    }

    /// The URL of the database on a node.
    fn node_url(&self, node: usize) -> String {
        match self {
            Server::Galera(galera) => galera.nodes()[node].url(DATABASE) + PLAIN,
            Server::Group { group, .. } => {
                group.nodes()[node].url(DATABASE).replace("tenure:secret@", "chaos@") + PLAIN
            }
            _ => self.urls().swap_remove(node),
        }
    }

    /// The URL of the database on a node that accepts writes now.
    pub(crate) fn url(&self) -> Result<String> {
        Ok(self.node_url(self.writer()?))
    }

    /// The URL of the database on a node that only applies what others write, if there is one.
    pub(crate) fn applying_url(&self) -> Result<Option<String>> {
        Ok(match self {
            Server::Galera(galera) => Some(self.node_url(galera.nodes().len() - 1)),
            Server::Group { group, .. } => {
                let (writer, nodes) = (self.writer()?, group.nodes().len());
                Some(self.node_url((writer + nodes - 1) % nodes))
            }
            _ => None,
        })
    }

    /// Which node accepts writes; the first of them if several do.
    pub(crate) fn writer(&self) -> Result<usize> {
        let found = match self {
            Server::Pair(pair) => Some(pair.primary()),
            Server::Patroni(patroni) => patroni.primary()?,
            Server::Group { group, all_write: false } => group.primary(0)?,
            _ => Some(0),
        };
        found.ok_or_else(|| "no node accepts writes".into())
    }

    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        match self {
            Server::File(folder) => Some(file(folder.path())),
            _ => None,
        }
    }

    /// Where the file is kept that another one has replaced.
    pub(crate) fn lost_file(&self) -> Option<PathBuf> {
        self.file().map(|file| file.with_file_name("lost.db"))
    }

    /// Makes an empty database beside the first one.
    #[cfg(feature = "planted")]
    pub(crate) fn another(&self, name: &str) -> Result<String> {
        match self {
            Server::Postgres(server) => server.create_database(name).map(|()| server.url(name)).map_err(Into::into),
            _ => Err("only PostgreSQL has several databases here".into()),
        }
    }

    /// How many nodes it has.
    pub(crate) fn nodes(&self) -> usize {
        match self {
            Server::Galera(galera) => galera.nodes().len(),
            Server::Pair(_) | Server::Patroni(_) => 2,
            Server::Group { group, .. } => group.nodes().len(),
            Server::File(_) | Server::Postgres(_) | Server::MariaDb(_) => 1,
        }
    }

    /// A node of MariaDB or MySQL, if it is one.
    fn mysql(&self, node: usize) -> Option<&MariaDb> {
        match self {
            Server::MariaDb(server) => Some(server),
            Server::Galera(galera) => galera.nodes().get(node),
            Server::Group { group, .. } => group.nodes().get(node),
            Server::File(_) | Server::Postgres(_) | Server::Pair(_) | Server::Patroni(_) => None,
        }
    }

    /// A server of PostgreSQL that we run ourselves, if it is one.
    fn postgres(&self, node: usize) -> Option<&Postgres> {
        match self {
            Server::Postgres(server) => Some(server),
            Server::Pair(pair) => pair.servers().get(node),
            _ => None,
        }
    }

    /// Runs SQL on a node as an administrator does; nothing on a file.
    fn query(&self, node: usize, sql: &str) -> std::result::Result<String, StartError> {
        match (self, self.postgres(node), self.mysql(node)) {
            (Server::Patroni(patroni), ..) => patroni.query(node, sql),
            (_, Some(server), _) => server.query(DATABASE, sql),
            (_, _, Some(server)) => server.query(DATABASE, sql),
            _ => Ok(String::new()),
        }
    }

    /// What it says of its version, and of the settings that the figures depend on.
    pub(crate) fn describe(&self) -> Result<String> {
        let said = match self {
            Server::File(_) => return Ok("journal_mode=wal, synchronous=FULL".to_owned()),
            Server::Postgres(_) => self.query(0, POSTGRES)?,
            Server::Pair(_) => self.query(self.writer()?, POSTGRES)? + "; a synchronous standby",
            Server::Patroni(_) => self.query(self.writer()?, POSTGRES)? + "; a synchronous standby, by Patroni",
            Server::MariaDb(_) => self.query(0, MYSQL)?,
            Server::Galera(_) => {
                let sql = format!(
                    "select concat(({MYSQL}), '; {} nodes of Galera ', (select variable_value from \
                    information_schema.global_status where variable_name = 'wsrep_provider_version'))",
                    self.nodes()
                );
                self.query(0, &sql)?
            }
            Server::Group { all_write, .. } => {
                let kind = if *all_write { "all accept writes, one is used" } else { "one accepts writes" };
                self.query(0, MYSQL)? + &format!("; {} nodes of Group Replication, {kind}", self.nodes())
            }
        };
        Ok(said)
    }
}

const POSTGRES: &str = "select split_part(version(), ' (', 1) || '; fsync=' || current_setting('fsync') || ', synchronous_commit=' || \
                        current_setting('synchronous_commit')";

const MYSQL: &str = "select concat(version(), '; innodb_flush_log_at_trx_commit=', @@innodb_flush_log_at_trx_commit)";

fn file(folder: &Path) -> PathBuf {
    folder.join("chaos.db")
}

fn on<E: Engine>(machine: &Machine, mut server: Builder<E>) -> Builder<E> {
    for (name, value) in &machine.environment {
        server = server.environment(name, value);
    }
    match &machine.disk {
        Some(disk) => server.beneath(disk),
        None => server,
    }
}
