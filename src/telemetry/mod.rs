//! What operations report of themselves: a span and a log line for each, and numbers for OpenTelemetry.

pub(crate) mod metrics;
pub(crate) mod outcome;
