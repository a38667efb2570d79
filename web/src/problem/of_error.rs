//! The library's errors as problems, by their [codes](ErrorCode).

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

fn problem(code: ErrorCode, error: &impl ToString) -> Problem {
    let detail = code.public_text().map_or_else(|| error.to_string(), str::to_owned);
    let problem = Problem::new(status(code), code.as_str(), code.title()).detail(detail);
    code.next_steps().iter().fold(problem, |problem, rel| problem.action(rel))
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
        let problem = problem(error.code(), &error);
        match error {
            DatabaseError::DoesNotFit(misfit) if misfit.column.is_some() => problem.member("column", misfit.column),
            _ => problem,
        }
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
            Error::Database(error) => return Problem::from(error),
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
