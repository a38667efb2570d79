//! What a failed migration means, the same on every database.

use sqlx::migrate::MigrateError;

use crate::error::DatabaseError;

/// Says it; `classify` is the backend's own, for what its database refused.
pub(super) fn failed(error: MigrateError, classify: fn(sqlx::Error) -> DatabaseError) -> DatabaseError {
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
