//! Connecting: the settings that keep acknowledged locks are verified, the schema is brought up to date.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::{Connection, Executor, MySqlConnection, MySqlPool, Row};

use super::connection::Connections;
use super::deadline::Flavour;
use super::errors::{classify, number};
use super::{MySql, Time};
use crate::clock::to_micros;
use crate::database::ConnectOptions;
use crate::diagnosis::{Diagnosis, Setting};
use crate::error::DatabaseError;

/// Connections per process. Two cores' worth of threads are busy with far fewer.
const CONNECTIONS: u32 = 10;

/// How long to wait for a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// What every connection is set to, whatever the server's defaults are. The mode refuses values that do not fit their
/// column, instead of cutting them off.
const SESSION: &str = "
    set session transaction isolation level read committed;
    set names utf8mb4;
    set time_zone = '+00:00', autocommit = 1,
        sql_mode = concat(@@sql_mode, ',STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION')";

impl MySql {
    /// Connects and migrates tenure's own tables.
    pub(crate) async fn open(url: &str, connect: ConnectOptions) -> Result<Self, DatabaseError> {
        let pool = pool(url).await?;
        let Server { flavour, version, settings, read_only } = look(&pool).await?;
        if let Some(bad) = settings.iter().find(|setting| !setting.good && !connect.volatile) {
            return Err(DatabaseError::Schema(bad.to_string()));
        }
        if read_only {
            return Err(DatabaseError::ReadOnly);
        }
        migrate(&pool, &migrator()).await?;
        let connections = Connections { pool, flavour, labels: Default::default() };
        Ok(MySql { connections, time: Time(connect.clock), version })
    }
}
