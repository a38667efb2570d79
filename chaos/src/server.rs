//! The database under test: a server of our own, or a file.

use std::path::Path;

use tempfile::TempDir;
use testkit::{DATABASE, MariaDb, Postgres};

use crate::Result;
use crate::backend::Backend;

/// A throw-away database.
#[derive(Debug)]
pub(crate) enum Server {
    /// A file in a folder that is removed afterwards.
    File(TempDir),
    /// PostgreSQL.
    Postgres(Postgres),
    /// MariaDB.
    MariaDb(MariaDb),
}

impl Server {
    /// Starts one, with room for the connections of all clients.
    pub(crate) fn start(backend: Backend) -> Result<Self> {
        Ok(match backend {
            Backend::Sqlite => Server::File(TempDir::with_prefix("chaos-")?),
            // Resets and cuts cost a connection each. The exchange that proves a password takes an unoptimised driver longer than
            // everything else that is done here.
            Backend::Postgres => {
                let everybody = "host all all 127.0.0.1/32 trust\n";
                let server = Postgres::builder().setting("max_connections", "400");
                Server::Postgres(server.file("hba", everybody).setting("hba_file", "hba").start()?)
            }
            Backend::MariaDb => Server::MariaDb(MariaDb::builder().setting("max_connections", "400").start()?),
        })
    }

    /// The URL of the database, without a network that misbehaves.
    pub(crate) fn url(&self) -> String {
        match self {
            Server::File(folder) => format!("sqlite://{}", file(folder.path())),
            Server::Postgres(server) => server.url(DATABASE),
            // What is encrypted cannot be read by the proxy.
            Server::MariaDb(server) => server.url(DATABASE) + "?ssl-mode=disabled",
        }
    }

    /// Makes an empty database beside the first one.
    #[cfg(feature = "planted")]
    pub(crate) fn another(&self, name: &str) -> Result<String> {
        match self {
            Server::Postgres(server) => server.create_database(name).map(|()| server.url(name)).map_err(Into::into),
            _ => Err("only PostgreSQL has several databases here".into()),
        }
    }

    /// Kills it with all its processes.
    pub(crate) fn kill(&self) {
        match self {
            Server::File(_) => {}
            Server::Postgres(server) => server.kill(),
            Server::MariaDb(server) => server.kill(),
        }
    }

    /// Starts it again.
    pub(crate) fn restart(&self) -> Result<()> {
        match self {
            Server::File(_) => Ok(()),
            Server::Postgres(server) => Ok(server.restart()?),
            Server::MariaDb(server) => Ok(server.restart()?),
        }
    }

    /// Stops its processes, or lets them go on.
    pub(crate) fn pause(&self, stopped: bool) {
        match (self, stopped) {
            (Server::File(_), _) => {}
            (Server::Postgres(server), true) => server.pause(),
            (Server::Postgres(server), false) => server.resume(),
            (Server::MariaDb(server), true) => server.pause(),
            (Server::MariaDb(server), false) => server.resume(),
        }
    }

    /// Ends so many sessions of clients, as an administrator does. How many there were.
    pub(crate) fn end_sessions(&self, most: u64) -> Result<u64> {
        match self {
            Server::File(_) => Ok(0),
            Server::Postgres(server) => {
                let sql = format!(
                    "select count(pg_terminate_backend(pid)) from (select pid from pg_stat_activity where pid <> pg_backend_pid() \
                     and backend_type = 'client backend' order by random() limit {most}) as chosen"
                );
                Ok(server.query(DATABASE, &sql)?.trim().parse()?)
            }
            Server::MariaDb(server) => {
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
        }
    }

    /// How many transactions stand open.
    pub(crate) fn open_transactions(&self) -> Result<u64> {
        Ok(match self {
            Server::File(_) => 0,
            Server::Postgres(server) => {
                let sql = "select count(*) from pg_stat_activity where pid <> pg_backend_pid() and xact_start is not null \
                           and backend_type = 'client backend'";
                server.query(DATABASE, sql)?.trim().parse()?
            }
            Server::MariaDb(server) => {
                server.query(DATABASE, "select count(*) from information_schema.innodb_trx")?.trim().parse()?
            }
        })
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
            Server::MariaDb(server) => {
                let sql =
                    "select concat(version(), '; innodb_flush_log_at_trx_commit=', @@innodb_flush_log_at_trx_commit)";
                server.query(DATABASE, sql)?
            }
        })
    }
}

fn file(folder: &Path) -> String {
    folder.join("chaos.db").display().to_string()
}
