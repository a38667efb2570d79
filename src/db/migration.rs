//! The meaning of a failed migration, and the same migrations as a script, for all databases.

use std::fmt::Write;

use sqlx::migrate::{MigrateError, Migrator};

use crate::aggregate::value::hex;
use crate::error::DatabaseError;

/// The number of the first migration. Those below it were applied by checkouts before the first release.
const FIRST: i64 = 9;

/// What to do with the tables of such a checkout.
pub(crate) const UNRELEASED: &str = "its tables were created by a checkout of tenure before the first release, and cannot be \
     upgraded; connect to a new database, or stop all processes and drop the tables `tenure_*` and `_tenure_migrations` (on PostgreSQL the \
     functions `tenure_*` too): all leases, their history and the kept revisions are lost, the tables of the application stay";

/// Whether such a checkout has made these tables.
pub(crate) fn is_unreleased(applied: &[i64]) -> bool {
    applied.iter().any(|number| *number < FIRST)
}

/// Whether migrations have to run. It is known before they are tried: a user without the right to create tables would only hear of that right.
///
/// # Errors
/// If a newer release has migrated it, or such a checkout.
pub(crate) fn is_due(migrator: &Migrator, applied: &[i64]) -> Result<bool, DatabaseError> {
    if is_unreleased(applied) {
        return Err(DatabaseError::Schema(UNRELEASED.to_owned()));
    }
    match applied.iter().find(|number| !migrator.version_exists(**number)) {
        Some(number) => Err(unknown(*number)),
        None => Ok(applied.len() < migrator.iter().count()),
    }
}

fn unknown(number: i64) -> DatabaseError {
    DatabaseError::Schema(format!(
        "it has migration {number}, which this release does not know; start the newer release that wrote it, or restore a backup from \
         before the upgrade"
    ))
}

/// Converts the error; `classify` is the backend's own, for errors of its database.
pub(crate) fn failed(error: MigrateError, classify: fn(sqlx::Error) -> DatabaseError) -> DatabaseError {
    match error {
        MigrateError::VersionMissing(number) => unknown(number),
        MigrateError::VersionMismatch(number) => DatabaseError::Schema(format!(
            "migration {number} was applied with other contents; the database belongs to another build"
        )),
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => classify(error),
        error => DatabaseError::Schema(error.to_string()),
    }
}

/// The dialect of the script, besides the migrations.
pub(crate) struct Dialect {
    /// The ledger table, as sqlx creates it.
    pub ledger: &'static str,
    /// The prefix and suffix of a binary value in hexadecimal digits.
    pub bytes: (&'static str, &'static str),
    /// The begin and end of a transaction, where it can contain changes of tables.
    pub transaction: (&'static str, &'static str),
}

/// The missing migrations, as statements for the database's own client, with their entries in the ledger: a process that connects
/// after that finds nothing left to do.
pub(crate) fn script(migrator: &Migrator, applied: &[i64], dialect: &Dialect) -> String {
    let missing = || migrator.iter().filter(|migration| !applied.contains(&migration.version));
    let mut script = String::new();
    if missing().next().is_none() {
        return script;
    }
    let (begin, end) = dialect.transaction;
    script.push_str(begin);
    script.push_str(dialect.ledger);
    for migration in missing() {
        let checksum = hex(&migration.checksum);
        let (version, description) = (migration.version, migration.description.replace('\'', "''"));
        let (before, after) = dialect.bytes;
        let _ = write!(
            script,
            "\n-- {version}: {description}\n{}\ninsert into _tenure_migrations (version, description, success, checksum, \
             execution_time)\nvalues ({version}, '{description}', true, {before}{checksum}{after}, 0);\n",
            migration.sql.as_str().trim_end()
        );
    }
    script.push_str(end);
    script
}
