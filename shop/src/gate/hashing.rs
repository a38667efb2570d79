//! Computes password hashes: one at a time per core, with a bounded queue.
//!
//! A hash takes 19 MiB and a whole core for a tenth of a second. Without a limit, as many as the runtime has threads
//! would run at once.

use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::sync::{Semaphore, TryAcquireError};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// The maximum queue length per running hash.
const WAITING: usize = 8;

/// The maximum wait.
const LONGEST: Duration = Duration::from_secs(5);

/// The queue is full; nothing was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooBusy;

/// The running and the queued hashes.
#[derive(Debug)]
pub(crate) struct Hashing {
    running: Arc<Semaphore>,
    line: Arc<Semaphore>,
}

impl Hashing {
    pub(crate) fn new() -> Hashing {
        let cores = available_parallelism().map_or(1, usize::from);
        Hashing { running: Arc::new(Semaphore::new(cores)), line: Arc::new(Semaphore::new(cores * (1 + WAITING))) }
    }

    /// Runs it on a blocking thread when its turn comes.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, TooBusy> {
        let place = self.line.clone().try_acquire_owned().map_err(|_: TryAcquireError| TooBusy)?;
        let turn = timeout(LONGEST, self.running.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(TooBusy) };
        // The work itself holds both permits: a caller that leaves does not admit another one.
        let worked = spawn_blocking(move || {
            let _held = (place, turn);
            work()
        });
        worked.await.map_err(|_| TooBusy)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Condvar, Mutex};

    use tokio::task::JoinSet;

    use super::*;

    #[tokio::test]
    async fn one_hash_per_core_runs_and_the_queue_is_bounded() {
        let hashing = Arc::new(Hashing::new());
        let cores = available_parallelism().map_or(1, usize::from);
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut all = JoinSet::new();
        for _ in 0..150 {
            let (hashing, gate, running, most) = (hashing.clone(), gate.clone(), running.clone(), most.clone());
            let work = move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let (open, opened) = &*gate;
                drop(opened.wait_while(open.lock().expect("a lock"), |open| !*open));
                running.fetch_sub(1, Ordering::SeqCst);
            };
            all.spawn(async move { hashing.run(work).await });
        }
        // While the gate is shut, only callers that found the queue full get a result.
        for _ in 0..150 - cores * (1 + WAITING) {
            assert_eq!(all.join_next().await.expect("there are more").expect("it ended"), Err(TooBusy));
        }
        *gate.0.lock().expect("a lock") = true;
        gate.1.notify_all();
        assert_eq!(all.join_all().await, vec![Ok(()); cores * (1 + WAITING)]);
        assert!(most.load(Ordering::SeqCst) <= cores);
    }
}
