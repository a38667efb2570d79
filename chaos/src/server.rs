//! The database under test: a server of our own, or a file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::{Builder, DATABASE, Engine, Galera, MariaDb, Postgres};

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

/// How long a server may take to answer again after its disk was full.
const PATIENCE: Duration = Duration::from_secs(60);

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
}

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
                let server = on(machine, Postgres::builder()).setting("max_connections", "400");
                Server::Postgres(server.file("hba", everybody).setting("hba_file", "hba").start()?)
            }
            Backend::MariaDb => {
                Server::MariaDb(on(machine, MariaDb::builder()).setting("max_connections", "400").start()?)
            }
            Backend::Galera => Server::Galera(Galera::start(3, &[("max_connections", "400")])?),
        })
    }

    /// The URL of the database on each node, without a network that misbehaves.
    pub(crate) fn urls(&self) -> Vec<String> {
        match self {
            Server::File(folder) => vec![format!("sqlite://{}", file(folder.path()).display())],
            Server::Postgres(server) => vec![server.url(DATABASE)],
            // What is encrypted cannot be read by the proxy.
            Server::MariaDb(server) => vec![server.url(DATABASE) + "?ssl-mode=disabled"],
            Server::Galera(galera) => galera.urls().into_iter().map(|url| url + "?ssl-mode=disabled").collect(),
        }
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

    /// That of the last node.
    pub(crate) fn url(&self) -> String {
        self.urls().pop().unwrap_or_default()
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
            _ => 1,
        }
    }

    /// A node of MariaDB, if it is MariaDB.
    fn mariadb(&self, node: usize) -> Option<&MariaDb> {
        match self {
            Server::MariaDb(server) => Some(server),
            Server::Galera(galera) => galera.nodes().get(node),
            Server::File(_) | Server::Postgres(_) => None,
        }
    }

    /// Kills a node with all its processes.
    pub(crate) fn kill(&self, node: usize) {
        match self {
            Server::Postgres(server) => server.kill(),
            _ => self.mariadb(node).into_iter().for_each(MariaDb::kill),
        }
    }

    /// Starts it again.
    pub(crate) fn restart(&self, node: usize) -> Result<()> {
        match self {
            Server::File(_) => Ok(()),
            Server::Postgres(server) => Ok(server.restart()?),
            Server::MariaDb(server) => Ok(server.restart()?),
            Server::Galera(galera) => Ok(galera.restart(node)?),
        }
    }

    /// Waits until a node answers again, and starts it if it has ended by itself.
    pub(crate) fn revive(&self, node: usize) -> Result<()> {
        let begun = Instant::now();
        loop {
            let (runs, answers) = match (self, self.mariadb(node)) {
                (Server::Postgres(server), _) => (server.is_running(), server.query(DATABASE, "select 1").is_ok()),
                (_, Some(server)) => (server.is_running(), server.query(DATABASE, "select 1").is_ok()),
                (_, None) => return Ok(()),
            };
            match (runs, answers) {
                (true, true) => return Ok(()),
                (false, _) => return self.restart(node),
                (true, false) if begun.elapsed() > PATIENCE => return Err("the server does not answer any more".into()),
                (true, false) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Waits until a node of a cluster has joined the others again.
    pub(crate) fn rejoin(&self, node: usize) -> Result<()> {
        match self {
            Server::Galera(galera) => Ok(galera.wait_until_synced(node)?),
            _ => Ok(()),
        }
    }

    /// Stops the processes of a node, or lets them go on.
    pub(crate) fn pause(&self, node: usize, stopped: bool) {
        match (self, self.mariadb(node)) {
            (Server::Postgres(server), _) if stopped => server.pause(),
            (Server::Postgres(server), _) => server.resume(),
            (_, Some(server)) if stopped => server.pause(),
            (_, Some(server)) => server.resume(),
            (_, None) => {}
        }
    }

    /// Ends so many sessions of clients on a node, as an administrator does. How many there were.
    pub(crate) fn end_sessions(&self, node: usize, most: u64) -> Result<u64> {
        if let Server::Postgres(server) = self {
            let sql = format!(
                "select count(pg_terminate_backend(pid)) from (select pid from pg_stat_activity where pid <> pg_backend_pid() \
                 and backend_type = 'client backend' order by random() limit {most}) as chosen"
            );
            return Ok(server.query(DATABASE, &sql)?.trim().parse()?);
        }
        let Some(server) = self.mariadb(node) else { return Ok(0) };
        let sql = format!(
            "select id from information_schema.processlist where user = 'tenure' and id <> connection_id() \
             order by rand() limit {most}"
        );
        let mut ended = 0;
        for id in server.query(DATABASE, &sql)?.lines() {
            // One that has ended meanwhile is none that we ended.
            ended += u64::from(server.query(DATABASE, &format!("kill {id}")).is_ok());
        }
        Ok(ended)
    }

    /// How many transactions stand open.
    pub(crate) fn open_transactions(&self) -> Result<u64> {
        if let Server::Postgres(server) = self {
            let sql = "select count(*) from pg_stat_activity where pid <> pg_backend_pid() and xact_start is not null \
                       and backend_type = 'client backend'";
            return Ok(server.query(DATABASE, sql)?.trim().parse()?);
        }
        let mut open = 0;
        for server in (0..self.nodes()).filter_map(|node| self.mariadb(node)) {
            let count = server.query(DATABASE, "select count(*) from information_schema.innodb_trx")?;
            open += count.trim().parse::<u64>()?;
        }
        Ok(open)
    }

    /// What it says of its version, and of the settings that the figures depend on.
    pub(crate) fn describe(&self) -> Result<String> {
        Ok(match self {
            Server::File(_) => "journal_mode=wal, synchronous=FULL".to_owned(),
            Server::Postgres(server) => {
                let sql = "select version() || '; fsync=' || current_setting('fsync') || ', synchronous_commit=' || \
                           current_setting('synchronous_commit')";
                server.query(DATABASE, sql)?
            }
            Server::MariaDb(server) => server.query(DATABASE, MARIADB)?,
            Server::Galera(galera) => {
                let sql = format!(
                    "select concat(({MARIADB}), '; {} nodes of Galera ', (select variable_value from \
                    information_schema.global_status where variable_name = 'wsrep_provider_version'))",
                    self.nodes()
                );
                galera.nodes()[0].query(DATABASE, &sql)?
            }
        })
    }
}

const MARIADB: &str = "select concat(version(), '; innodb_flush_log_at_trx_commit=', @@innodb_flush_log_at_trx_commit)";

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
