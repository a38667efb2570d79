//! The texts of errors, and the questions about them.

use super::*;
use crate::aggregate::version::Version;
use crate::lease::engine::LeaseRow;
use crate::lease::{LeaseLossReason, LockKey, Owner};

fn held(id: &str, owner: &str) -> Holder {
    let owner = Owner::new(owner, owner);
    Holder { owner, ..LeaseRow::anchor(&LockKey::new("Order", id), 1, Vec::new(), 0).holder(0) }
}

fn conflict() -> Box<VersionConflict> {
    conflict_with(None)
}

/// With a change that made this the current version, or deleted it.
fn conflict_with(actual: Option<Version>) -> Box<VersionConflict> {
    Box::new(VersionConflict {
        aggregate: "Order".into(),
        id: "1".into(),
        expected: Version::FIRST,
        actual,
        changed: None,
        fields: Vec::new(),
        opened_known: false,
        mine_known: false,
    })
}

#[test]
fn a_timeout_names_the_holder() {
    for (holder, text) in [
        (Some(Box::new(held("1", "Kim"))), "waited 7 ms for the lock on Order 1, which Kim holds; "),
        (None, "waited 7 ms for the lock on Order 1, which others acquired first; "),
    ] {
        let timeout =
            LockError::LockTimeout { key: LockKey::new("Order", "1"), waited: Duration::from_millis(7), holder };
        assert!(timeout.to_string().starts_with(text), "{timeout}");
    }
}

#[test]
fn an_invalid_key_is_an_error_and_a_valid_one_not() {
    assert!(LockError::of_invalid(&LockKey::new("Order", "1")).is_none());
    let refused = LockError::of_invalid(&LockKey::new("Order", "")).expect("an id is needed");
    assert_eq!(refused.code(), ErrorCode::InvalidKey);
}

#[test]
fn ages_to_sweep_are_rounded_up_to_hours() {
    let (asked, shortest) = (Duration::from_secs(3_601), Duration::from_secs(24 * 3_600));
    let young = SweepError::TooYoung { asked, shortest }.to_string();
    assert!(young.starts_with("leases that ended 2 h ago") && young.ends_with("older than 24 h"), "{young}");
}

#[test]
fn what_others_deleted_is_not_found() {
    for (error, code) in [
        (Error::VersionConflict(conflict()), ErrorCode::NotFound),
        (Error::OptimisticLockingFailure(conflict()), ErrorCode::NotFound),
        (Error::VersionConflict(conflict_with(Some(Version::FIRST))), ErrorCode::VersionConflict),
        (Error::OptimisticLockingFailure(conflict_with(Some(Version::FIRST))), ErrorCode::LostRace),
    ] {
        assert_eq!(error.code(), code, "{error}");
    }
}

#[test]
fn the_end_of_a_lease_is_found_in_each_error_about_it() {
    let no_lock = NoLock { key: None, why: LeaseLossReason::Unknown, held_now: None };
    assert_eq!(no_lock.lost(), Some(&no_lock));
    assert_eq!(LeaseError::NoLock(no_lock.clone()).lost(), Some(&no_lock));
    assert_eq!(LockError::of_invalid(&LockKey::new("Order", "")).expect("an id is needed").lost(), None);
}

#[test]
fn a_value_that_does_not_fit_is_named_by_table_and_column() {
    for (table, column, text) in [
        (Some("item"), Some("size"), "a value does not fit table `item`, column `size`: too long"),
        (None, Some("size"), "a value does not fit column `size`: too long"),
        (None, None, "a value does not fit: too long"),
    ] {
        let [table, column] = [table, column].map(|name| name.map(str::to_owned));
        assert_eq!(DoesNotFit { table, column, problem: "too long".into() }.to_string(), text);
    }
}

#[test]
fn a_constraint_is_recognized_by_kind_and_name() {
    let violation = |name: Option<&str>| ConstraintViolation {
        kind: ConstraintKind::Check,
        name: name.map(str::to_owned),
        message: "no".into(),
    };
    assert!(violation(Some("positive")).is(ConstraintKind::Check, "positive"));
    assert!(!violation(Some("positive")).is(ConstraintKind::Unique, "positive"));
    assert!(!violation(Some("positive")).is(ConstraintKind::Check, "other"));
    assert!(!violation(None).is(ConstraintKind::Check, "positive"));
    assert_eq!(violation(None).to_string(), "no");
}

#[test]
fn only_a_change_of_others_is_a_conflict() {
    for (error, is) in [
        (Error::VersionConflict(conflict()), true),
        (Error::OptimisticLockingFailure(conflict()), true),
        (Error::AlreadyLocked(Box::new(held("1", "Kim"))), false),
    ] {
        assert_eq!(error.is_conflict(), is, "{error}");
    }
}

#[test]
fn work_that_may_be_done_or_is_stale_is_never_repeated() {
    for error in [
        DatabaseError::CommitUnknown("cut".into()).into(),
        DatabaseError::Poisoned(Box::new(DatabaseError::Closed)).into(),
        Error::VersionConflict(conflict()),
    ] {
        assert_eq!(error.code().repeat(), Repeat::Never, "{error}");
    }
    assert_eq!(DatabaseError::Poisoned(Box::new(DatabaseError::Deadlock)).code().repeat(), Repeat::AtOnce);
    assert_eq!(Error::AlreadyLocked(Box::new(held("1", "Kim"))).code().repeat(), Repeat::Later);
}

#[test]
fn an_update_that_the_domain_refused_is_not_retried() {
    assert!(!UpdateError::Refused("no").is_retryable());
    assert!(UpdateError::<()>::Failed(DatabaseError::Deadlock.into()).is_retryable());
    assert!(!UpdateError::<()>::Failed(DatabaseError::Closed.into()).is_retryable());
}

#[cfg(feature = "mysql")]
#[test]
fn a_connection_lost_after_sending_leaves_the_outcome_unknown() {
    for lost in [DatabaseError::ConnectionLost("cut".into()), DatabaseError::CommitUnknown("cut".into())] {
        assert_eq!(lost.after_sending().code(), ErrorCode::OutcomeUnknown);
    }
    assert_eq!(DatabaseError::Closed.after_sending().code(), ErrorCode::Closed);
}

#[cfg(feature = "postgres")]
#[test]
fn a_lock_timeout_is_told_from_other_errors() {
    assert!(DatabaseError::LockTimeout { waited: Duration::ZERO, holder: None }.is_lock_timeout());
    assert!(!DatabaseError::Deadlock.is_lock_timeout());
}

#[test]
fn a_code_is_shown_by_its_name() {
    let lost = NoLock { key: None, why: LeaseLossReason::Unknown, held_now: None };
    assert_eq!(lost.code().to_string(), "lock-unknown");
}
