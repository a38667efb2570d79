//! PostgreSQL.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use crate::engine::Engine;
use crate::error::StartError;
use crate::home::Home;
use crate::kind::Kind;
use crate::programs::{self, Place};
use crate::server::Server;

/// A throw-away PostgreSQL server.
pub type Postgres = Server<Programs>;

/// PostgreSQL's defaults, set explicitly: a test of durability must not depend on a default.
const SETTINGS: [&str; 6] = [
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "listen_addresses=127.0.0.1",
    // A socket's path must be short, and that of a temporary folder may be long.
    "unix_socket_directories=",
    // Otherwise a killed server leaves files in /dev/shm.
    "dynamic_shared_memory_type=mmap",
];

/// The paths of PostgreSQL's programs.
#[derive(Debug)]
pub struct Programs {
    initdb: PathBuf,
    postgres: PathBuf,
}

/// Copies the data of a running server, as that of a standby that follows it.
pub(crate) fn copy(place: &Place, source: &str, home: &Home) -> Result<(), StartError> {
    let mut command = home.command(&place.find("pg_basebackup")?);
    command.args(["--checkpoint=fast", "--wal-method=stream", "--write-recovery-conf", "--no-sync"]);
    programs::run(command.arg("--dbname").arg(source).arg("--pgdata").arg(home.data())).map(drop)
}

/// The password `secret`, hashed once instead of 4,096 times (RFC 5802): in a build without optimisation the hash of each sign-in was most of the
/// time of the tests.
const SECRET: &str = "SCRAM-SHA-256$1:dGVudXJlIHRlc3RraXQhIQ==$gb8Fc8SjJIbZ6PXmfR1jHy67lJPE6C+2JLT4NPACz1A=:KxnTIbdw7KJh+Ze//3ucrVMx4Mgdms6ac/QhcLcD+YA=\n";

impl Engine for Programs {
    const KIND: Kind = Kind::Postgres;
    const USER: &'static str = "postgres";
    /// A "fast" shutdown: sessions are ended.
    const STOP: Signal = Signal::INT;
    /// An "immediate" one: no checkpoint.
    const DISCARD: Signal = Signal::QUIT;

    fn find(place: &Place) -> Result<Self, StartError> {
        Ok(Programs { initdb: place.find("initdb")?, postgres: place.find("postgres")? })
    }

    fn install(&self, home: &Home) -> Result<(), StartError> {
        let password = home.write("password", SECRET)?;
        let mut command = home.command(&self.initdb);
        command.args(["--no-sync", "--encoding=UTF8", "--locale=C.UTF-8", "--auth=scram-sha-256", "--username=tenure"]);
        command.arg("--pwfile").arg(password).arg("--pgdata").arg(home.data());
        programs::run(&mut command).map(drop)
    }

    fn serve(&self, home: &Home, port: u16, settings: &[(String, String)]) -> Command {
        let mut command = home.command(&self.postgres);
        command.arg("-D").arg(home.data()).arg("-p").arg(port.to_string());
        let settings = settings.iter().map(|(name, value)| format!("{name}={value}"));
        for setting in SETTINGS.map(String::from).into_iter().chain(settings) {
            command.arg("-c").arg(setting);
        }
        command
    }

    fn bury(&self, home: &Home) {
        release_memory(home);
    }
}

/// Each server owns a few bytes of System V shared memory. A killed one leaves them, and the system has a limited number; the seventh line
/// of this file, which a graceful stop removes, contains their id.
pub(crate) fn release_memory(home: &Home) {
    let Ok(text) = fs::read_to_string(home.data().join("postmaster.pid")) else { return };
    if let Some(id) = text.lines().nth(6).and_then(|line| line.split_whitespace().nth(1)) {
        let _ = programs::run(Command::new("ipcrm").args(["-m", id]));
    }
}
