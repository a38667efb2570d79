//! What SQLite's error codes mean. Codes: <https://www.sqlite.org/rescode.html>; the low byte is the primary code.

use std::sync::Arc;

use crate::error::DatabaseError;

const BUSY: i32 = 5;
const READONLY: i32 = 8;
const CANTOPEN: i32 = 14;
const CONSTRAINT: i32 = 19;
const CONSTRAINT_PRIMARYKEY: i32 = 1555;
const CONSTRAINT_UNIQUE: i32 = 2067;
const NOTADB: i32 = 26;

/// The meaning of a driver error.
pub(super) fn classify(error: sqlx::Error) -> DatabaseError {
    match code(&error).map(|code| code & 0xff) {
        Some(READONLY) => DatabaseError::ReadOnly,
        Some(CONSTRAINT) => DatabaseError::Constraint(error.to_string()),
        Some(CANTOPEN) => DatabaseError::Other(Arc::new(Hint("unable to open the database file", error))),
        Some(NOTADB) => DatabaseError::Other(Arc::new(Hint("the file is not a SQLite database", error))),
        _ => DatabaseError::Other(Arc::new(error)),
    }
}

/// Whether somebody else held the file for longer than the busy timeout.
pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| code & 0xff == BUSY)
}

/// Whether a row with this key is there already.
pub(super) fn is_duplicate(error: &sqlx::Error) -> bool {
    matches!(code(error), Some(CONSTRAINT_PRIMARYKEY | CONSTRAINT_UNIQUE))
}

fn code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// A driver error said in a plain sentence; the driver's own words are its source.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Hint(&'static str, #[source] sqlx::Error);
