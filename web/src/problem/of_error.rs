//! The library's errors as problems, by their [codes](ErrorCode). The match is exhaustive: a new code does not compile here
//! before it has a title and its next actions.

use std::convert::Infallible;

use axum::http::StatusCode;
use tenure::{
    Error,
    error::{
        BreakError, DatabaseError, ErrorCode, LeaseError, ListError, LockError, SweepError, TakeOverError, UpdateError,
    },
    lease::{LeaseLossReason, NoLock},
};

use super::{HeldNow, Person, Problem, status};

/// The title, and the possible next actions, in the order of the buttons.
fn words(code: ErrorCode) -> (&'static str, &'static [&'static str]) {
    match code {
        ErrorCode::NotFound => ("It is not there", &[]),
        ErrorCode::OtherSpelling => ("It is spelled differently", &[]),
        ErrorCode::AlreadyExists => ("It is there already", &[]),
        ErrorCode::VersionConflict => ("It was changed by somebody else", &["reload"]),
        ErrorCode::LostRace => ("Somebody else saved it at the same moment", &["retry", "reload"]),
        ErrorCode::ForeignVersion => ("The version belongs to something else", &["reload"]),
        ErrorCode::InvalidCommand => ("The name of the change cannot be written", &[]),
        ErrorCode::AlreadyLocked => ("Somebody is editing it", &["wait"]),
        ErrorCode::LockingFailed => ("Somebody else locked it at the same moment", &["retry"]),
        ErrorCode::LockTimeout => ("It did not become free in time", &["wait"]),
        ErrorCode::LimitReached => ("A limit is reached", &[]),
        ErrorCode::WaitTooLong => ("Nobody waits for so long", &[]),
        ErrorCode::InvalidKey => ("There is no such thing to lock", &[]),
        ErrorCode::InvalidOwner => ("Nobody can be called that", &[]),
        ErrorCode::LockUnknown => ("There is no such lock", &["lock-again"]),
        ErrorCode::LockExpired => ("The lock has expired", &["lock-again"]),
        ErrorCode::LockIdle => ("The lock ran out because nobody did anything", &["lock-again"]),
        ErrorCode::LockHeldTooLong => ("The lock was held for as long as it may be", &["lock-again"]),
        ErrorCode::LockReleased => ("The lock was released", &["lock-again"]),
        ErrorCode::LockBroken => ("Somebody ended the lock", &["lock-again"]),
        ErrorCode::LockTakenOver => ("The lock was taken over", &["lock-again"]),
        ErrorCode::LockNotYours => ("The lock belongs to somebody else", &["lock-again"]),
        ErrorCode::LockOfAnother => ("The lock is one of something else", &["lock-again"]),
        ErrorCode::HolderChanged => ("Somebody else has the lock now", &["reload"]),
        ErrorCode::TakeOverNotPermitted => ("It may not be taken over", &["wait"]),
        ErrorCode::NoReason => ("Give a reason", &[]),
        ErrorCode::TextTooLong => ("The text is too long", &[]),
        ErrorCode::TextNotPlain => ("The text is not one plain line", &[]),
        ErrorCode::AdvisoryLock => ("The lock keeps nobody out", &[]),
        ErrorCode::PageSize => ("There is no page of that size", &[]),
        ErrorCode::ForeignCursor => ("The place is one in another list", &[]),
        ErrorCode::InvalidFilter => ("Nothing can be called that", &[]),
        ErrorCode::TooYoung => ("It is too young to be swept", &[]),
        ErrorCode::Unavailable | ErrorCode::Unreachable | ErrorCode::ReadOnly | ErrorCode::Closed => {
            ("Try again", &["retry"])
        }
        ErrorCode::NoAnswer => ("Nobody knows whether it was done", &["retry"]),
        ErrorCode::ChildGone => ("It was changed by something else", &["retry", "reload"]),
        ErrorCode::DiskFull => ("The database has no space left", &["retry"]),
        ErrorCode::FileLost => ("The database has stopped", &[]),
        ErrorCode::OutcomeUnknown => ("Nobody knows whether it was saved", &["reload"]),
        ErrorCode::Unsupported => ("This cannot be done here", &[]),
        ErrorCode::TransactionEnded | ErrorCode::Failed => ("Something went wrong", &["retry"]),
    }
}

/// Replaces the database's own message: that may name tables and files, and belongs in the server's log.
fn instead(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::Unavailable | ErrorCode::Unreachable | ErrorCode::ReadOnly | ErrorCode::Closed => {
            Some("The database could not do it just now. Nothing was changed; try again in a moment.")
        }
        ErrorCode::DiskFull => Some("Nothing was saved. The operator of the server has to make space."),
        ErrorCode::FileLost => Some("Nothing was changed, and nothing can be until the server was looked after."),
        ErrorCode::NoAnswer => Some("The database's answer was lost on the way. The same request may be sent again."),
        ErrorCode::ChildGone => Some("Nothing was changed. Load it again."),
        // Statements before the one that ended the transaction may be stored.
        ErrorCode::TransactionEnded => Some("The reason is in the server's log. Load it again to see how it is now."),
        ErrorCode::OutcomeUnknown => {
            Some("The database's answer was lost on the way. Load it again to see whether it was saved.")
        }
        ErrorCode::Unsupported => Some("The database of this server cannot do it. Nothing was changed."),
        code if status(code) >= 500 => Some("Nothing was changed. The reason is in the server's log."),
        _ => None,
    }
}

