//! How long something took, without the time for which the machine ran none of this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often it looks, and what is no standstill.
const TICK: Duration = Duration::from_millis(5);

/// Runs from its creation. A test that compares a time with a limit does not fail because the machine was busy elsewhere.
pub struct Stopwatch {
    begun: Instant,
    stop: Arc<AtomicBool>,
    stood_still: JoinHandle<Duration>,
}

impl Stopwatch {
    /// Starts it.
    #[must_use]
    pub fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let watch = move || {
            let mut stood_still = Duration::ZERO;
            while !stopped.load(Ordering::Relaxed) {
                let looked = Instant::now();
                thread::sleep(TICK);
                stood_still += looked.elapsed().saturating_sub(2 * TICK);
            }
            stood_still
        };
        Stopwatch { begun: Instant::now(), stop, stood_still: thread::spawn(watch) }
    }

    /// Stops it.
    ///
    /// # Panics
    ///
    /// If its thread did.
    #[must_use]
    pub fn stop(self) -> Duration {
        let took = self.begun.elapsed();
        self.stop.store(true, Ordering::Relaxed);
        took.saturating_sub(self.stood_still.join().expect("it only sleeps"))
    }
}
