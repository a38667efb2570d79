//! Maps operations to instruments. The attributes are the type of the aggregate, the operation and the outcome; none of them has a high
//! cardinality.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use opentelemetry::KeyValue;
use opentelemetry::metrics::Meter;

use super::instruments::Instruments;
use crate::error::{Class, ErrorCode};
use crate::lease::HeldByType;
use crate::telemetry::outcome::Report;

/// Records metrics, if there is a meter. Clones share the instruments.
#[derive(Clone, Default)]
pub(crate) struct Metrics(Option<Arc<Recording>>);

struct Recording {
    instruments: Instruments,
    held: Arc<Mutex<Held>>,
}

/// The held leases at the last query.
#[derive(Default)]
struct Held {
    asked: Option<Instant>,
    by_type: Vec<HeldByType>,
}

impl Metrics {
    pub(crate) fn new(meter: &Meter) -> Self {
        let held = Arc::new(Mutex::new(Held::default()));
        let seen = Arc::clone(&held);
        meter
            .u64_observable_gauge("tenure.lock.held")
            .with_unit("{lease}")
            .with_description("Leases that are held, when it was last observed")
            .with_callback(move |gauge| {
                for held in &locked(&seen).by_type {
                    gauge.observe(held.count, &[of_type(&held.kind)]);
                }
            })
            .build();
        let seen = Arc::clone(&held);
        meter
            .f64_observable_gauge("tenure.lock.oldest")
            .with_unit("s")
            .with_description("How long the longest-held lease has been held, when it was last observed")
            .with_callback(move |gauge| {
                for held in &locked(&seen).by_type {
                    gauge.observe(held.oldest.as_secs_f64(), &[of_type(&held.kind)]);
                }
            })
            .build();
        Metrics(Some(Arc::new(Recording { instruments: Instruments::new(meter), held })))
    }

    /// Reports the number of queued requests.
    pub(crate) fn watch_queue(meter: &Meter, waiting: impl Fn() -> u64 + Send + Sync + 'static) {
        let queue = meter.u64_observable_gauge("tenure.lock.queue.length").with_unit("{question}");
        let queue = queue.with_description("Questions to the lock table that wait for a round trip");
        queue.with_callback(move |gauge| gauge.observe(waiting(), &[])).build();
    }

    /// An operation has ended.
    pub(crate) fn ended(&self, operation: &'static str, kind: &str, report: &Report<'_>) {
        let Some(Recording { instruments, .. }) = self.0.as_deref() else { return };
        let by_type = [of_type(kind)];
        let by_outcome =
            [of_type(kind), KeyValue::new("operation", operation), KeyValue::new("outcome", report.outcome())];
        match (operation, report.class()) {
            ("try_lock" | "lock", None) => instruments.acquired.add(1, &by_type),
            ("keep_alive" | "extend_lock_expiration" | "resume", None) if report.holder.is_some() => {
                instruments.extended.add(1, &by_outcome[..2]);
            }
            ("release_lock" | "release_within", None) => {
                instruments.released.add(1, &by_type);
                if let Some(holder) = report.holder {
                    // Both times are of the release, by the database's clock.
                    let held = (holder.last_active + holder.silent).duration_since(holder.since).unwrap_or_default();
                    instruments.hold_time.record(held.as_secs_f64(), &by_type);
                }
            }
            ("take_over", None) => instruments.taken_over.add(1, &by_type),
            ("break_lock", None) => instruments.broken.add(1, &by_type),
            ("try_lock" | "lock", Some(Class::Refused | Class::Lost)) => instruments.refused.add(1, &by_outcome),
            ("guard" | "save", Some(Class::Lost)) => instruments.lost_at_save.add(1, &by_outcome),
            (_, Some(Class::Failed(_))) => instruments.failed.add(1, &by_outcome),
            _ => {}
        }
        if report.error == Some(ErrorCode::LockExpired) {
            instruments.expired.add(1, &by_outcome[..2]);
        }
    }

    /// A batch of this many requests was sent.
    pub(crate) fn batch(&self, questions: usize) {
        if let Some(recording) = self.0.as_deref() {
            recording.instruments.batch.record(questions.try_into().unwrap_or(u64::MAX), &[]);
        }
    }

    /// A wait for a lock ended, with or without the lock.
    pub(crate) fn waited(&self, kind: &str, waited: Duration, outcome: &'static str) {
        if let Some(recording) = self.0.as_deref() {
            let attributes = [of_type(kind), KeyValue::new("outcome", outcome)];
            recording.instruments.wait_time.record(waited.as_secs_f64(), &attributes);
        }
    }

    /// Whether the query of held leases is due; only one caller per interval gets `true`.
    pub(crate) fn is_due(&self, interval: Duration) -> bool {
        let Some(recording) = self.0.as_deref() else { return false };
        let mut held = locked(&recording.held);
        let due = held.asked.is_none_or(|asked| asked.elapsed() >= interval);
        if due {
            held.asked = Some(Instant::now());
        }
        due
    }

    /// The held leases. A type without any lease left is reported as 0.
    pub(crate) fn observed(&self, mut by_type: Vec<HeldByType>) {
        let Some(recording) = self.0.as_deref() else { return };
        let mut held = locked(&recording.held);
        for before in std::mem::take(&mut held.by_type) {
            if by_type.iter().all(|now| now.kind != before.kind) {
                by_type.push(HeldByType { count: 0, oldest: Duration::ZERO, ..before });
            }
        }
        held.by_type = by_type;
    }
}

fn of_type(kind: &str) -> KeyValue {
    KeyValue::new("type", kind.to_owned())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic cannot leave it half-changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Metrics(recording)" } else { "Metrics(none)" })
    }
}