fn problem(code: ErrorCode, error: &impl ToString) -> Problem {
    let (title, next) = words(code);
    let detail = instead(code).map_or_else(|| error.to_string(), str::to_owned);
    let problem = Problem::new(status(code), code.as_str(), title).detail(detail);
    next.iter().fold(problem, |problem, rel| problem.action(rel))
}

impl Problem {
    /// For a request whose version came in `If-Match`: a conflict that is a 409 for a version in a form or a
    /// body is a failed precondition, 412, for a version in a header.
    #[must_use]
    pub fn of_if_match(error: impl Into<Problem>) -> Problem {
        let mut problem = error.into();
        if [ErrorCode::VersionConflict.as_str(), ErrorCode::LostRace.as_str()].contains(&problem.members.code) {
            problem.status = StatusCode::PRECONDITION_FAILED;
        }
        problem
    }
}

impl From<NoLock> for Problem {
    fn from(no_lock: NoLock) -> Self {
        let mut problem = problem(no_lock.code(), &no_lock);
        if no_lock.held_now.is_some() {
            problem.members.actions.clear();
            problem = problem.action("wait");
        }
        if let LeaseLossReason::Broken { by, reason, .. } | LeaseLossReason::TakenOver { by, reason, .. } = no_lock.why
        {
            problem.members.by = Some(Person { name: by.name });
            problem.members.reason = Some(reason);
        }
        problem.members.held_now = no_lock.held_now.map(HeldNow::from);
        problem
    }
}

impl From<DatabaseError> for Problem {
    fn from(error: DatabaseError) -> Self {
        problem(error.code(), &error)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let mut problem = problem(error.code(), &error);
        match error {
            Error::VersionConflict(conflict) | Error::OptimisticLockingFailure(conflict) => {
                let author = conflict.changed.and_then(|change| change.by);
                problem.members.by = author.map(|by| Person { name: by.name });
            }
            Error::AlreadyLocked(holder) => problem.members.held_now = Some(HeldNow::from(*holder)),
            Error::NoLock(no_lock) => return Problem::from(*no_lock),
            _ => {}
        }
        problem
    }
}

impl From<LockError> for Problem {
    fn from(error: LockError) -> Self {
        let mut problem = problem(error.code(), &error);
        match error {
            LockError::AlreadyLocked(holder) => problem.members.held_now = Some(HeldNow::from(*holder)),
            LockError::LockTimeout { holder, .. } => {
                problem.members.held_now = holder.map(|holder| HeldNow::from(*holder));
            }
            LockError::LockIdUsed(no_lock) => return Problem::from(*no_lock),
            _ => {}
        }
        problem
    }
}

impl From<LeaseError> for Problem {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::NoLock(no_lock) => no_lock.into(),
            error => problem(error.code(), &error),
        }
    }
}

impl From<TakeOverError> for Problem {
    fn from(error: TakeOverError) -> Self {
        match error {
            TakeOverError::LockIdUsed(no_lock) => Problem::from(*no_lock),
            error => problem(error.code(), &error),
        }
    }
}

macro_rules! by_code {
    ($($error:ident),*) => {$(
        impl From<$error> for Problem {
            fn from(error: $error) -> Self {
                problem(error.code(), &error)
            }
        }
    )*};
}

by_code!(BreakError, ListError, SweepError);

/// The application converts a domain's own refusal to a problem: it implements `From` for it.
impl<E: Into<Problem>> From<UpdateError<E>> for Problem {
    fn from(error: UpdateError<E>) -> Self {
        match error {
            UpdateError::Refused(refusal) => refusal.into(),
            UpdateError::Failed(error) => error.into(),
        }
    }
}

/// For commands that cannot refuse.
impl From<Infallible> for Problem {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_a_text_and_hides_the_database_message() {
        for code in ErrorCode::ALL {
            let problem = problem(*code, &"no such table: secret");
            assert_eq!((problem.status().as_u16(), problem.code()), (status(*code), code.as_str()));
            assert!(!problem.title().is_empty());
            let is_of_the_database = status(*code) >= 500 || *code == ErrorCode::ChildGone;
            assert_eq!(problem.detail.contains("secret"), !is_of_the_database, "{code}");
        }
    }
}
