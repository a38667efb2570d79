//! Why a call was refused, and whether its outcome is known.

use std::convert::Infallible;

use tenure::error::{BreakError, DatabaseError, Error, ErrorCode, LeaseError, LockError, UpdateError};

/// The code of a call that was dropped: none of the library's.
pub(crate) const DROPPED: &str = "dropped";

/// An answer that is not a success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Whether it may have happened all the same.
    pub(crate) unknown: bool,
    /// The code of the error.
    pub(crate) code: String,
    /// Its text, where no such error should occur.
    pub(crate) text: Option<String>,
}

impl Refusal {
    /// It surely did not happen.
    pub(crate) fn sure(code: &str) -> Self {
        Refusal { unknown: false, code: code.to_owned(), text: None }
    }

    /// Nobody knows whether it happened.
    #[cfg_attr(not(feature = "planted"), allow(dead_code, reason = "tenure's own errors are converted"))]
    pub(crate) fn unknown(code: &str) -> Self {
        Refusal { unknown: true, code: code.to_owned(), text: None }
    }

    /// The call was dropped before it was ready.
    pub(crate) fn dropped() -> Self {
        Refusal { unknown: true, code: DROPPED.to_owned(), text: None }
    }

    /// As tenure documents its codes: only two of them leave the outcome open.
    fn of(code: ErrorCode, error: &dyn std::error::Error) -> Self {
        let unknown = matches!(code, ErrorCode::OutcomeUnknown | ErrorCode::CommitUnknown);
        let shown = code == ErrorCode::ChildGone || (code.public_text().is_some() && !code.is_retryable() && !unknown);
        Refusal { unknown, code: code.as_str().to_owned(), text: shown.then(|| error.to_string()) }
    }

    /// Whether the call was dropped.
    pub(crate) fn is_dropped(&self) -> bool {
        self.code == DROPPED
    }

    /// Whether there is no such ledger.
    pub(crate) fn is_not_found(&self) -> bool {
        self.code == ErrorCode::NotFound.as_str()
    }

    /// Whether the database could not do it just now.
    pub(crate) fn is_unavailable(&self) -> bool {
        let is = |code: &&ErrorCode| self.code == code.as_str();
        let code = ErrorCode::ALL.iter().find(is);
        self.unknown || code.is_some_and(|code| code.public_text().is_some() && code.is_retryable())
    }
}

macro_rules! coded {
    ($($error:ty),*) => {$(
        impl From<$error> for Refusal {
            fn from(error: $error) -> Self {
                Refusal::of(error.code(), &error)
            }
        }
    )*};
}

coded!(BreakError, DatabaseError, Error, LeaseError, LockError);

impl From<UpdateError<Infallible>> for Refusal {
    fn from(error: UpdateError<Infallible>) -> Self {
        match error {
            UpdateError::Refused(never) => match never {},
            UpdateError::Failed(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lost_answers_are_unknown() {
        assert!(Refusal::from(DatabaseError::CommitUnknown("cut".into())).unknown);
        assert!(Refusal::from(DatabaseError::OutcomeUnknown("cut".into())).unknown);
        assert!(!Refusal::from(DatabaseError::ConnectionLost("cut".into())).unknown);
        assert!(!Refusal::from(DatabaseError::Poisoned(Box::new(DatabaseError::Deadlock))).unknown);
    }
}
