//! Telemetry of operations: a span for each, and metrics for OpenTelemetry.

pub(crate) mod metrics;
pub(crate) mod outcome;
pub(crate) mod work;
