//! Refused forms, and saved forms.

use tenure::{Database, Error, Transaction, error::DatabaseError};

use super::failed;
use super::sql::{Dialect, execute, read};

/// The text of a refused form.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct KeptRow {
    pub(crate) id: String,
    pub(crate) member: String,
    pub(crate) about: String,
    pub(crate) what: String,
    /// The form in which its text goes on; `None` of a button.
    pub(crate) form: Option<String>,
    pub(crate) fields: String,
    /// Seconds since 1970.
    pub(crate) kept_at: i64,
    /// Whether its form was saved since. Not when it is kept.
    pub(crate) saved: bool,
}

/// Kept text that is not saved.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct UnsavedRow {
    pub(crate) id: String,
    pub(crate) about: String,
    pub(crate) what: String,
    pub(crate) form: String,
    /// Seconds since 1970.
    pub(crate) kept_at: i64,
    /// When it was dropped, if it was: seconds since 1970.
    pub(crate) dropped_at: Option<i64>,
}

/// The kept text of a form, of a member, about an order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextOf<'a> {
    pub(crate) member: &'a str,
    pub(crate) about: &'a str,
    pub(crate) form: &'a str,
}

/// A saved form, and the version that it created.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct SavedRow {
    pub(crate) form_id: String,
    pub(crate) member: String,
    /// A digest of the content: the same form with other text is another request.
    pub(crate) digest: String,
    pub(crate) version: i64,
    /// The version on which it was saved directly; 0 if that is not the one with which the form was opened.
    pub(crate) made_on: i64,
    /// Which of the texts it was with which the script sent the form; 0 without scripts.
    pub(crate) nth: i64,
    /// Seconds since 1970.
    pub(crate) saved_at: i64,
}

/// All but a few of this member: what nobody goes on with goes first.
const DROP_OLDEST: &str = "
    delete from kept_form where member = ? and id not in (
        select id from (
            select k.id from kept_form k where k.member = ?
            order by k.dropped_at is not null or exists (
                select 1 from kept_form n where n.member = k.member and n.form = k.form
                    and (n.kept_at > k.kept_at or n.kept_at = k.kept_at and n.id > k.id)),
                k.kept_at desc, k.id desc
            limit ?) latest)";

/// Keeps it, and deletes all but `most` of this member: first what was dropped, and what the same form was sent with before, the oldest
/// first.
///
/// # Errors
/// [`Error::Database`] when the database failed; nothing was kept.
pub(crate) async fn keep_form(db: &Database, form: &KeptRow, most: i64) -> Result<(), Error> {
    let KeptRow { id, member, about, what, form, fields, kept_at, .. } = form;
    let insert = "insert into kept_form (id, member, about, what, form, fields, kept_at) values (?, ?, ?, ?, ?, ?, ?)";
    let mut tx = db.begin().await?;
    execute!(db, tx, insert, (id, member, about, what, form, fields, kept_at))?;
    execute!(db, tx, DROP_OLDEST, (member, member, most))?;
    tx.commit().await
}

/// A form of this member that was kept after `since`.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn kept_form(
    db: &Database,
    id: &str,
    member: &str,
    since: i64,
) -> Result<Option<KeptRow>, DatabaseError> {
    let text = "select id, member, about, what, form, fields, kept_at, saved from kept_form
                 where id = ? and member = ? and kept_at > ?";
    read!(db, fetch_optional, text, (id, member, since))
}

/// The kept text of this member since then that was not saved, the latest first; if it was dropped, only since `dropped_since`.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn unsaved_forms(
    db: &Database,
    member: &str,
    since: i64,
    dropped_since: i64,
) -> Result<Vec<UnsavedRow>, DatabaseError> {
    let text = "
        select id, about, what, form, kept_at, dropped_at from kept_form
        where member = ? and kept_at > ? and form is not null and not saved and (dropped_at is null or dropped_at > ?)
        order by kept_at desc, id desc";
    read!(db, fetch_all, text, (member, since, dropped_since))
}

