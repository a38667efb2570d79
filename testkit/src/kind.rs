//! The two kinds of servers, and what differs between them as a client sees it.

use std::path::Path;
use std::process::Command;

/// Which database server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB, which speaks MySQL's protocol.
    MariaDb,
}

impl Kind {
    /// The environment variable that names a running server: its URL, with a user that may create databases.
    pub const fn variable(self) -> &'static str {
        match self {
            Kind::Postgres => "TENURE_POSTGRES_URL",
            Kind::MariaDb => "TENURE_MYSQL_URL",
        }
    }

    /// Debian's package with the server and its programs.
    pub const fn package(self) -> &'static str {
        match self {
            Kind::Postgres => "postgresql",
            Kind::MariaDb => "mariadb-server",
        }
    }

    pub(crate) const fn scheme(self) -> &'static str {
        match self {
            Kind::Postgres => "postgres",
            Kind::MariaDb => "mysql",
        }
    }

    pub(crate) const fn client(self) -> &'static str {
        match self {
            Kind::Postgres => "psql",
            Kind::MariaDb => "mariadb",
        }
    }

    /// A database that every server of this kind has.
    pub(crate) const fn system_database(self) -> &'static str {
        match self {
            Kind::Postgres => "postgres",
            Kind::MariaDb => "mysql",
        }
    }

    /// `name` is known to need no escaping.
    pub(crate) fn create_database(self, name: &str) -> String {
        match self {
            Kind::Postgres => format!("CREATE DATABASE \"{name}\""),
            Kind::MariaDb => format!("CREATE DATABASE `{name}`"),
        }
    }

    /// Asks the server for the folder with its data: another server may have got the port before ours.
    pub(crate) const fn whose_data(self) -> &'static str {
        match self {
            Kind::Postgres => "SHOW data_directory",
            Kind::MariaDb => "SELECT @@datadir",
        }
    }
}

/// Where a server listens, and as whom to come.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Address {
    pub(crate) kind: Kind,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    pub(crate) fn local(kind: Kind, port: u16) -> Self {
        Address { kind, user: "tenure".into(), password: "secret".into(), host: "127.0.0.1".into(), port }
    }

    /// Reads `scheme://user:password@host:port/database`. Nothing in it may be percent-encoded.
    pub(crate) fn parse(kind: Kind, url: &str) -> Option<Self> {
        let rest = url.split_once("://")?.1;
        let rest = rest.split_once('/').map_or(rest, |(before, _)| before);
        let (person, place) = rest.rsplit_once('@')?;
        let (user, password) = person.split_once(':')?;
        let (host, port) = place.rsplit_once(':')?;
        let port = port.parse().ok()?;
        Some(Address { kind, user: user.into(), password: password.into(), host: host.into(), port })
    }

    pub(crate) fn url(&self, database: &str) -> String {
        let Address { kind, user, password, host, port } = self;
        format!("{}://{user}:{password}@{host}:{port}/{database}", kind.scheme())
    }

    /// The client program, about to run `sql`. It prints bare values, and reads no configuration of this machine's.
    pub(crate) fn client(&self, program: &Path, database: &str, sql: &str) -> Command {
        let mut command = Command::new(program);
        match self.kind {
            Kind::Postgres => command
                .args(["--no-psqlrc", "--no-password", "--quiet", "--tuples-only", "--no-align"])
                .args(["--set=ON_ERROR_STOP=1", "--command", sql])
                .arg(self.url(database)),
            Kind::MariaDb => command
                .args(["--no-defaults", "--protocol=tcp", "--batch", "--skip-column-names"])
                .arg(format!("--host={}", self.host))
                .arg(format!("--port={}", self.port))
                .arg(format!("--user={}", self.user))
                .arg(format!("--password={}", self.password))
                .args(["--execute", sql, database]),
        };
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_as_it_is_written() {
        for kind in [Kind::Postgres, Kind::MariaDb] {
            let address = Address::local(kind, 24601);
            assert_eq!(Address::parse(kind, &address.url("shop")), Some(address));
        }
        assert_eq!(Address::parse(Kind::Postgres, "127.0.0.1:5432"), None);
    }
}
