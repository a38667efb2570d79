//! Looks at what is watched and waited for: one look per process, whatever the number of those who are interested, and
//! only while there are any. All that happened in this process, or was heard of from others, is only a reason to look: what
//! is told comes from the database.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::announce::{Announcer, SETTLED};
use super::topics::Topics;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::Backend;
use crate::storage::watching::PLACE_TTL;

/// How often it is looked where nobody tells what happened.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often it is looked where other processes tell: an announcement may be lost.
pub(super) const INTERVAL_WHILE_LISTENING: Duration = Duration::from_secs(5);
/// How many keys are looked at with one statement.
const MOST_KEYS: usize = 500;
/// Where those meet who watch and who wait. Clones are the same place.
#[derive(Clone)]
pub(crate) struct Hub(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) backend: Arc<dyn Backend>,
    /// A random number of this process.
    pub(super) process: i64,
    interval: Option<Duration>,
    topics: Mutex<Topics>,
    /// Whether anybody is interested in anything, so that it costs nothing if nobody is.
    wanted: AtomicBool,
    running: AtomicBool,
    pub(super) listening: AtomicBool,
    wake: Notify,
    /// Rounds go one after the other; since when places in line were last kept.
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

    /// Something happened to a key: whoever is interested is told, here and in other processes.
    pub(crate) fn touched(&self, key: &LockKey) {
        self.look(key);
        if let Some(announcer) = &self.0.announcer {
            announcer.tell(key);
        }
    }

    /// Something happened that is of interest in this process, and that others find out in time.
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

    /// An aggregate was saved. Where revisions are kept, they tell the version when it is looked at.
    pub(crate) fn saved(&self, key: &LockKey, version: Version, kept: bool) {
        if !kept && self.0.wanted.load(Ordering::Acquire) {
            let wakers = self.topics().saved(key, version);
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    pub(super) fn topics(&self) -> MutexGuard<'_, Topics> {
        // Nothing is done under it that could leave it half-changed.
        self.0.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes who is interested in what, and looks if anybody is.
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

    /// Begins to look, if anybody is interested and nobody looks.
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
                tracing::warn!(%error, "could not look at the locks that are watched; trying again");
                next = Instant::now() + interval.min(INTERVAL);
                // Whatever was touched is looked at then.
                tokio::time::sleep_until(next.into()).await;
                continue;
            }
            let pause = self.topics().due().map_or(next, |due| due.min(next));
            let pause = match self.topics().anybody_waits() {
                true => pause.min(Instant::now() + PLACE_TTL / 3),
                false => pause,
            };
            let _ = tokio::time::timeout_at(pause.into(), self.0.wake.notified()).await;
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

    /// Looks at what was touched, or at everything, and tells everybody. How many statements it took to look.
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

    /// Ends what waits and watches.
    pub(crate) fn close(&self) {
        let wakers = self.topics().close();
        wakers.into_iter().for_each(Waker::wake);
        self.0.wake.notify_one();
    }
}

/// A random number.
pub(crate) fn random() -> i64 {
    let mut bytes = [0; 8];
    // As with a lock id: without randomness there is nothing safe to go on with.
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    i64::from_le_bytes(bytes)
}

/// Looking, as long as its runtime lives. However it ends, another one can begin.
struct Running(Hub);

impl Running {
    async fn run(self) {
        let hub = self.0.clone();
        hub.keep_looking().await;
        drop(self);
        // Somebody may have come at the last moment, and found it running.
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
