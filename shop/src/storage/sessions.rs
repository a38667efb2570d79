//! Sessions, and the browsers in which members have signed in before.
//!
//! The secret of a session is in a cookie, and only its SHA-256 is stored: a reader of the table cannot sign in with it.

use tenure::{Database, Error, Transaction, Wait, error::DatabaseError};

use super::{mysql, on, postgres, sqlite};

/// A session. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct SessionRow {
    /// The SHA-256 of the secret.
    pub(crate) id: String,
    pub(crate) member: String,
    /// The epoch of the member when it began.
    pub(crate) epoch: i64,
    /// The user agent of the browser.
    pub(crate) browser: String,
    pub(crate) started_at: i64,
    /// The last use, to a few minutes.
    pub(crate) seen_at: i64,
}

/// A session, and the version of its member.
#[derive(sqlx::FromRow)]
pub(super) struct SessionNowRow {
    #[sqlx(flatten)]
    pub(super) session: SessionRow,
    pub(super) member_version: i64,
}

/// The limits of expired sessions and browsers: seconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) started_before: i64,
    pub(crate) seen_before: i64,
    pub(crate) browsers_before: i64,
}

/// The members whose password is the public one of the demo.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn demo_members(db: &Database) -> Result<Vec<String>, DatabaseError> {
    on!(db, demo_members(db))
}

/// Inserts a new session, and deletes all but the latest `most` of its member.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn insert_session(
    db: &Database,
    tx: &mut Transaction,
    row: &SessionRow,
    most: i64,
) -> Result<(), DatabaseError> {
    on!(db, insert_session(tx, row, most))
}

/// The session with this id.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn read_session(db: &Database, id: &str) -> Result<Option<SessionRow>, DatabaseError> {
    on!(db, read_session(db, id))
}

/// Those of these sessions that exist, with the version of their member: one statement.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn sessions_now(db: &Database, ids: &[&str]) -> Result<Vec<(SessionRow, i64)>, DatabaseError> {
    let rows: Vec<SessionNowRow> = if ids.is_empty() { Vec::new() } else { on!(db, sessions_now(db, ids))? };
    Ok(rows.into_iter().map(|row| (row.session, row.member_version)).collect())
}

/// The sessions of this member in this epoch, the latest first.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn list_sessions(db: &Database, member: &str, epoch: i64) -> Result<Vec<SessionRow>, DatabaseError> {
    on!(db, list_sessions(db, member, epoch))
}

/// Records a use, if the session still exists.
///
/// # Errors
/// [`Error::Database`]; then nothing is recorded.
pub(crate) async fn touch_session(db: &Database, id: &str, seen_at: i64, wait: Wait) -> Result<(), Error> {
    on!(db, touch_session(db, id, seen_at, wait))
}

/// Ends a session of this member, and returns whether there was one.
///
/// # Errors
/// [`Error::Database`]; then it continues.
pub(crate) async fn delete_session(db: &Database, id: &str, member: &str) -> Result<bool, Error> {
    on!(db, delete_session(db, id, member))
}

/// Ends all sessions of this member, and forgets all their browsers.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn delete_sessions(db: &Database, tx: &mut Transaction, member: &str) -> Result<(), DatabaseError> {
    on!(db, delete_sessions(tx, member))
}

/// Records that the member has signed in in this browser, and deletes all but the latest `most`.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn remember_browser(
    db: &Database,
    tx: &mut Transaction,
    member: &str,
    browser: &str,
    seen_at: i64,
    most: i64,
) -> Result<(), DatabaseError> {
    on!(db, remember_browser(tx, member, browser, seen_at, most))
}

/// Whether the member has signed in in this browser after `since`.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn knows_browser(
    db: &Database,
    member: &str,
    browser: &str,
    since: i64,
) -> Result<bool, DatabaseError> {
    on!(db, knows_browser(db, member, browser, since))
}

/// Deletes expired ones.
///
/// # Errors
/// [`Error::Database`]; the rest stays, and is still not accepted.
pub(crate) async fn sweep_sessions(db: &Database, ended: Ended) -> Result<(), Error> {
    on!(db, sweep_sessions(db, ended))
}
