//! Polls the watched and waited-for keys: one poll per process, for any number of subscribers and waiters, and
//! only while there are any. Events of this process and notifications of others only trigger a poll: all reported
//! events come from the database.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::announce::{Announcer, SETTLED};
use super::topics::Topics;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::Backend;
use crate::storage::watching::PLACE_TTL;

/// The poll interval without notifications.
const INTERVAL: Duration = Duration::from_secs(1);
/// The poll interval with notifications, because one may be lost.
pub(super) const INTERVAL_WHILE_LISTENING: Duration = Duration::from_secs(5);
/// The maximum number of keys per statement.
const MOST_KEYS: usize = 500;
/// Connects subscribers and waiters with the poll. Clones share it.
#[derive(Clone)]
pub(crate) struct Hub(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) backend: Arc<dyn Backend>,
    /// A random number of this process.
    pub(super) process: i64,
    interval: Option<Duration>,
    topics: Mutex<Topics>,
    /// Whether there are subscribers or waiters, so that it costs nothing without any.
    wanted: AtomicBool,
    running: AtomicBool,
    pub(super) listening: AtomicBool,
    wake: Notify,
    /// Serializes polls; the time of the last heartbeat of queue entries.
    turn: tokio::sync::Mutex<Option<Instant>>,
    pub(super) announcer: Option<Arc<Announcer>>,
}

impl Hub {
    pub(crate) fn new(backend: Arc<dyn Backend>, interval: Option<Duration>) -> Self {
        let process = random();
        let announcer = backend.announces().then(|| Arc::new(Announcer::new(Arc::clone(&backend), process)));
        Hub(Arc::new(Inner {
            backend,
            process,
            interval,
            topics: Mutex::default(),
            wanted: AtomicBool::new(false),
            running: AtomicBool::new(false),
            listening: AtomicBool::new(false),
            wake: Notify::new(),
            turn: tokio::sync::Mutex::default(),
            announcer,
        }))
    }

    pub(crate) fn process(&self) -> i64 {
        self.0.process
    }

    /// A key changed: informs subscribers here and notifies other processes.
    pub(crate) fn touched(&self, key: &LockKey) {
        self.look(key);
        if let Some(announcer) = &self.0.announcer {
            announcer.tell(key);
        }
    }

    /// A key changed in a way that matters in this process only.
    pub(crate) fn look(&self, key: &LockKey) {
        if self.0.wanted.load(Ordering::Acquire) && self.topics().touch(key) {
            self.0.wake.notify_one();
        }
    }

    pub(super) fn look_at(&self, touch: impl FnOnce(&mut Topics) -> bool) {
        if touch(&mut self.topics()) {
            self.0.wake.notify_one();
        }
    }

    /// An aggregate was saved. If revisions are kept, the next poll reads the version from them.
    pub(crate) fn saved(&self, key: &LockKey, version: Version, kept: bool) {
        if !kept && self.0.wanted.load(Ordering::Acquire) {
            let wakers = self.topics().saved(key, version);
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    pub(super) fn topics(&self) -> MutexGuard<'_, Topics> {
        // A panic cannot leave it half-changed.
        self.0.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the subscriptions, and polls if there are any.
    pub(super) fn subscribe<T>(&self, change: impl FnOnce(&mut Topics) -> T) -> T {
        let changed = {
            let mut topics = self.topics();
            let changed = change(&mut topics);
            self.0.wanted.store(!topics.is_empty(), Ordering::Release);
            changed
        };
        self.start();
        self.0.wake.notify_one();
        changed
    }

    /// Starts polling, if there are subscribers and no poll loop runs.
    pub(super) fn start(&self) {
        if !self.0.wanted.load(Ordering::Acquire) {
            return;
        }
        if let Ok(runtime) = Handle::try_current()
            && !self.0.running.swap(true, Ordering::AcqRel)
        {
            runtime.spawn(Running(self.clone()).run());
        }
    }

    async fn keep_looking(&self) {
        let listener = self.listen().await;
        let begun = Instant::now();
        let mut next = begun;
        while self.0.wanted.load(Ordering::Acquire) && !self.topics().is_closed() {
            let now = Instant::now();
            let everything = next <= now;
            let interval = self.interval();
            if everything {
                let settled = begun + SETTLED.min(interval);
                next = if now < settled { settled } else { now + interval };
            }
            if let Err(error) = self.round(everything).await {
                tracing::warn!(%error, "could not poll the watched locks; retrying");
                next = Instant::now() + interval.min(INTERVAL);
                // All touched keys are polled then.
                tokio::time::sleep_until(next).await;
                continue;
            }
            let pause = self.topics().due().map_or(next, |due| due.min(next));
            let pause = match self.topics().anybody_waits() {
                true => pause.min(Instant::now() + PLACE_TTL / 3),
                false => pause,
            };
            let _ = tokio::time::timeout_at(pause, self.0.wake.notified()).await;
        }
        drop(listener);
    }

    fn interval(&self) -> Duration {
        let default = match self.0.listening.load(Ordering::Acquire) {
            true => INTERVAL_WHILE_LISTENING,
            false => INTERVAL,
        };
        self.0.interval.unwrap_or(default)
    }

    /// Polls the touched keys, or all, and reports the events. Returns the number of statements.
    pub(crate) async fn round(&self, everything: bool) -> Result<usize, DatabaseError> {
        let mut kept = self.0.turn.lock().await;
        let due = everything || kept.is_none_or(|kept| kept.elapsed() >= PLACE_TTL / 3);
        let places = self.topics().places();
        if places > 0 && due {
            let there = self.0.backend.keep_places(self.0.process).await?;
            *kept = Some(Instant::now());
            if there < places as u64 {
                self.topics().lost_places();
            }
        }
        let round = self.topics().round(Instant::now(), everything);
        let mut statements = 0;
        for looks in round.looks.chunks(MOST_KEYS) {
            let seen = match self.0.backend.look(looks).await {
                Ok(seen) => seen,
                Err(error) => {
                    let mut topics = self.topics();
                    for look in &round.looks {
                        topics.touch(&look.key);
                    }
                    return Err(error);
                }
            };
            statements += 1;
            let wakers = self.topics().seen(round.number(), looks, seen, Instant::now());
            wakers.into_iter().for_each(Waker::wake);
        }
        Ok(statements)
    }

    /// Ends all waits and subscriptions.
    pub(crate) fn close(&self) {
        let wakers = self.topics().close();
        wakers.into_iter().for_each(Waker::wake);
        self.0.wake.notify_one();
    }
}

/// A random number.
pub(crate) fn random() -> i64 {
    let mut bytes = [0; 8];
    // As with a lock id: without randomness it cannot continue safely.
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    i64::from_le_bytes(bytes)
}

/// A running poll loop, as long as its runtime lives. After any end, another one can begin.
struct Running(Hub);

impl Running {
    async fn run(self) {
        let hub = self.0.clone();
        hub.keep_looking().await;
        drop(self);
        // A subscriber may have arrived at the last moment, and found it running.
        if !hub.topics().is_closed() {
            hub.start();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.running.store(false, Ordering::Release);
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("wanted", &self.0.wanted).finish_non_exhaustive()
    }
}
