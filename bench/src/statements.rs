//! The number of statements of a piece of work, by the driver's events: one per statement, or per batch of statements that is sent at once.
//! So it is the number of requests whose answer is awaited.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

use crate::Outcome;
use crate::rounds::Contestant;

/// The target of sqlx's events about statements.
const TARGET: &str = "sqlx::query";

/// Turns that are counted.
const TURNS: u64 = 10;

/// Beyond all measured turns, because a turn may insert rows with new numbers.
const FIRST: usize = 1_000_000;

static COUNTING: AtomicBool = AtomicBool::new(false);
static COUNTED: AtomicU64 = AtomicU64::new(0);

/// Counts while it is switched on. Otherwise it enables no events, so that they do not affect measurements.
struct Counter;

impl Subscriber for Counter {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(if COUNTING.load(Ordering::SeqCst) { LevelFilter::TRACE } else { LevelFilter::OFF })
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        COUNTING.load(Ordering::SeqCst) && metadata.target() == TARGET
    }

    fn event(&self, event: &Event<'_>) {
        if event.metadata().target() == TARGET {
            COUNTED.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// To be called once, before the first count.
pub(crate) fn install() -> Outcome<()> {
    Ok(tracing::subscriber::set_global_default(Counter)?)
}

/// The number of statements of one turn, if nothing else runs. On SQLite the driver may report a turn's last statement
/// a moment late, so it is the mean of several turns, rounded.
pub(crate) async fn count(contestant: &mut dyn Contestant) -> Outcome<f64> {
    switch(true);
    let before = COUNTED.load(Ordering::SeqCst);
    let mut result = Ok(());
    for turn in 0..TURNS {
        result = contestant.once(FIRST + turn as usize).await.map(drop);
        if result.is_err() {
            break;
        }
    }
    let counted = COUNTED.load(Ordering::SeqCst) - before;
    switch(false);
    result.map(|()| (counted as f64 / TURNS as f64).round())
}

fn switch(counting: bool) {
    COUNTING.store(counting, Ordering::SeqCst);
    tracing::callsite::rebuild_interest_cache();
}
