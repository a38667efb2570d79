//! MariaDB, and MySQL.

use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use crate::engine::Engine;
use crate::error::StartError;
use crate::home::Home;
use crate::kind::Kind;
use crate::programs::{self, Place};
use crate::server::Server;

/// A throw-away MariaDB server, or MySQL if its programs are named, see [`Kind::programs_variable`].
pub type MariaDb = Server<Programs>;

/// The same for both programs; otherwise the server would spend its start on enlarging the log. MariaDB's default is 96 MB.
const LOG_SIZE: &str = "--innodb-log-file-size=16M";

/// The first are MariaDB's defaults, set explicitly: a test of durability must not depend on a default.
const SETTINGS: [&str; 6] = [
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-doublewrite=on",
    "--skip-log-bin",
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    // In the data folder. A socket's path must be short, and that of a temporary folder may be long.
    "--socket=socket",
];

const SETTINGS_OF_MARIADB: [&str; 3] = [
    // As in Debian's configuration; MariaDB's default is latin1.
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_general_ci",
    LOG_SIZE,
];

/// MySQL's default character set and collation are those of its users.
const SETTINGS_OF_MYSQL: [&str; 3] = ["--mysqlx=off", "--secure-file-priv=NULL", MYSQL_LOG_SIZE];

const MYSQL_LOG_SIZE: &str = "--innodb-redo-log-capacity=32M";

/// Creates our user.
const FIRST_SQL: &str = "first.sql";

/// The paths of the programs.
#[derive(Debug)]
pub struct Programs(Flavour);

#[derive(Debug)]
enum Flavour {
    MariaDb { install: PathBuf, mariadbd: PathBuf },
    MySql { mysqld: PathBuf },
}

impl Engine for Programs {
    const KIND: Kind = Kind::MariaDb;
    const USER: &'static str = "mysql";
    const STOP: Signal = Signal::TERM;
    /// It has one process, and nothing outside its folder.
    const DISCARD: Signal = Signal::KILL;

    fn find(place: &Place) -> Result<Self, StartError> {
        Ok(Programs(match place.has("mysqld") && !place.has("mariadbd") {
            true => Flavour::MySql { mysqld: place.find("mysqld")? },
            false => Flavour::MariaDb { install: place.find("mariadb-install-db")?, mariadbd: place.find("mariadbd")? },
        }))
    }

    fn install(&self, home: &Home) -> Result<(), StartError> {
        let data = format!("--datadir={}", home.data().display());
        let (sql, mut command) = match &self.0 {
            Flavour::MariaDb { install, .. } => {
                let mut command = home.command(install);
                command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
                command.args(["--skip-name-resolve", "--debug-no-sync", LOG_SIZE]);
                ("GRANT ALL ON *.* TO tenure@'%' IDENTIFIED BY 'secret' WITH GRANT OPTION;\n", command)
            }
            Flavour::MySql { mysqld } => {
                let mut command = home.command(mysqld);
                command.args(["--no-defaults", "--initialize-insecure", "--secure-file-priv=NULL", MYSQL_LOG_SIZE]);
                let user = "CREATE USER IF NOT EXISTS tenure@'%' IDENTIFIED BY 'secret';\n\
                            GRANT ALL ON *.* TO tenure@'%' WITH GRANT OPTION;\n";
                (user, command)
            }
        };
        home.write(FIRST_SQL, sql)?;
        programs::run(command.arg(data)).map(drop)
    }

    fn serve(&self, home: &Home, port: u16, settings: &[(String, String)]) -> Command {
        let (program, own) = match &self.0 {
            Flavour::MariaDb { mariadbd, .. } => (mariadbd, SETTINGS_OF_MARIADB),
            Flavour::MySql { mysqld } => (mysqld, SETTINGS_OF_MYSQL),
        };
        let mut command = home.command(program);
        command.arg("--no-defaults").arg(format!("--datadir={}", home.data().display())).arg(format!("--port={port}"));
        // Runs before the first connection is accepted.
        command.arg(format!("--init-file={}", home.folder().join(FIRST_SQL).display()));
        command.args(SETTINGS).args(own).args(settings.iter().map(|(name, value)| format!("--{name}={value}")));
        command
    }
}
