//! The two kinds of servers, and what differs between them as a client sees it.

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
