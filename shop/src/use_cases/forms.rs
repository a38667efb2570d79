//! Repeated forms and refused forms: a form is saved once, and its text is kept.

use jiff::Timestamp;
use tenure::{
    Aggregate, LockId, Version,
    unit_of_work::{Also, Steps, Update},
};
use tenure_web::form_id::FormId;

use super::change_order::as_often_as_is_safe;
use super::{Refusal, Shop};
use crate::domain::{Member, OrderNo};
use crate::storage::{self, KeptRow, SavedRow, TextOf, UnsavedRow};

/// The maximum number of kept forms per member.
const MOST_KEPT: i64 = 50;
/// The maximum bytes kept of one form. A longer one is shown only in the response itself.
const LONGEST_KEPT: usize = 64 * 1024;
/// How long refused forms are kept, in seconds.
const KEPT_FOR: i64 = 24 * 60 * 60;
/// How long text that its person dropped is offered, in seconds. The script offers drafts as long.
const DROPPED_FOR: i64 = 10 * 60;

/// Whether a form is saved, or only tested.
#[derive(Debug, Clone)]
pub enum Doing {
    /// Save it. If the same form is sent again, this save is the result.
    Save(Once),
    /// Return the result that a save would have now; nothing is changed.
    Ask,
}

/// A form, with its content when it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// The form.
    pub form: FormId,
    /// A digest of the content: a corrected form is another request.
    pub digest: String,
    /// The number of the version on which it is saved directly: 0 if the aggregate does not exist yet, and for a save together
    /// with the changes of others.
    pub on: i64,
    /// Which of the texts it is with which the script sent the form, from 1; 0 without scripts.
    pub nth: i64,
}

/// A refused form, as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its kind, as a code of the pages.
    pub what: String,
    /// Names and values.
    pub fields: Vec<(String, String)>,
    /// Whether it has text of the person that is not saved: a button has none, nor has a form in which nothing was typed.
    pub has_text: bool,
    /// When it was sent; `None`: just now.
    pub at: Option<Timestamp>,
    /// Whether its form was saved since.
    pub is_saved: bool,
}

impl Kept {
    /// Whether it is the text of an order or of its note. The others are buttons, and the reason for ending a lock.
    pub fn is_text(what: &str) -> bool {
        ["change-shipping", "open-edit", "save-edit", "open-note", "save-note"].contains(&what)
    }

    /// The form whose text it is.
    fn form(&self) -> Option<FormId> {
        let (_, id) = self.fields.iter().find(|(name, _)| name == "form_id" && self.has_text)?;
        id.parse().ok()
    }

    /// As it is stored, and where its text goes on.
    fn of(row: KeptRow) -> Option<Self> {
        let mut fields: Vec<(String, String)> = serde_json::from_str(&row.fields).ok()?;
        let has_text = row.form.is_some();
        fields.extend(row.form.map(|form| ("text-of".to_owned(), form)));
        let at = Timestamp::from_second(row.kept_at).ok();
        Some(Kept { fields, what: row.what, has_text, at, is_saved: row.saved })
    }
}

/// Text of an order or of its note that was refused, and not saved since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsavedText {
    /// The id under which it is kept.
    pub id: FormId,
    /// The number of the order.
    pub about: String,
    /// The kind of its form, as a code of the pages.
    pub what: String,
    /// The form in which it goes on.
    pub form: FormId,
    /// When it was refused.
    pub at: Timestamp,
    /// Whether its person dropped it, a few minutes ago.
    pub is_dropped: bool,
}

impl UnsavedText {
    fn of(row: UnsavedRow) -> Option<Self> {
        let (id, form, at) = (row.id.parse().ok()?, row.form.parse().ok()?, Timestamp::from_second(row.kept_at).ok()?);
        Some(UnsavedText { id, about: row.about, what: row.what, form, at, is_dropped: row.dropped_at.is_some() })
    }
}

/// A saved form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedForm {
    /// The version that the save created, or found if nothing was different.
    pub version: Version,
    /// A digest of the content.
    pub digest: String,
    /// When it was saved last.
    pub at: Timestamp,
    made_on: i64,
    nth: i64,
}

/// Stands for the version of a form whose content another person saved.
const BY_ANOTHER: i64 = -1;

impl SavedForm {
    /// Whether the form itself was saved. Otherwise another person saved the same, perhaps with more that its author has not seen.
    pub fn is_by_itself(&self) -> bool {
        self.made_on != BY_ANOTHER
    }

    /// Whether the form was saved with a text that its person sent later than this one, which was overtaken on its way.
    pub fn is_after(&self, once: &Once) -> bool {
        once.nth > 0 && once.nth < self.nth && once.digest != self.digest
    }

    /// Whether text that was typed on this version continues from the form's save: only if that save
    /// was made on this same version, so that it contains no changes of others that the text's author has not seen.
    pub fn goes_on_from(&self, seen: i64) -> bool {
        self.made_on == seen && self.version.number() == seen + 1
    }
}

impl Shop {
    /// Keeps a refused form, for this member only: the latest few, for a day. `None` if it is too long.
    pub async fn keep(&self, member: &Member, about: &OrderNo, kept: &Kept) -> Result<Option<FormId>, Refusal> {
        let fields = serde_json::to_string(&kept.fields).unwrap_or_default();
        if fields.len() > LONGEST_KEPT {
            return Ok(None);
        }
        let id = FormId::random();
        let row = KeptRow {
            id: id.to_string(),
            member: member.id().to_string(),
            about: about.to_string(),
            what: kept.what.clone(),
            form: kept.form().map(|form| form.to_string()),
            fields,
            kept_at: kept.at.map_or_else(now, Timestamp::as_second),
            saved: false,
        };
        // Anybody can send refused forms as fast as they like, so nothing of one may stay beyond the few that are kept.
        storage::keep_form(&self.unresolved, &row, MOST_KEPT).await?;
        Ok(Some(id))
    }

