//! Sessions, and the browsers in which members have signed in before.
//!
//! The secret of a session is in a cookie, and only its SHA-256 is stored: a reader of the table cannot sign in with it.

use tenure::{Database, Error, Transaction, Wait, error::DatabaseError};

use super::sql::{Dialect, execute, list, read};

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
struct SessionNowRow {
    #[sqlx(flatten)]
    session: SessionRow,
    member_version: i64,
}

/// The limits of expired sessions and browsers: seconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) started_before: i64,
    pub(crate) seen_before: i64,
    pub(crate) browsers_before: i64,
}

/// All but the latest few of this member.
const DROP_SESSIONS: &str = "
    delete from sign_in where member = ? and id not in (
        select id from (select id from sign_in where member = ? order by started_at desc, id desc limit ?) latest)";

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
    let insert = "insert into sign_in (id, member, epoch, browser, started_at, seen_at) values (?, ?, ?, ?, ?, ?)";
    execute!(db, tx, insert, (&row.id, &row.member, row.epoch, &row.browser, row.started_at, row.seen_at))?;
    execute!(db, tx, DROP_SESSIONS, (&row.member, &row.member, most)).map(drop)
}

/// The session with this id.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn read_session(db: &Database, id: &str) -> Result<Option<SessionRow>, DatabaseError> {
    let text = "select id, member, epoch, browser, started_at, seen_at from sign_in where id = ?";
    read!(db, fetch_optional, text, (id))
}

/// Those of these sessions that exist, with the version of their member: one statement.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn sessions_now(db: &Database, ids: &[&str]) -> Result<Vec<(SessionRow, i64)>, DatabaseError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let (places, ids) = list(ids);
    let text = format!(
        "select s.id, s.member, s.epoch, s.browser, s.started_at, s.seen_at, m.version as member_version
           from sign_in s join member m on m.id = s.member where s.id in ({places})"
    );
    let rows: Vec<SessionNowRow> = read!(db, fetch_all, &text, (), ids)?;
    Ok(rows.into_iter().map(|row| (row.session, row.member_version)).collect())
}

/// The sessions of this member in this epoch, the latest first.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn list_sessions(db: &Database, member: &str, epoch: i64) -> Result<Vec<SessionRow>, DatabaseError> {
    let text = "select id, member, epoch, browser, started_at, seen_at from sign_in where member = ? and epoch = ?
                 order by started_at desc, id desc";
    read!(db, fetch_all, text, (member, epoch))
}

/// Records a use, if the session still exists.
///
/// # Errors
/// [`Error::Database`]; then nothing is recorded.
pub(crate) async fn touch_session(db: &Database, id: &str, seen_at: i64, wait: Wait) -> Result<(), Error> {
    let mut tx = db.begin_within(wait).await?;
    // Never an insert: a session that was ended in between stays ended.
    let update = "update sign_in set seen_at = ? where id = ? and seen_at < ?";
    execute!(db, tx, update, (seen_at, id, seen_at))?;
    tx.commit().await
}

/// Ends a session of this member, and returns whether there was one.
///
/// # Errors
/// [`Error::Database`]; then it continues.
pub(crate) async fn delete_session(db: &Database, id: &str, member: &str) -> Result<bool, Error> {
    let mut tx = db.begin().await?;
    let deleted = execute!(db, tx, "delete from sign_in where id = ? and member = ?", (id, member))?;
    tx.commit().await?;
    Ok(deleted > 0)
}

/// Ends all sessions of this member, and forgets all their browsers.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn delete_sessions(db: &Database, tx: &mut Transaction, member: &str) -> Result<(), DatabaseError> {
    for delete in ["delete from sign_in where member = ?", "delete from known_browser where member = ?"] {
        execute!(db, tx, delete, (member))?;
    }
    Ok(())
}

/// All but the latest few of this member.
const DROP_BROWSERS: &str = "
    delete from known_browser where member = ? and browser not in (
        select browser from (
            select browser from known_browser where member = ? order by seen_at desc, browser desc limit ?) latest)";

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
    let insert = "insert into known_browser (member, browser, seen_at) values (?, ?, ?)";
    let upsert = Dialect::of(db).upsert(insert, "member, browser", &["seen_at"]);
    execute!(db, tx, &upsert, (member, browser, seen_at))?;
    execute!(db, tx, DROP_BROWSERS, (member, member, most)).map(drop)
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
    let text = "select exists (select 1 from known_browser where member = ? and browser = ? and seen_at > ?)";
    let (knows,): (bool,) = read!(db, fetch_one, text, (member, browser, since))?;
    Ok(knows)
}

/// Deletes expired ones.
///
/// # Errors
/// [`Error::Database`]; the rest stays, and is still not accepted.
pub(crate) async fn sweep_sessions(db: &Database, ended: Ended) -> Result<(), Error> {
    let mut tx = db.begin().await?;
    let delete = "delete from sign_in where started_at <= ? or seen_at <= ?";
    execute!(db, tx, delete, (ended.started_before, ended.seen_before))?;
    execute!(db, tx, "delete from known_browser where seen_at <= ?", (ended.browsers_before))?;
    tx.commit().await
}