/// The text of a form goes on in another one; without one, it is dropped now: it stays at its address, and is named nowhere. Returns whether
/// there was any. Text that was saved stays so, but not in a form other than the one that was saved; nor is it unsaved in a form that was saved
/// before this was said.
///
/// # Errors
/// [`Error::Database`] when the database failed; nothing was changed.
pub(crate) async fn move_text(db: &Database, text: &TextOf<'_>, to: Option<&str>, now: i64) -> Result<bool, Error> {
    // MySQL assigns from left to right.
    let update = "
        update kept_form set
            saved = (saved and form = coalesce(?, form)) or exists (
                select 1 from saved_form s where s.form_id = ? and s.member = kept_form.member),
            form = coalesce(?, form), dropped_at = ?
        where member = ? and about = ? and form = ?";
    let mut tx = db.begin().await?;
    let moved =
        execute!(db, tx, update, (to, to, to, to.is_none().then_some(now), text.member, text.about, text.form))?;
    tx.commit().await?;
    Ok(moved > 0)
}

/// What a form was sent with after one text and up to another goes on in another one, where it is neither saved nor dropped.
///
/// # Errors
/// [`Error::Database`] when the database failed; nothing was changed.
pub(crate) async fn set_aside(
    db: &Database,
    text: &TextOf<'_>,
    (after, last): (&str, &str),
    to: &str,
) -> Result<(), Error> {
    // The ids are in the order in which the texts were kept.
    let update = "
        update kept_form set form = ?
        where member = ? and about = ? and form = ? and id > ? and id <= ? and not saved and dropped_at is null";
    let mut tx = db.begin().await?;
    execute!(db, tx, update, (to, text.member, text.about, text.form, after, last))?;
    tx.commit().await
}

/// Records, in the transaction of the save, that this form was saved, and what was refused of it before.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn mark_saved(db: &Database, tx: &mut Transaction, form: &SavedRow) -> Result<(), DatabaseError> {
    let SavedRow { form_id, member, digest, version, made_on, nth, saved_at } = form;
    let insert = "insert into saved_form (form_id, member, digest, version, made_on, nth, saved_at) values (?, ?, ?, ?, ?, ?, ?)";
    let replaced = ["digest", "version", "made_on", "nth", "saved_at"];
    let upsert = Dialect::of(db).upsert(insert, "form_id, member", &replaced);
    execute!(db, tx, &upsert, (form_id, member, digest, version, made_on, nth, saved_at))?;
    let text = "update kept_form set saved = ? where member = ? and form = ?";
    execute!(db, tx, text, (true, member, form_id)).map(drop)
}

/// InnoDB shows a commit before it is flushed. This commit flushes it too, so that no answer reports a save that a crash undoes. A row
/// that stays the same is not written; the time stays within a second, however often it is asked.
const FLUSH_SAVED_FORM: &str = "update saved_form set saved_at = saved_at ^ 1 where form_id = ? and member = ?";

/// Whether this form of this member was saved.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn saved_form(db: &Database, form_id: &str, member: &str) -> Result<Option<SavedRow>, DatabaseError> {
    let text = "select form_id, member, digest, version, made_on, nth, saved_at from saved_form
                 where form_id = ? and member = ?";
    let saved = read!(db, fetch_optional, text, (form_id, member))?;
    if let (Some(_), Ok(mysql)) = (&saved, db.mysql()) {
        let flush = sqlx::query(FLUSH_SAVED_FORM).bind(form_id).bind(member);
        let flushed = flush.execute(mysql).await.map_err(failed)?;
        return Ok(saved.filter(|_| flushed.rows_affected() == 1));
    }
    Ok(saved)
}

/// Deletes older ones.
///
/// # Errors
/// [`Error::Database`]; the rest is deleted next time.
pub(crate) async fn sweep_forms(db: &Database, before: i64) -> Result<(), Error> {
    let mut tx = db.begin().await?;
    for delete in ["delete from kept_form where kept_at <= ?", "delete from saved_form where saved_at <= ?"] {
        execute!(db, tx, delete, (before))?;
    }
    tx.commit().await
}
