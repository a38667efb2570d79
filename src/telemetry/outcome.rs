//! The telemetry of an operation on locks: a span, and [`Metrics`]. Neither ever contains a lock id, a note or a
//! reason.

use std::future::Future;

use tracing::Instrument;
use tracing::field::Empty;

use crate::db::patience;
#[cfg(feature = "opentelemetry")]
use crate::error::Class;
use crate::error::{Coded, ErrorCode};
use crate::lease::{Holder, Lease};
use crate::row_lock::Wait;
use crate::telemetry::metrics::Metrics;

/// What there is to record of an operation, in low-cardinality words.
pub(crate) struct Report<'a> {
    /// The lease concerned, in its present state.
    pub holder: Option<&'a Holder>,
    /// The aggregate's type, where it is known.
    pub kind: Option<&'a str>,
    /// The error; `None` if it succeeded.
    pub error: Option<ErrorCode>,
}

impl<'a> Report<'a> {
    fn ok(holder: Option<&'a Holder>) -> Self {
        Report { holder, kind: holder.map(|holder| holder.key.kind()), error: None }
    }

    pub(crate) fn outcome(&self) -> &'static str {
        self.error.map_or("ok", ErrorCode::as_str)
    }

    /// The class of the error.
    #[cfg(feature = "opentelemetry")]
    pub(crate) fn class(&self) -> Option<Class> {
        self.error.map(ErrorCode::class)
    }
}

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
    if let (None, Some(kind)) = (kind, report.kind) {
        span.record("kind", kind);
    }
    if let Some(holder) = report.holder {
        span.record("generation", holder.generation);
    }
    span.record("outcome", report.outcome());
    metrics.ended(operation, kind.or(report.kind).unwrap_or("unknown"), &report);
    answer
}

impl<T: About, E: Coded> Outcome for Result<T, E> {
    fn report(&self) -> Report<'_> {
        match self {
            Ok(done) => Report::ok(done.holder()),
            Err(error) => {
                let kind = error.lost().and_then(|no_lock| no_lock.key.as_ref()).map(|key| key.kind());
                Report { holder: None, kind, error: Some(error.code()) }
            }
        }
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
