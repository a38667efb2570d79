//! The two kinds of servers, and their differences for a client.

/// The kind of database server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB, or MySQL where [`programs_variable`](Self::programs_variable) names its programs: one protocol.
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

    /// The environment variable that names a folder with the programs of another server of this kind, such as a newer version, or
    /// MySQL instead of MariaDB. Its servers are started instead of the installed ones.
    pub const fn programs_variable(self) -> &'static str {
        match self {
            Kind::Postgres => "TENURE_POSTGRES_PROGRAMS",
            Kind::MariaDb => "TENURE_MYSQL_PROGRAMS",
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

    /// The client program, by all names that it has.
    pub(crate) const fn clients(self) -> &'static [&'static str] {
        match self {
            Kind::Postgres => &["psql"],
            Kind::MariaDb => &["mariadb", "mysql"],
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

    /// Queries the data folder of the server: another server may have taken the port first.
    pub(crate) const fn whose_data(self) -> &'static str {
        match self {
            Kind::Postgres => "SHOW data_directory",
            Kind::MariaDb => "SELECT @@datadir",
        }
    }
}
