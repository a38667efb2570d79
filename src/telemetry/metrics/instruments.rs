//! The instruments: their names, units and buckets. `docs/locks.md` lists them.

use opentelemetry::metrics::{Counter, Histogram, Meter};

pub(super) struct Instruments {
    pub acquired: Counter<u64>,
    pub refused: Counter<u64>,
    pub extended: Counter<u64>,
    pub released: Counter<u64>,
    pub taken_over: Counter<u64>,
    pub broken: Counter<u64>,
    pub expired: Counter<u64>,
    pub failed: Counter<u64>,
    pub lost_at_save: Counter<u64>,
    pub hold_time: Histogram<f64>,
    pub wait_time: Histogram<f64>,
    pub batch: Histogram<u64>,
}

/// From a second to the longest possible hold time.
const HELD: [f64; 12] = [1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0, 28_800.0, 86_400.0];
/// Wait times of people.
const PATIENCE: [f64; 11] = [0.01, 0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0];
const QUESTIONS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

impl Instruments {
    pub(super) fn new(meter: &Meter) -> Self {
        let counter = |name: &'static str, unit: &'static str, what: &'static str| {
            meter.u64_counter(name).with_unit(unit).with_description(what).build()
        };
        let seconds = |name: &'static str, bounds: &[f64], what: &'static str| {
            let seconds = meter.f64_histogram(name).with_unit("s").with_boundaries(bounds.into());
            seconds.with_description(what).build()
        };
        Instruments {
            acquired: counter("tenure.lock.acquired", "{lease}", "Leases that were granted"),
            refused: counter("tenure.lock.refused", "{request}", "Locks that were not granted"),
            extended: counter("tenure.lock.extended", "{lease}", "Heartbeats and extensions of live leases"),
            released: counter("tenure.lock.released", "{lease}", "Leases that were released"),
            taken_over: counter("tenure.lock.taken_over", "{lease}", "Live leases that were taken over"),
            broken: counter("tenure.lock.broken", "{lease}", "Live leases that were broken"),
            expired: counter(
                "tenure.lock.expired",
                "{lease}",
                "Lock ids that were presented after their lease had expired",
            ),
            failed: counter("tenure.lock.failed", "{operation}", "Operations that the database failed"),
            lost_at_save: counter(
                "tenure.lock.lost_at_save",
                "{save}",
                "Saves that were refused because the lease had ended",
            ),
            hold_time: seconds("tenure.lock.hold_time", &HELD, "How long a lease was held until it was released"),
            wait_time: seconds("tenure.lock.wait_time", &PATIENCE, "How long a wait for a lock lasted"),
            batch: meter
                .u64_histogram("tenure.lock.batch.size")
                .with_unit("{question}")
                .with_boundaries(QUESTIONS.into())
                .with_description("Questions to the lock table that shared a round trip")
                .build(),
        }
    }
}
