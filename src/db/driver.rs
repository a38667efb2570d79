//! The driver's own options instead of a URL.

/// The options of a driver of sqlx, for settings that a URL cannot contain: a certificate from memory, a socket, a password from a secret
/// store. Each driver's options convert into it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum DriverOptions {
    /// A SQLite file.
    #[cfg(feature = "sqlite")]
    Sqlite(Box<sqlx::sqlite::SqliteConnectOptions>),
    /// A PostgreSQL server.
    #[cfg(feature = "postgres")]
    Postgres(Box<sqlx::postgres::PgConnectOptions>),
    /// A MariaDB or MySQL server.
    #[cfg(feature = "mysql")]
    MySql(Box<sqlx::mysql::MySqlConnectOptions>),
}

#[cfg(feature = "sqlite")]
impl From<sqlx::sqlite::SqliteConnectOptions> for DriverOptions {
    fn from(options: sqlx::sqlite::SqliteConnectOptions) -> Self {
        DriverOptions::Sqlite(Box::new(options))
    }
}

#[cfg(feature = "postgres")]
impl From<sqlx::postgres::PgConnectOptions> for DriverOptions {
    fn from(options: sqlx::postgres::PgConnectOptions) -> Self {
        DriverOptions::Postgres(Box::new(options))
    }
}

#[cfg(feature = "mysql")]
impl From<sqlx::mysql::MySqlConnectOptions> for DriverOptions {
    fn from(options: sqlx::mysql::MySqlConnectOptions) -> Self {
        DriverOptions::MySql(Box::new(options))
    }
}

/// The address of a database: a URL, or the driver's options.
#[derive(Clone)]
pub(crate) enum Address<'a, O> {
    Url(&'a str),
    Options(Box<O>),
}
