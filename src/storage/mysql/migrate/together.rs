//! Migrating a cluster whose nodes all accept writes, while a process on another node may do the same.
//!
//! Each migration begins with its entry in the ledger, which is committed before the first change of a table. So one process applies it, and
//! the others lose the race for the entry, or find it there and unfinished. They wait until it is finished, and continue with the next.

use std::time::{Duration, Instant};

use sqlx::MySqlConnection;
use sqlx::migrate::{MigrateError, Migrator};

use crate::storage::mysql::errors::{is_duplicate, number};

/// An unfinished migration counts as interrupted after this time, as long as other processes wait for the lock on a single server.
const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(100);

/// Applies the missing migrations, or waits for those of another process.
pub(super) async fn run(connection: &mut MySqlConnection, migrator: &Migrator) -> Result<(), MigrateError> {
    let begun = Instant::now();
    loop {
        match migrator.run_direct(None, &mut *connection, false).await {
            Err(error) if is_by_another(&error) && begun.elapsed() < PATIENCE => tokio::time::sleep(PAUSE).await,
            done => return done,
        }
    }
}

/// Whether another process is applying the migration, or has just done it.
fn is_by_another(error: &MigrateError) -> bool {
    match error {
        MigrateError::Dirty(_) => true,
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => lost_a_race(error),
        _ => false,
    }
}

/// The entry exists; or the cluster chose the other one, when this one was committed.
fn lost_a_race(error: &sqlx::Error) -> bool {
    is_duplicate(error) || number(error) == Some(1213)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_migration_is_waited_for() {
        assert!(is_by_another(&MigrateError::Dirty(7)));
        assert!(!is_by_another(&MigrateError::VersionMismatch(7)));
        assert!(!is_by_another(&MigrateError::Execute(sqlx::Error::PoolClosed)));
    }
}