    /// A refused form of this member about this order; `None` if it is not kept any more.
    pub async fn kept(&self, member: &Member, about: &OrderNo, id: FormId) -> Result<Option<Kept>, Refusal> {
        let row = storage::kept_form(&self.db, &id.to_string(), member.id().as_str(), now() - KEPT_FOR).await?;
        let row = row.filter(|row| row.about == about.as_str());
        Ok(row.and_then(Kept::of))
    }

    /// The text of this member that was refused within a day, and was neither saved nor dropped since; the latest first.
    pub async fn unsaved(&self, member: &Member) -> Result<Vec<UnsavedText>, Refusal> {
        Ok(self.offered(member).await?.into_iter().filter(|text| !text.is_dropped).collect())
    }

    /// The same, with what was dropped a few minutes ago.
    pub async fn offered(&self, member: &Member) -> Result<Vec<UnsavedText>, Refusal> {
        let (member, now) = (member.id().as_str(), now());
        let rows = storage::unsaved_forms(&self.db, member, now - KEPT_FOR, now - DROPPED_FOR).await?;
        Ok(rows.into_iter().filter_map(UnsavedText::of).collect())
    }

    /// Refused text of a form goes on in another one: if that is saved, it is. Without one, it is dropped. Returns whether there was any.
    pub async fn move_text(
        &self,
        member: &Member,
        about: &OrderNo,
        form: FormId,
        to: Option<FormId>,
    ) -> Result<bool, Refusal> {
        let (form, to) = (form.to_string(), to.map(|to| to.to_string()));
        let text = TextOf { member: member.id().as_str(), about: about.as_str(), form: &form };
        Ok(storage::move_text(&self.db, &text, to.as_deref(), now()).await?)
    }

    /// What a form was sent with after the text with which its page was drawn, if any, and up to another text goes on in a form of its own, which
    /// has the id of that: the fields that are sent now have not got it.
    pub async fn set_aside(
        &self,
        member: &Member,
        about: &OrderNo,
        form: FormId,
        (after, last): (Option<FormId>, FormId),
    ) -> Result<(), Refusal> {
        let (after, last) = (after.map_or_else(String::new, |id| id.to_string()), last.to_string());
        let text = TextOf { member: member.id().as_str(), about: about.as_str(), form: &form.to_string() };
        Ok(storage::set_aside(&self.db, &text, (&after, &last), &last).await?)
    }

    /// Whether this form of this member was saved.
    pub async fn saved(&self, member: &Member, form: FormId) -> Result<Option<SavedForm>, Refusal> {
        let row = storage::saved_form(&self.db, &form.to_string(), member.id().as_str()).await?;
        Ok(row.and_then(|row| {
            let (version, at) = (Version::new(row.version).ok()?, Timestamp::from_second(row.saved_at).ok()?);
            Some(SavedForm { version, digest: row.digest, at, made_on: row.made_on, nth: row.nth })
        }))
    }

    /// The same, unless text of it was refused since: then that is the last word.
    pub async fn saved_last(&self, member: &Member, form: FormId) -> Result<Option<SavedForm>, Refusal> {
        let Some(saved) = self.saved(member, form).await? else { return Ok(None) };
        let is_unsaved = self.unsaved(member).await?.iter().any(|text| text.form == form);
        Ok((!is_unsaved).then_some(saved))
    }

    /// Another person has saved what this form says: it is left, and counts as saved.
    pub async fn saved_by_another(
        &self,
        actor: &Member,
        once: &Once,
        version: Version,
        id: &LockId,
    ) -> Result<(), Refusal> {
        let row = SavedRow { version: version.number(), made_on: BY_ANOTHER, ..once.row(actor) };
        let mut tx = self.db.begin().await?;
        storage::mark_saved(&self.db, &mut tx, &row).await?;
        tx.commit().await?;
        self.leave(actor, id).await.map(drop)
    }

    /// Runs a command on an aggregate: saves it together with the record that this form was saved, or only tests.
    pub(super) async fn run<'u, A: Aggregate, E: 'u>(
        &'u self,
        actor: &Member,
        update: Update<'u, A, impl Steps<'u, A, E>>,
        doing: &Doing,
        command: impl Fn(&mut A) -> Result<(), E> + Send + Sync,
    ) -> Result<Version, tenure::error::UpdateError<E>> {
        match doing {
            Doing::Ask => Ok(update.dry_run(command).await?.version()),
            Doing::Save(once) => {
                let update = self.noting(actor, update, once).retrying(as_often_as_is_safe());
                Ok(update.run(command).await?.loaded.version())
            }
        }
    }

    /// The update, with the record that this form was saved in its transaction.
    pub(super) fn noting<'u, A: Aggregate, E: 'u>(
        &'u self,
        actor: &Member,
        update: Update<'u, A, impl Steps<'u, A, E>>,
        once: &Once,
    ) -> Update<'u, A, Also<'u, A, E>> {
        let row = once.row(actor);
        update.also(move |mut tx, saved| {
            let row = SavedRow { version: saved.version().number(), ..row.clone() };
            async move { Ok(storage::mark_saved(&self.db, &mut tx, &row).await?) }
        })
    }
}

impl Once {
    pub(super) fn row(&self, actor: &Member) -> SavedRow {
        SavedRow {
            form_id: self.form.to_string(),
            member: actor.id().to_string(),
            digest: self.digest.clone(),
            version: 0,
            made_on: self.on,
            nth: self.nth,
            saved_at: now(),
        }
    }
}

fn now() -> i64 {
    Timestamp::now().as_second()
}
