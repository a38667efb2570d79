//! Refused forms, and saved forms.

use tenure::{Database, Error, Transaction, error::DatabaseError};

use super::{mysql, on, postgres, sqlite};

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
}

/// Kept text that is not saved.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct UnsavedRow {
    pub(crate) id: String,
    pub(crate) about: String,
    pub(crate) form: String,
    /// Seconds since 1970.
    pub(crate) kept_at: i64,
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
    /// Seconds since 1970.
    pub(crate) saved_at: i64,
}

/// Keeps it, and deletes all but `most` of this member: first what was dropped, and what the same form was sent with before, the oldest
/// first.
///
/// # Errors
/// [`Error::Database`] when the database failed; nothing was kept.
pub(crate) async fn keep_form(db: &Database, form: &KeptRow, most: i64) -> Result<(), Error> {
    on!(db, keep_form(db, form, most))
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
    on!(db, kept_form(db, id, member, since))
}

/// The kept text of this member since then that was neither saved nor dropped, the latest first.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn unsaved_forms(db: &Database, member: &str, since: i64) -> Result<Vec<UnsavedRow>, DatabaseError> {
    on!(db, unsaved_forms(db, member, since))
}

/// The text of a form goes on in another one; without one, it is dropped: it stays at its address, and is named nowhere. Returns whether
/// there was any.
///
/// # Errors
/// [`Error::Database`] when the database failed; nothing was changed.
pub(crate) async fn move_text(db: &Database, text: &TextOf<'_>, to: Option<&str>) -> Result<bool, Error> {
    on!(db, move_text(db, text, to))
}

/// Records, in the transaction of the save, that this form was saved.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn mark_saved(db: &Database, tx: &mut Transaction, form: &SavedRow) -> Result<(), DatabaseError> {
    on!(db, mark_saved(tx, form))
}

/// Whether this form of this member was saved.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn saved_form(db: &Database, form_id: &str, member: &str) -> Result<Option<SavedRow>, DatabaseError> {
    on!(db, saved_form(db, form_id, member))
}

/// Deletes older ones.
///
/// # Errors
/// [`Error::Database`]; the rest is deleted next time.
pub(crate) async fn sweep_forms(db: &Database, before: i64) -> Result<(), Error> {
    on!(db, sweep_forms(db, before))
}
