//! MariaDB.

use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use crate::engine::Engine;
use crate::error::StartError;
use crate::home::Home;
use crate::kind::Kind;
use crate::programs;
use crate::server::Server;

/// A throw-away MariaDB server.
pub type MariaDb = Server<Programs>;

/// The same for both programs, or the server would spend its start on making the log larger. MariaDB's own is 96 MB.
const LOG_SIZE: &str = "--innodb-log-file-size=16M";

/// The first are MariaDB's own, stated all the same: a test of durability should not hang on a default.
const SETTINGS: [&str; 9] = [
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-doublewrite=on",
    "--skip-log-bin",
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    // In the data folder. A socket's path must be short, and that of a temporary folder may be long.
    "--socket=socket",
    // As Debian's configuration has it; MariaDB's own is latin1.
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_general_ci",
    LOG_SIZE,
];

/// Makes our user.
const FIRST_SQL: &str = "first.sql";

/// Where MariaDB's programs are.
#[derive(Debug)]
pub struct Programs {
    install: PathBuf,
    mariadbd: PathBuf,
}

impl Engine for Programs {
    const KIND: Kind = Kind::MariaDb;
    const USER: &'static str = "mysql";
    const STOP: Signal = Signal::TERM;
    /// It has one process, and nothing outside its folder.
    const DISCARD: Signal = Signal::KILL;

    fn find() -> Result<Self, StartError> {
        let find = |program| programs::find(program, Kind::MariaDb);
        Ok(Programs { install: find("mariadb-install-db")?, mariadbd: find("mariadbd")? })
    }

    fn install(&self, home: &Home) -> Result<(), StartError> {
        home.write(FIRST_SQL, "GRANT ALL ON *.* TO tenure@'%' IDENTIFIED BY 'secret' WITH GRANT OPTION;\n")?;
        let mut command = home.command(&self.install);
        command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        command
            .args(["--skip-name-resolve", "--debug-no-sync", LOG_SIZE])
            .arg(format!("--datadir={}", home.data().display()));
        programs::run(&mut command).map(drop)
    }

    fn serve(&self, home: &Home, port: u16, settings: &[(String, String)]) -> Command {
        let mut command = home.command(&self.mariadbd);
        command.arg("--no-defaults").arg(format!("--datadir={}", home.data().display())).arg(format!("--port={port}"));
        // Runs before the first connection is let in.
        command.arg(format!("--init-file={}", home.folder().join(FIRST_SQL).display()));
        command.args(SETTINGS).args(settings.iter().map(|(name, value)| format!("--{name}={value}")));
        command
    }
}
