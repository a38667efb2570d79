//! Connecting: the settings that keep acknowledged locks are verified, the schema is brought up to date.

use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Row};

use super::errors::classify;
use super::{Postgres, Time};
use crate::clock::ManualClock;
use crate::error::DatabaseError;

/// Connections per process. Two cores' worth of PostgreSQL backends are busy with far fewer.
const CONNECTIONS: u32 = 10;

impl Postgres {
    /// Connects and migrates tenure's own tables.
    pub(crate) async fn open(url: &str, clock: Option<ManualClock>) -> Result<Self, DatabaseError> {
        let options: PgConnectOptions = url.parse().map_err(|error: sqlx::Error| DatabaseError::Unreachable {
            url: "postgres://…".into(),
            problem: format!("the URL is not understood: {error}"),
        })?;
        let shown = format!(
            "postgres://{}@{}:{}/{}",
            options.get_username(),
            options.get_host(),
            options.get_port(),
            options.get_database().unwrap_or_default()
        );
        let unreachable =
            |error: sqlx::Error| DatabaseError::Unreachable { url: shown.clone(), problem: advice(&error) };
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(Duration::from_secs(5))
            .test_before_acquire(false)
            .connect_with(options.application_name("tenure"))
            .await
            .map_err(unreachable)?;
        let version = verify(&pool).await?;
        migrator().run(&pool).await.map_err(migration_failed)?;
        Ok(Postgres { pool, time: Time(clock), version })
    }
}

/// tenure's tables have a ledger of their own, so that the application's migrations stay the application's.
fn migrator() -> Migrator {
    let mut migrator = sqlx::migrate!("migrations/postgres");
    migrator.dangerous_set_table_name("_tenure_migrations");
    migrator
}

/// Refuses settings that forget what was acknowledged; tells the server's version.
async fn verify(pool: &PgPool) -> Result<String, DatabaseError> {
    let select =
        "select current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes'),
                         pg_is_in_recovery(), current_setting('server_version')";
    let row = sqlx::query(select).fetch_one(pool).await.map_err(classify)?;
    for (at, name) in ["fsync", "synchronous_commit", "full_page_writes"].into_iter().enumerate() {
        let value: String = row.try_get(at).map_err(classify)?;
        if value == "off" {
            return Err(DatabaseError::Schema(format!(
                "{name} is off: the server may forget a lock after it said it was granted; set {name} = on"
            )));
        }
    }
    match row.try_get(3).map_err(classify)? {
        true => Err(DatabaseError::ReadOnly),
        false => row.try_get(4).map_err(classify),
    }
}

fn advice(error: &sqlx::Error) -> String {
    let code = error.as_database_error().and_then(|error| error.code());
    match code.as_deref() {
        Some("28P01" | "28000") => format!("{error}; check the user and the password in the URL"),
        Some("3D000") => format!("{error}; create it, or name another in the URL"),
        Some("53300") => format!("{error}; close other connections, or raise max_connections"),
        _ => format!("{error}; check host and port, and that the server is running"),
    }
}

/// Says what a failed migration means.
pub(super) fn migration_failed(error: MigrateError) -> DatabaseError {
    match error {
        MigrateError::VersionMissing(number) => DatabaseError::Schema(format!(
            "it has migration {number}, which this release does not know; start the newer release that wrote it, or \
             restore a backup from before the upgrade"
        )),
        MigrateError::VersionMismatch(number) => DatabaseError::Schema(format!(
            "migration {number} was applied with other contents; the database belongs to another build"
        )),
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => classify(error),
        error => DatabaseError::Schema(error.to_string()),
    }
}
