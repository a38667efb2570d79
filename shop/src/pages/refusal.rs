//! From a refusal of a use case to the page that explains it: in one place, so that the same refusal always looks the
//! same.

use axum::response::Response;
use tenure::{
    Error, VersionToken,
    error::{BreakError, DatabaseError, LeaseError, ListError, LockError},
};
use tenure_web::form_id::FormId;

use super::fields::{Fields, Pairs};
use super::frame::{Frame, Visit};
use super::problem::Retry;
use super::standing::Kind;
use super::{compare, conflict, locked, lost, order_url, problem};
use crate::domain::{Order, OrderNo, OrderState};
use crate::use_cases::{Kept, Refusal, Shop};

/// The attempt that a form made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt<'a> {
    /// The kind of form.
    pub(super) what: What,
    /// The number of the order.
    pub(super) no: &'a OrderNo,
    /// The version of the order that the person saw, if the form had one.
    pub(super) seen: Option<VersionToken<Order>>,
    /// The fields of the form.
    pub(super) fields: &'a Fields,
    /// The id of the kept form, if it is kept.
    pub(super) kept: Option<FormId>,
}

/// The kind of form.
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
    /// All of them, with the codes under which they are kept.
    const CODES: [(What, &'static str); 7] = [
        (What::ChangeShipping, "change-shipping"),
        (What::StartShipping, "start-shipping"),
        (What::Cancel, "cancel"),
        (What::OpenEdit, "open-edit"),
        (What::SaveEdit, "save-edit"),
        (What::OpenNote, "open-note"),
        (What::SaveNote, "save-note"),
    ];

    /// Whether an order in this state has what the command was to do.
    pub(super) fn is_done_in(self, state: OrderState) -> bool {
        match self {
            What::Cancel => state == OrderState::Cancelled,
            What::StartShipping => {
                matches!(state, OrderState::Shipped | OrderState::InDelivery | OrderState::Delivered)
            }
            _ => false,
        }
    }

    /// The code under which it is kept.
    pub(super) fn code(self) -> &'static str {
        Self::CODES.iter().find(|(what, _)| *what == self).map_or("", |(_, code)| code)
    }

    /// The kind with this code.
    pub(super) fn from_code(code: &str) -> Option<What> {
        Self::CODES.iter().find(|(_, own)| *own == code).map(|(what, _)| *what)
    }

    /// The end of the address to which such a form is sent.
    pub(super) fn path(self) -> &'static str {
        match self {
            What::ChangeShipping => "shipping",
            What::StartShipping => "start-shipping",
            What::Cancel => "cancel",
            What::OpenEdit => "edit",
            What::SaveEdit => "edit/save",
            What::OpenNote => "note/edit",
            What::SaveNote => "note/save",
        }
    }

    /// The form in which its text is typed.
    pub(super) fn kind(self) -> Kind {
        match self {
            What::SaveNote | What::OpenNote => Kind::Note,
            What::SaveEdit | What::OpenEdit => Kind::Edit,
            _ => Kind::Shipping,
        }
    }

    /// Whether it is a form with text, and not only a button.
    pub(super) fn has_text(self) -> bool {
        Kept::is_text(self.code())
    }
}

impl Attempt<'_> {
    /// The address to which the form was sent.
    pub(super) fn action(&self) -> String {
        format!("{}/{}", order_url(self.no), self.what.path())
    }

    /// Hidden fields that carry the typed text to the next page: a reference to the kept form, or else the text itself.
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

    /// The fields to keep: the sent ones, with the version on which the text was typed.
    pub(super) fn kept_fields(&self) -> Pairs {
        let mut fields = self.fields.clone();
        if let Some(seen) = self.seen {
            fields.set("version", &seen.to_string());
        }
        fields.to_keep()
    }
}

/// The page about a refused form. It always shows the typed text.
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
        Refusal::Order(error) => {
            let own = compare::own_words(shop, &visit, &attempt).await;
            problem::order_refuses(visit.frame, attempt.no, &error, own)
        }
        Refusal::Failed(Error::Database(DatabaseError::LockTimeout { holder: Some(holder), .. }))
            if attempt.what == What::StartShipping =>
        {
            let retry = Retry { action: attempt.action(), fields: attempt.again() };
            problem::busy_with(visit.frame, &holder, retry)
        }
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

/// The page about a refusal that does not concern a form.
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
