//! Spans of a unit of work: load, save, commit. They name the type of an aggregate, and never its id or its state.

use std::future::Future;

use tracing::Instrument;
use tracing::field::Empty;

use crate::aggregate::version::Version;
use crate::error::Coded;

/// Runs an operation of a unit of work inside a span.
pub(crate) async fn traced<T, E: Coded>(
    operation: &'static str,
    kind: Option<&str>,
    version: impl FnOnce(&T) -> Option<Version>,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let span = tracing::debug_span!(
        target: "tenure::unit_of_work", "unit_of_work", operation, kind, version = Empty, outcome = Empty
    );
    let done = work.instrument(span.clone()).await;
    if span.is_disabled() {
        return done;
    }
    match &done {
        Ok(value) => {
            if let Some(version) = version(value) {
                span.record("version", version.number());
            }
            span.record("outcome", "ok");
        }
        Err(error) => {
            span.record("outcome", error.code().as_str());
        }
    }
    done
}
