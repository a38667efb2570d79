//! What a unit of work that did not happen is called over HTTP.

use std::convert::Infallible;

use axum::http::StatusCode;
use tenure::{DatabaseError, Error, LockError, UpdateError, VersionConflict};

use super::{HeldNow, Person, Problem};

/// The code of a version that is not the current one.
const VERSION_CONFLICT: &str = "version-conflict";

impl Problem {
    /// As the answer to a request whose version came in `If-Match`: what is a 409 where the version came in a form or a
    /// body, is a precondition that failed, 412, where it came in a header.
    #[must_use]
    pub fn of_if_match(error: impl Into<Problem>) -> Problem {
        let mut problem = error.into();
        if problem.members.code == VERSION_CONFLICT {
            problem.status = StatusCode::PRECONDITION_FAILED;
        }
        problem
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, detail) = (error.status(), error.to_string());
        let problem = |code, title| Problem::new(status, code, title).detail(detail);
        match error {
            Error::NotFound { .. } => problem("not-found", "It is not there"),
            Error::AlreadyExists { .. } => problem("already-exists", "It is there already"),
            Error::VersionConflict(conflict) | Error::OptimisticLockingFailure(conflict) => {
                problem(VERSION_CONFLICT, "It was changed by somebody else").action("reload").by_author_of(*conflict)
            }
            Error::ForeignVersionToken { .. } => {
                problem("foreign-version", "The version belongs to something else").action("reload")
            }
            Error::AlreadyLocked(holder) => {
                let mut problem = problem("already-locked", "Somebody is editing it").action("wait");
                problem.members.held_now = Some(HeldNow::from(*holder));
                problem
            }
            Error::NoLock(no_lock) => Problem::from(*no_lock),
            Error::Database(error) => of_database(&error),
            _ => problem("refused", "Refused"),
        }
    }
}

impl From<LockError> for Problem {
    fn from(error: LockError) -> Self {
        let (status, detail) = (error.status(), error.to_string());
        let problem = |code, title| Problem::new(status, code, title).detail(detail);
        match error {
            LockError::AlreadyLocked(holder) => {
                let mut problem = problem("already-locked", "Somebody is editing it").action("wait");
                problem.members.held_now = Some(HeldNow::from(*holder));
                problem
            }
            LockError::LockTimeout { holder, .. } => {
                let mut problem = problem("lock-timeout", "It did not become free in time").action("wait");
                problem.members.held_now = holder.map(|holder| HeldNow::from(*holder));
                problem
            }
            LockError::Reserved { .. } => problem("reserved", "It is kept for somebody else").action("wait"),
            LockError::LockingFailed { .. } => problem("locking-failed", "Somebody else was faster").action("retry"),
            LockError::LockIdUsed(no_lock) => Problem::from(*no_lock),
            LockError::LimitReached { .. } => problem("limit-reached", "A limit is reached"),
            LockError::NotShared { .. } => problem("not-shared", "It is not shared"),
            LockError::InvalidKey { .. } => problem("invalid-key", "There is no such thing to lock"),
            LockError::Database(error) => of_database(&error),
            _ => problem("refused", "Refused"),
        }
    }
}

/// A domain's own refusal becomes a problem as the application says: it implements `From` for it.
impl<E: Into<Problem>> From<UpdateError<E>> for Problem {
    fn from(error: UpdateError<E>) -> Self {
        match error {
            UpdateError::Refused(refusal) => refusal.into(),
            UpdateError::Failed(error) => error.into(),
        }
    }
}

/// For commands that refuse nothing.
impl From<Infallible> for Problem {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// What the driver says may name tables and files: that is for the log of whoever runs the server.
fn of_database(error: &DatabaseError) -> Problem {
    let (code, title, detail) = match error {
        DatabaseError::CommitUnknown(_) => (
            "outcome-unknown",
            "Nobody knows whether it was saved",
            "The database's answer was lost on the way. Load it again to see whether it was saved.",
        ),
        _ if error.status() == 503 => (
            "unavailable",
            "Try again",
            "The database could not do it just now. Nothing was saved; try again in a moment.",
        ),
        _ => ("failed", "Something went wrong", "Nothing was saved. The reason is in the server's log."),
    };
    let next = if code == "outcome-unknown" { "reload" } else { "retry" };
    Problem::new(error.status(), code, title).detail(detail).action(next)
}

impl Problem {
    fn by_author_of(mut self, conflict: VersionConflict) -> Problem {
        let author = conflict.changed.and_then(|change| change.by);
        self.members.by = author.map(|by| Person { name: by.name });
        self
    }
}
