//! The telemetry of an operation on locks: a span, and [`Metrics`]. Neither ever contains a lock id, a note or a
//! reason.

use std::future::Future;

use tracing::Instrument;
use tracing::field::Empty;

use crate::db::patience;
use crate::error::{BreakError, DatabaseError, Error, LeaseError, LockError, TakeOverError};
use crate::lease::{Holder, Lease, LeaseLossReason, NoLock};
use crate::row_lock::Wait;
use crate::telemetry::metrics::Metrics;

/// The outcome of an operation, in low-cardinality words.
pub(crate) struct Report<'a> {
    /// The lease concerned, in its present state.
    pub holder: Option<&'a Holder>,
    /// The aggregate's type, where there is no lease.
    pub kind: Option<&'a str>,
    pub outcome: &'static str,
    #[cfg_attr(not(feature = "opentelemetry"), allow(dead_code, reason = "it is only counted"))]
    pub how: How,
}

/// Classes of outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// It succeeded.
    Done,
    /// It was refused.
    Refused,
    /// The presented lock id holds no lease.
    Lost,
    /// The database failed.
    Failed,
}

impl<'a> Report<'a> {
    fn ok(holder: Option<&'a Holder>) -> Self {
        Report { holder, kind: None, outcome: "ok", how: How::Done }
    }

    fn refused(outcome: &'static str) -> Self {
        Report { holder: None, kind: None, outcome, how: How::Refused }
    }

    /// A lock id that holds no lease.
    fn lost(no_lock: &'a NoLock) -> Self {
        let kind = no_lock.key.as_ref().map(|key| key.kind());
        Report { holder: None, kind, outcome: of_why(&no_lock.why), how: How::Lost }
    }

    pub(crate) fn kind(&self) -> Option<&'a str> {
        self.holder.map(|holder| holder.key.kind()).or(self.kind)
    }
}

/// The outcome for an expired lease.
pub(crate) const EXPIRED: &str = "expired";

/// A result that can report its outcome.
pub(crate) trait Outcome {
    fn report(&self) -> Report<'_>;
}

/// Runs it inside a span and within the default time limit, and counts it.
pub(crate) async fn seen<T: Outcome>(
    metrics: &Metrics,
    operation: &'static str,
    kind: Option<&str>,
    work: impl Future<Output = T>,
) -> T {
    let span = tracing::debug_span!("lock", operation, kind, generation = Empty, outcome = Empty);
    let answer = patience::within(Wait::default().budget(), work.instrument(span.clone())).await;
    let report = answer.report();
    if let (None, Some(kind)) = (kind, report.kind()) {
        span.record("kind", kind);
    }
    if let Some(holder) = report.holder {
        span.record("generation", holder.generation);
    }
    span.record("outcome", report.outcome);
    metrics.ended(operation, kind.or(report.kind()).unwrap_or("unknown"), &report);
    answer
}

impl<T: About, E: Named> Outcome for Result<T, E> {
    fn report(&self) -> Report<'_> {
        match self {
            Ok(done) => Report::ok(done.holder()),
            Err(error) => error.report(),
        }
    }
}

impl Outcome for Lease {
    fn report(&self) -> Report<'_> {
        Report::ok(Some(&self.holder))
    }
}

/// The value of an operation, and the lease concerned.
pub(crate) trait About {
    fn holder(&self) -> Option<&Holder> {
        None
    }
}

impl About for () {}
impl<T> About for Vec<T> {}

impl About for Lease {
    fn holder(&self) -> Option<&Holder> {
        Some(&self.holder)
    }
}

impl About for Holder {
    fn holder(&self) -> Option<&Holder> {
        Some(self)
    }
}

/// The name of an error.
pub(crate) trait Named {
    fn report(&self) -> Report<'_>;
}

impl Named for DatabaseError {
    fn report(&self) -> Report<'_> {
        let outcome = match self {
            DatabaseError::LockTimeout { .. } => "lock_timeout",
            DatabaseError::Deadlock => "deadlock",
            DatabaseError::Busy(_) => "busy",
            DatabaseError::ConnectionLost(_) => "connection_lost",
            DatabaseError::CommitUnknown(_) => "commit_unknown",
            DatabaseError::OutcomeUnknown(_) => "outcome_unknown",
            _ => "database_error",
        };
        Report { how: How::Failed, ..Report::refused(outcome) }
    }
}

impl Named for NoLock {
    fn report(&self) -> Report<'_> {
        Report::lost(self)
    }
}

impl Named for LockError {
    fn report(&self) -> Report<'_> {
        match self {
            LockError::Database(error) => error.report(),
            LockError::AlreadyLocked(_) => Report::refused("already_locked"),
            LockError::LockingFailed { .. } => Report::refused("locking_failed"),
            LockError::LockIdUsed(_) => Report::refused("lock_id_used"),
            LockError::InvalidKey { .. } => Report::refused("invalid_key"),
            LockError::InvalidOwner(_) => Report::refused("invalid_owner"),
            LockError::LimitReached { .. } => Report::refused("limit_reached"),
            LockError::LockTimeout { .. } => Report::refused("lock_timeout"),
        }
    }
}

impl Named for LeaseError {
    fn report(&self) -> Report<'_> {
        match self {
            LeaseError::NoLock(no_lock) => Report::lost(no_lock),
            LeaseError::Database(error) => error.report(),
        }
    }
}

impl Named for BreakError {
    fn report(&self) -> Report<'_> {
        match self {
            BreakError::HolderChanged { .. } => Report::refused("holder_changed"),
            BreakError::Database(error) => error.report(),
            _ => Report::refused("invalid"),
        }
    }
}

impl Named for TakeOverError {
    fn report(&self) -> Report<'_> {
        match self {
            TakeOverError::HolderChanged { .. } => Report::refused("holder_changed"),
            TakeOverError::NotPermitted(_) => Report::refused("not_permitted"),
            TakeOverError::LockIdUsed(_) => Report::refused("lock_id_used"),
            TakeOverError::Database(error) => error.report(),
            _ => Report::refused("invalid"),
        }
    }
}

/// For a save or a resume.
impl Named for Error {
    fn report(&self) -> Report<'_> {
        match self {
            Error::NoLock(no_lock) => Report::lost(no_lock),
            Error::AlreadyLocked(_) => Report::refused("already_locked"),
            Error::VersionConflict(_) => Report::refused("version_conflict"),
            Error::OptimisticLockingFailure(_) => Report::refused("lost_race"),
            Error::NotFound { .. } => Report::refused("not_found"),
            Error::AlreadyExists { .. } => Report::refused("already_exists"),
            Error::Database(error) => error.report(),
            _ => Report::refused("refused"),
        }
    }
}

fn of_why(why: &LeaseLossReason) -> &'static str {
    match why {
        LeaseLossReason::Unknown => "unknown",
        LeaseLossReason::Expired { .. } => EXPIRED,
        LeaseLossReason::LimitReached { .. } => "limit_reached",
        LeaseLossReason::IdleLimitReached { .. } => "idle_limit_reached",
        LeaseLossReason::Released { .. } => "released",
        LeaseLossReason::Broken { .. } => "broken",
        LeaseLossReason::TakenOver { .. } => "taken_over",
        LeaseLossReason::NotYours => "not_yours",
        LeaseLossReason::OtherAggregate => "other_aggregate",
    }
}
