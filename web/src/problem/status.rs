//! The HTTP status of each error.

use tenure::error::ErrorCode;

/// The HTTP status for an error of the library, from 400 to 599. A new code does not compile without one.
pub fn status(code: ErrorCode) -> u16 {
    match code {
        ErrorCode::ForeignVersion | ErrorCode::PageSize | ErrorCode::ForeignCursor => 400,
        ErrorCode::TakeOverNotPermitted => 403,
        ErrorCode::NotFound | ErrorCode::OtherSpelling => 404,
        ErrorCode::AlreadyExists
        | ErrorCode::VersionConflict
        | ErrorCode::LostRace
        | ErrorCode::LockingFailed
        | ErrorCode::HolderChanged
        | ErrorCode::ChildGone => 409,
        ErrorCode::LockUnknown
        | ErrorCode::LockExpired
        | ErrorCode::LockIdle
        | ErrorCode::LockHeldTooLong
        | ErrorCode::LockReleased
        | ErrorCode::LockBroken
        | ErrorCode::LockTakenOver
        | ErrorCode::LockNotYours
        | ErrorCode::LockOfAnother => 410,
        ErrorCode::InvalidCommand
        | ErrorCode::InvalidKey
        | ErrorCode::InvalidOwner
        | ErrorCode::NoReason
        | ErrorCode::TextTooLong
        | ErrorCode::TextNotPlain
        | ErrorCode::AdvisoryLock
        | ErrorCode::InvalidFilter
        | ErrorCode::DoesNotFit
        | ErrorCode::TooYoung => 422,
        ErrorCode::AlreadyLocked | ErrorCode::LockTimeout => 423,
        ErrorCode::LimitReached | ErrorCode::WaitTooLong => 429,
        ErrorCode::TransactionEnded
        | ErrorCode::CommitUnknown
        | ErrorCode::NoRandomness
        | ErrorCode::NotPermitted
        | ErrorCode::GuardLimit
        | ErrorCode::Schema
        | ErrorCode::Constraint
        | ErrorCode::NotWritten
        | ErrorCode::Mapping
        | ErrorCode::Failed => 500,
        ErrorCode::Unsupported => 501,
        ErrorCode::DiskFull => 507,
        ErrorCode::RowLockTimeout
        | ErrorCode::Deadlock
        | ErrorCode::SerializationFailure
        | ErrorCode::Busy
        | ErrorCode::ConnectionLost
        | ErrorCode::Cancelled
        | ErrorCode::Unreachable
        | ErrorCode::ReadOnly
        | ErrorCode::FileLost
        | ErrorCode::OutcomeUnknown
        | ErrorCode::Closed => 503,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_status_of_an_error() {
        for code in ErrorCode::ALL {
            assert!((400..600).contains(&status(*code)), "{code}");
        }
    }
}
