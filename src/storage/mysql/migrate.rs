//! Creates tenure's tables, in one process at a time, also after an interruption. (A transaction cannot contain changes of tables here.)

use sqlx::migrate::{MigrateError, Migration, Migrator};
use sqlx::{AssertSqlSafe, MySqlConnection, MySqlPool};

use super::deadline::Flavour;
use super::errors::{classify, number};
use crate::error::DatabaseError;
use crate::storage::sql::migration;

/// tenure's tables have their own ledger, separate from the application's migrations.
pub(super) fn migrator() -> Migrator {
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

/// Migrates in one process at a time. sqlx tries to ensure that, but requests its lock in a way that MariaDB answers with null at once. A
/// transaction cannot contain changes of tables here, so an interrupted migration is half done: for tenure's own tables it is then
/// completed.
pub(super) async fn migrate(pool: &MySqlPool, migrator: &Migrator, own: Option<Flavour>) -> Result<(), DatabaseError> {
    let mut connection = pool.acquire().await.map_err(classify)?;
    // In every case the lock ends with the connection.
    connection.close_on_drop();
    let lock = concat!("select get_lock(", lock_name!(), ", 60)");
    let locked: Option<i64> = sqlx::query_scalar(lock).fetch_one(&mut *connection).await.map_err(classify)?;
    if locked != Some(1) {
        return Err(DatabaseError::Busy("another process is still making the tables"));
    }
    let done = match (migrator.run_direct(None, &mut *connection, false).await, own) {
        (Err(MigrateError::Dirty(_)), Some(flavour)) => {
            repair(&mut connection, migrator, flavour).await.map_err(classify)?;
            migrator.run_direct(None, &mut *connection, false).await
        }
        (done, _) => done,
    };
    done.map_err(|error| migration::failed(error, classify))?;
    let unlock = sqlx::query(concat!("select release_lock(", lock_name!(), ")"));
    unlock.execute(&mut *connection).await.map(drop).map_err(classify)
}

/// Repairs an interrupted migration. On MariaDB our migrations can be repeated: they create only what is missing. MySQL has no `if not
/// exists` for columns and indexes, so there each missing statement is repeated.
async fn repair(connection: &mut MySqlConnection, migrator: &Migrator, flavour: Flavour) -> Result<(), sqlx::Error> {
    if flavour == Flavour::MariaDb {
        let undone = "delete from _tenure_migrations where not success";
        return sqlx::query(undone).execute(connection).await.map(drop);
    }
    let interrupted = "select version from _tenure_migrations where not success order by version";
    let interrupted: Vec<i64> = sqlx::query_scalar(interrupted).fetch_all(&mut *connection).await?;
    for migration in migrator.iter().filter(|migration| interrupted.contains(&migration.version)) {
        for statement in statements(migration) {
            match sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *connection).await {
                Err(error) if !was_done_before(&error) => return Err(error),
                _ => {}
            }
        }
        let done = sqlx::query("update _tenure_migrations set success = true where version = ?");
        done.bind(migration.version).execute(&mut *connection).await?;
    }
    Ok(())
}

/// The error of a repeated statement: the table, column or index exists; the check does not exist. Each statement is executed completely or
/// not at all, also one with several changes.
fn was_done_before(error: &sqlx::Error) -> bool {
    matches!(number(error), Some(1050 | 1060 | 1061 | 1091 | 3821))
}

/// The statements of a migration, without comments to the end of a line. None has a semicolon, or two hyphens, in a text.
fn statements(migration: &Migration) -> Vec<String> {
    let sql = migration.sql.as_str();
    let lines = sql.lines().map(|line| line.split_once("--").map_or(line, |(before, _)| before));
    let sql = lines.collect::<Vec<_>>().join("\n");
    sql.split(';').map(str::trim).filter(|statement| !statement.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_migration_is_split_into_whole_statements() {
        for migration in migrator().iter() {
            let statements = statements(migration);
            assert!(!statements.is_empty(), "{}", migration.description);
            for statement in statements {
                let begins = ["create table", "alter table", "update", "insert into"];
                assert!(begins.iter().any(|begin| statement.starts_with(begin)), "{statement}");
                assert_eq!(statement.matches('(').count(), statement.matches(')').count(), "{statement}");
                assert_eq!(statement.matches('\'').count() % 2, 0, "{statement}");
            }
        }
    }
}
