//! What all processes of a run share: the tables, the time, the random numbers, the weather, and the violations.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::random::Random;
use super::tables::Tables;

/// The simulated time of the beginning, in milliseconds since 1970.
const EPOCH: i64 = 1_800_000_000_000;
/// How many lines of the trace are printed with a violation.
const LINES: usize = 120;

/// How the network and the database behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weather {
    /// Every request is answered, within 300 ms.
    Calm,
    /// Requests and answers are late or get lost.
    Storm,
}

pub(super) struct World {
    pub(super) seed: u64,
    begun: Instant,
    /// The weather until the end begins.
    weather_of_run: Weather,
    weather: Mutex<Weather>,
    tables: Mutex<Tables>,
    random: Mutex<Random>,
    /// One session writes at a time.
    pub(super) writer: Arc<tokio::sync::Mutex<()>>,
    calls: AtomicU64,
    trace: Mutex<Vec<String>>,
    violations: Mutex<Vec<String>>,
}

impl World {
    pub(super) fn new(seed: u64) -> Arc<Self> {
        let mut random = Random::new(seed);
        let weather = if random.percent(50) { Weather::Calm } else { Weather::Storm };
        Arc::new(World {
            seed,
            begun: Instant::now(),
            weather_of_run: weather,
            weather: Mutex::new(weather),
            tables: Mutex::default(),
            random: Mutex::new(random),
            writer: Arc::default(),
            calls: AtomicU64::new(0),
            trace: Mutex::default(),
            violations: Mutex::default(),
        })
    }

    /// The database's clock.
    pub(super) fn now(&self) -> i64 {
        EPOCH + i64::try_from(self.begun.elapsed().as_millis()).expect("a short run")
    }

    pub(super) fn weather(&self) -> Weather {
        *locked(&self.weather)
    }

    /// Whether there was no fault at all.
    pub(super) fn was_calm(&self) -> bool {
        self.weather_of_run == Weather::Calm
    }

    pub(super) fn calm_down(&self) {
        *locked(&self.weather) = Weather::Calm;
    }

    pub(super) fn tables(&self) -> MutexGuard<'_, Tables> {
        locked(&self.tables)
    }

    pub(super) fn random(&self) -> MutexGuard<'_, Random> {
        locked(&self.random)
    }

    /// The time that a message needs.
    pub(super) fn latency(&self) -> Duration {
        let storm = self.weather() == Weather::Storm;
        let mut random = self.random();
        match random.below(100) {
            0..3 if storm => random.millis(500, 6_000),
            0..6 => random.millis(40, 150),
            6..30 => random.millis(3, 40),
            _ => random.millis(0, 3),
        }
    }

    /// Whether something fails that fails in so many of 1,000 cases during a storm.
    pub(super) fn fails(&self, of_thousand: usize) -> bool {
        self.weather() == Weather::Storm && self.random().below(1_000) < of_thousand
    }

    /// A client begins a call.
    pub(super) fn called(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    pub(super) fn tell(&self, event: impl fmt::Display) {
        let line = format!("{:>7} {event}", self.now() - EPOCH);
        locked(&self.trace).push(line);
    }

    pub(super) fn violated(&self, what: impl fmt::Display) {
        self.tell(format_args!("VIOLATION: {what}"));
        locked(&self.violations).push(what.to_string());
    }

    /// All that the clients did and saw.
    pub(super) fn trace(&self) -> Vec<String> {
        locked(&self.trace).clone()
    }

    /// The violations, with the end of the trace before the first one.
    pub(super) fn verdict(&self) -> Result<(), String> {
        let violations = locked(&self.violations).clone();
        if violations.is_empty() {
            return Ok(());
        }
        let trace = self.trace();
        let first = trace.iter().position(|line| line.contains("VIOLATION")).unwrap_or(trace.len());
        let from = first.saturating_sub(LINES);
        Err(format!(
            "seed {0}:\n{1}\n{2}\n`cargo xtask simulate --seed {0}` repeats it",
            self.seed,
            trace[from..=first.min(trace.len() - 1)].join("\n"),
            violations.join("\n")
        ))
    }
}

/// Locks a mutex; a panic elsewhere fails the run anyway.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
