//! The operators' note on an order: an advisory lock. Both may edit and see each other; the version decides at the save.

use tenure::{
    Error, Lease, Loaded, LockId, LockKey, Version, VersionToken, error::UpdateError, lease::Holder, version::Change,
};

use super::change_order::as_often_as_is_safe;
use super::{Doing, OrderView, Refusal, Shop};
use crate::domain::{Member, Note, OrderNo, Role};
use crate::storage::{self, SavedRow};

/// How many earlier texts of a note an order's page shows.
const NOTES_BEFORE: u32 = 3;

/// An earlier text of the note.
#[derive(Debug, Clone)]
pub struct NoteBefore {
    /// Who wrote it, and when.
    pub change: Change,
    /// The text.
    pub text: String,
}

/// The data of an open note form.
#[derive(Debug, Clone)]
pub struct EditingNote {
    /// The note, if it exists already.
    pub note: Option<Loaded<Note>>,
    /// This form's own lease.
    pub lease: Lease,
    /// All others who have it open.
    pub others: Vec<Holder>,
}

impl Shop {
    /// The order with its note, for operators.
    pub async fn noted(&self, actor: &Member, no: &OrderNo) -> Result<OrderView, Refusal> {
        actor.must_be(Role::Operator)?;
        self.order(actor, no).await
    }

    /// The latest change of the note.
    pub async fn note_change(&self, no: &OrderNo) -> Result<Option<Change>, Refusal> {
        Ok(self.notes.changes(no, 1).await?.pop())
    }

    /// Earlier texts of the note, the latest first: one that was replaced is not gone.
    pub(super) async fn notes_before(&self, now: &Loaded<Note>) -> Result<Vec<NoteBefore>, Refusal> {
        let mut before = Vec::new();
        for change in self.notes.changes(now.order_no(), NOTES_BEFORE + 1).await? {
            let replaced = change.version < now.version();
            if replaced && let Some(note) = self.notes.get_at(now.order_no(), change.version).await? {
                before.push(NoteBefore { change, text: note.text().to_owned() });
            }
        }
        Ok(before)
    }

    /// Opens the note for editing, and returns the other people who have it open.
    pub async fn open_note(&self, actor: &Member, no: &OrderNo, id: LockId) -> Result<EditingNote, Refusal> {
        actor.must_be(Role::Operator)?;
        self.order_of(actor, no).await?;
        let key = LockKey::of::<Note>(no);
        self.counts_lock(actor)?;
        let lease = self.locks.try_lock_as(&key, &actor.owner(), id).await;
        let lease = lease.inspect_err(|_| self.gate.forgive_lock(actor.id().as_str()))?;
        let others = self.locks.holders(&key).await?;
        let others = others.into_iter().filter(|holder| holder.generation != lease.holder().generation).collect();
        Ok(EditingNote { note: self.notes.get(no).await?, lease, others })
    }

    /// Saves the note on the version that was seen; without one, the note did not exist yet. The save does not need the lease
    /// (it is advisory), and only releases it. `None`: nothing was different.
    pub async fn save_note(
        &self,
        actor: &Member,
        no: &OrderNo,
        seen: Option<VersionToken<Note>>,
        id: &LockId,
        text: &str,
        doing: &Doing,
    ) -> Result<Option<Version>, Refusal> {
        actor.must_be(Role::Operator)?;
        self.order_of(actor, no).await?;
        let version = match seen {
            Some(seen) => {
                let update = self.notes.update(no).by(&actor.owner()).command("write note").expecting(seen);
                match self.run(actor, update, doing, |note| note.rewrite(text)).await {
                    Ok(version) => Some(version).filter(|version| *version != seen.version()),
                    Err(UpdateError::Refused(invalid)) => return Err(Refusal::Note(invalid)),
                    Err(UpdateError::Failed(error)) => return Err(error.into()),
                }
            }
            None if text.is_empty() => None,
            None => {
                let note = Note::new(no.clone(), text).map_err(Refusal::Note)?;
                let Doing::Save(once) = doing else {
                    return match self.notes.get(no).await? {
                        Some(_) => Err(Error::AlreadyExists { aggregate: "Note".into(), id: no.to_string() }.into()),
                        None => Ok(Some(Version::FIRST)),
                    };
                };
                let insert = || async {
                    let mut tx = self.db.begin().await?;
                    tx.by(&actor.owner()).command("write note");
                    let inserted = self.notes.insert(&mut tx, note.clone()).await?;
                    let row = SavedRow { version: inserted.version().number(), ..once.row(actor) };
                    storage::mark_saved(&self.db, &mut tx, &row).await?;
                    tx.commit().await?;
                    Ok::<_, tenure::Error>(inserted.version())
                };
                Some(self.db.retry(as_often_as_is_safe(), insert).await?.value)
            }
        };
        if let Doing::Save(_) = doing {
            self.leave(actor, id).await?;
        }
        Ok(version)
    }
}
