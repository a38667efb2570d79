//! Metrics of locks, for OpenTelemetry. Without the feature `opentelemetry` they compile to nothing.

#[cfg(feature = "opentelemetry")]
mod instruments;
#[cfg(feature = "opentelemetry")]
mod recording;

#[cfg(feature = "opentelemetry")]
pub(crate) use recording::Metrics;

#[cfg(not(feature = "opentelemetry"))]
use std::time::Duration;

#[cfg(not(feature = "opentelemetry"))]
use crate::telemetry::outcome::Report;

/// Records nothing.
#[cfg(not(feature = "opentelemetry"))]
#[derive(Debug, Clone, Default)]
pub(crate) struct Metrics;

#[cfg(not(feature = "opentelemetry"))]
impl Metrics {
    pub(crate) fn ended(&self, _operation: &'static str, _kind: &str, _report: &Report<'_>) {}
    pub(crate) fn batch(&self, _questions: usize) {}
    pub(crate) fn waited(&self, _kind: &str, _waited: Duration, _outcome: &'static str) {}
}
