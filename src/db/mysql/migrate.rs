//! Creates tenure's tables, in one process at a time, also after an interruption. (A transaction cannot contain changes of tables here.)

use sqlx::MySqlPool;
use sqlx::migrate::{MigrateError, Migrator};

use super::errors::classify;
use crate::db::migration;
use crate::error::DatabaseError;

/// tenure's tables have their own ledger, separate from the application's migrations.
pub(crate) fn migrator() -> Migrator {
    let mut migrator = sqlx::migrate!("migrations/mysql");
    migrator.dangerous_set_table_name("_tenure_migrations");
    migrator
}

/// The name of the lock for migrations: at most 64 characters, for any name of the database. (MySQL 9.6 has no `md5()` any more.)
macro_rules! lock_name {
    () => {
        "concat('tenure.', left(sha2(database(), 256), 48))"
    };
}

/// The owner of the migrations.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Whose {
    Tenure,
    Application,
}

/// Migrates in one process at a time. sqlx tries to ensure that, but requests its lock in a way that MariaDB answers with null at once. A
/// transaction cannot contain changes of tables here, so an interrupted migration is half done. tenure's own create only what is
/// missing, so they run again.
pub(crate) async fn migrate(pool: &MySqlPool, migrator: &Migrator, whose: Whose) -> Result<(), DatabaseError> {
    let mut connection = pool.acquire().await.map_err(classify)?;
    // In every case the lock ends with the connection.
    connection.close_on_drop();
    let lock = concat!("select get_lock(", lock_name!(), ", 60)");
    let locked: Option<i64> = sqlx::query_scalar(lock).fetch_one(&mut *connection).await.map_err(classify)?;
    if locked != Some(1) {
        return Err(DatabaseError::Busy("another process is still making the tables"));
    }
    let done = match migrator.run_direct(None, &mut *connection, false).await {
        Err(MigrateError::Dirty(_)) if whose == Whose::Tenure => {
            let undone = "delete from _tenure_migrations where not success";
            sqlx::query(undone).execute(&mut *connection).await.map_err(classify)?;
            migrator.run_direct(None, &mut *connection, false).await
        }
        done => done,
    };
    done.map_err(|error| migration::failed(error, classify))?;
    let unlock = sqlx::query(concat!("select release_lock(", lock_name!(), ")"));
    unlock.execute(&mut *connection).await.map(drop).map_err(classify)
}
