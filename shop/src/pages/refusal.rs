//! From a refusal of a use case to the page that explains it: in one place, so that the same refusal always looks the
//! same.

use axum::response::Response;
use tenure::{
    Error, VersionToken,
    error::{BreakError, LeaseError, ListError, LockError},
};
use tenure_web::form_id::FormId;

use super::fields::{Fields, Pairs};
use super::frame::{Frame, Visit};
use super::problem::Retry;
use super::{conflict, locked, lost, order_url, problem};
use crate::domain::{Order, OrderNo};
use crate::use_cases::{Refusal, Shop};

/// What somebody tried to do with a form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt<'a> {
    /// What it was.
    pub(super) what: What,
    /// With which order.
    pub(super) no: &'a OrderNo,
    /// The version of the order that they saw, if the form had one.
    pub(super) seen: Option<VersionToken<Order>>,
    /// What the form said.
    pub(super) fields: &'a Fields,
    /// Where that is kept, if it is.
    pub(super) kept: Option<FormId>,
}

/// Which form it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    ChangeShipping,
    StartShipping,
    Cancel,
    OpenEdit,
    SaveEdit,
    OpenNote,
    SaveNote,
}

impl What {
    /// All of them, with the word by which each is kept.
    const CODES: [(What, &'static str); 7] = [
        (What::ChangeShipping, "change-shipping"),
        (What::StartShipping, "start-shipping"),
        (What::Cancel, "cancel"),
        (What::OpenEdit, "open-edit"),
        (What::SaveEdit, "save-edit"),
        (What::OpenNote, "open-note"),
        (What::SaveNote, "save-note"),
    ];

    /// The word by which it is kept.
    pub(super) fn code(self) -> &'static str {
        Self::CODES.iter().find(|(what, _)| *what == self).map_or("", |(_, code)| code)
    }

    /// What is kept by that word.
    pub(super) fn from_code(code: &str) -> Option<What> {
        Self::CODES.iter().find(|(_, own)| *own == code).map(|(what, _)| *what)
    }

    /// Whether it is a form with text in it, and not only a button.
    pub(super) fn has_text(self) -> bool {
        !matches!(self, What::StartShipping | What::Cancel)
    }
}

impl Attempt<'_> {
    /// Where the form was sent.
    pub(super) fn action(&self) -> String {
        let path = match self.what {
            What::ChangeShipping => "shipping",
            What::StartShipping => "start-shipping",
            What::Cancel => "cancel",
            What::OpenEdit => "edit",
            What::SaveEdit => "edit/save",
            What::OpenNote => "note/edit",
            What::SaveNote => "note/save",
        };
        format!("{}/{path}", order_url(self.no))
    }

    /// Hidden fields that bring what was typed to the next page: where it is kept, or else itself.
    pub(super) fn carried(&self) -> Fields {
        self.at_where_it_is_kept(Fields::default()).unwrap_or_else(|| self.fields.carried())
    }

    /// Hidden fields that send the same form again.
    pub(super) fn again(&self) -> Fields {
        self.at_where_it_is_kept(self.fields.of_the_page()).unwrap_or_else(|| self.fields.again())
    }

    fn at_where_it_is_kept(&self, mut fields: Fields) -> Option<Fields> {
        fields.set("kept", &self.kept?.to_string());
        Some(fields)
    }

    /// What is kept of it: what was sent, with the version that the text was typed on.
    pub(super) fn kept_fields(&self) -> Pairs {
        let mut fields = self.fields.clone();
        if let Some(seen) = self.seen {
            fields.set("version", &seen.to_string());
        }
        fields.to_keep()
    }
}

/// The page about a form that was refused. Whatever it is, what was typed is on it.
pub(super) async fn page(shop: &Shop, visit: Visit, attempt: Attempt<'_>, refusal: Refusal) -> Response {
    match refusal {
        Refusal::Failed(Error::VersionConflict(conflict) | Error::OptimisticLockingFailure(conflict)) => {
            conflict::page(shop, visit, attempt, &conflict).await
        }
        Refusal::Failed(Error::AlreadyLocked(holder)) | Refusal::Lock(LockError::AlreadyLocked(holder)) => {
            locked::page(shop, visit, attempt, *holder).await
        }
        Refusal::Lock(LockError::LockingFailed { .. }) | Refusal::Break(BreakError::HolderChanged { .. }) => {
            locked::raced(visit, attempt)
        }
        Refusal::Lock(LockError::Reserved { owner, remaining, .. }) => {
            problem::reserved(visit.frame, attempt.no, &owner, remaining, attempt.fields)
        }
        Refusal::Lock(LockError::LimitReached { most, .. }) => {
            problem::too_many_open(visit.frame, most, attempt.fields)
        }
        Refusal::Lock(LockError::InvalidKey { .. }) => {
            problem::no_such_order(visit.frame, attempt.no.as_str(), attempt.fields)
        }
        Refusal::Lock(LockError::InvalidOwner(_)) | Refusal::Break(BreakError::InvalidOwner(_)) => {
            problem::unusable_account(visit.frame, attempt.fields)
        }
        Refusal::TooManyLocks { wait } => problem::too_many_locks(visit.frame, wait, attempt.fields),
        Refusal::Failed(Error::NoLock(no_lock)) | Refusal::Lock(LockError::LockIdUsed(no_lock)) => {
            lost::page(shop, visit, attempt, &no_lock).await
        }
        Refusal::Lease(LeaseError::NoLock(no_lock)) => lost::page(shop, visit, attempt, &no_lock).await,
        Refusal::Failed(Error::VersionTokenMismatch { .. }) => {
            problem::foreign_version(visit.frame, attempt.no, attempt.fields)
        }
        Refusal::Order(error) => problem::order_refuses(visit.frame, attempt.no, &error, attempt.fields),
        Refusal::Failed(Error::Database(error))
        | Refusal::Lock(LockError::Database(error))
        | Refusal::Lease(LeaseError::Database(error)) => {
            let retry = Retry { action: attempt.action(), fields: attempt.again() };
            problem::database(visit.frame, &error, Some((retry, attempt.fields)))
        }
        Refusal::NotAllowed { needs } => problem::not_allowed(visit.frame, needs, attempt.fields),
        Refusal::Failed(Error::NotFound { id, .. }) => problem::no_such_order(visit.frame, &id, attempt.fields),
        other => plain(visit.frame, other),
    }
}

/// The page about a refusal that has nothing to do with a form.
pub(super) fn plain(frame: Frame, refusal: Refusal) -> Response {
    match refusal {
        Refusal::NotAllowed { needs } => problem::not_allowed(frame, needs, &Fields::default()),
        Refusal::Failed(Error::NotFound { id, .. }) => problem::no_such_order(frame, &id, &Fields::default()),
        Refusal::Failed(Error::Database(error))
        | Refusal::Lock(LockError::Database(error))
        | Refusal::Lease(LeaseError::Database(error))
        | Refusal::Break(BreakError::Database(error))
        | Refusal::List(ListError::Database(error)) => problem::database(frame, &error, None),
        Refusal::TooManyLocks { wait } => problem::too_many_locks(frame, wait, &Fields::default()),
        Refusal::Break(BreakError::InvalidOwner(_)) => problem::unusable_account(frame, &Fields::default()),
        other => {
            tracing::error!(error = &other as &dyn std::error::Error, "a refusal that no page expected");
            problem::failed(frame)
        }
    }
}
