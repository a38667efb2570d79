//! Tells who has been waiting for long, by one timer for all of them.
//!
//! A statement that may have to wait for a lock is nearly always done at once. A timer of its own would wake the thread that
//! sleeps until the next timer, each time, only to tell it that there is another one: more than the statement costs.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// How often it is looked who has been waiting for long. Shorter waits than ten of these have a timer of their own.
const TICK: Duration = Duration::from_millis(50);
/// For how many ticks it goes on when nobody waits, so that it is not begun anew for every statement.
const IDLE: u32 = 200;

/// Those of this process.
static ALARMS: LazyLock<Alarms> = LazyLock::new(Alarms::default);

/// Comes back when this time is over, up to a tick later.
pub(super) async fn after(time: Duration) {
    if time < 10 * TICK {
        return tokio::time::sleep(time).await;
    }
    let (ring, rings) = oneshot::channel();
    let _set = ALARMS.set(Instant::now() + time, ring);
    // The ticking ended with its runtime. This is another one, and there is time left for a timer.
    if rings.await.is_err() {
        tokio::time::sleep(time).await;
    }
}

/// Where alarms are set. Clones are the same.
#[derive(Debug, Clone, Default)]
struct Alarms(Arc<Mutex<Set>>);

#[derive(Debug, Default)]
struct Set {
    ticking: bool,
    next: u64,
    alarms: HashMap<u64, (Instant, oneshot::Sender<()>)>,
}

impl Alarms {
    fn set(&self, at: Instant, ring: oneshot::Sender<()>) -> Alarm {
        let mut set = self.lock();
        let number = set.next;
        set.next += 1;
        set.alarms.insert(number, (at, ring));
        let ticking = std::mem::replace(&mut set.ticking, true);
        drop(set);
        if !ticking {
            // Not under the lock: a runtime that is ending drops it at once, and that takes the lock.
            tokio::spawn(Ticking { alarms: self.clone(), done: false }.run());
        }
        Alarm { number, alarms: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Set> {
        // Nothing is done under it that could leave it half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An alarm that is set, until this is dropped.
struct Alarm {
    number: u64,
    alarms: Alarms,
}

impl Drop for Alarm {
    fn drop(&mut self) {
        let removed = self.alarms.lock().alarms.remove(&self.number);
        drop(removed);
    }
}

/// The task that looks at the clock.
struct Ticking {
    alarms: Alarms,
    /// Whether it ended by itself.
    done: bool,
}

impl Ticking {
    async fn run(mut self) {
        let mut idle = 0;
        while !self.done {
            tokio::time::sleep(TICK).await;
            let now = Instant::now();
            let mut set = self.alarms.lock();
            let due: Vec<u64> =
                set.alarms.iter().filter(|(_, (at, _))| *at <= now).map(|(number, _)| *number).collect();
            let due: Vec<_> = due.into_iter().filter_map(|number| set.alarms.remove(&number)).collect();
            idle = if set.alarms.is_empty() { idle + 1 } else { 0 };
            self.done = idle == IDLE;
            // Under the same lock, or an alarm that is set in between would never ring.
            set.ticking = !self.done;
            drop(set);
            // Not under the lock: to wake a task of a runtime that has ended drops the task, with the alarms that it has set.
            for (_, ring) in due {
                // Whoever has gone away meanwhile need not be told.
                let _ = ring.send(());
            }
        }
    }
}

/// When the task goes with its runtime, those who wait are told, and the next alarm begins another.
impl Drop for Ticking {
    fn drop(&mut self) {
        if !self.done {
            let mut set = self.alarms.lock();
            set.ticking = false;
            let alarms = std::mem::take(&mut set.alarms);
            drop(set);
            drop(alarms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_alarm_rings_when_its_time_is_over_and_one_that_is_dropped_leaves_nothing() {
        let alarms = Alarms::default();
        let (ring, rings) = oneshot::channel();
        let due = alarms.set(Instant::now(), ring);
        let (later, unheard) = oneshot::channel();
        let dropped = alarms.set(Instant::now() + Duration::from_secs(3600), later);
        assert_eq!(rings.await, Ok(()));
        assert_eq!(alarms.lock().alarms.keys().collect::<Vec<_>>(), [&dropped.number]);
        drop((due, dropped, unheard));
        assert!(alarms.lock().alarms.is_empty());
    }
}
