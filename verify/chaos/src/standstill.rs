//! Times in which the machine itself stood still, as a shared one sometimes does: a call that lasted as long was not slow.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::clock::{ms, now_ns};

/// How often the watch looks at the clock.
const TICK: Duration = Duration::from_millis(100);

/// A busy machine wakes a thread that only sleeps within some 100 ms; this late, it ran nobody else either.
const LATE_NS: u64 = ms(500);

/// A time without any work, by the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standstill {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

/// A thread that sleeps, and notices when it is woken late. What it notices does not depend on the database, nor on the clients.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Standstill>>,
}

impl Watch {
    /// Begins to watch.
    pub(crate) fn start() -> Self {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut noticed = Vec::new();
            let mut last_ns = now_ns();
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let at_ns = now_ns();
                noticed.extend(between(last_ns, at_ns));
                last_ns = at_ns;
            }
            noticed
        });
        Watch { stop, thread }
    }

    /// Ends it; what it has noticed.
    pub(crate) fn end(self) -> Vec<Standstill> {
        drop(self.stop);
        self.thread.join().expect("it does not panic")
    }
}

/// Whether the machine stood still between two looks at the clock. A tick passed in any case.
fn between(last_ns: u64, at_ns: u64) -> Option<Standstill> {
    let from_ns = last_ns + TICK.as_nanos() as u64;
    (at_ns > from_ns + LATE_NS).then_some(Standstill { from_ns, to_ns: at_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_wake_up_is_a_standstill() {
        assert_eq!(between(ms(1_000), ms(1_600)), None);
        let expected = Standstill { from_ns: ms(1_100), to_ns: ms(1_601) };
        assert_eq!(between(ms(1_000), ms(1_601)), Some(expected));
    }

    #[test]
    fn machine_that_works_is_not_at_a_standstill() {
        assert_eq!(Watch::start().end(), []);
    }
}
