//! Requests to the lock table that arrive while a round trip is in flight share the next one.
//!
//! No request waits for a batch to fill: with few callers, each request is sent alone at once, as without batching. With more callers,
//! requests that arrive while others are in flight are batched and sent when those return. So the size of a batch adapts to the
//! latency of the database, and its callers share one round trip and one flush. Reads have a queue of their own, so that
//! they do not wait for the flush of writes.

mod admission;
mod round;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::db::Backend;
use crate::db::patience;
use crate::error::DatabaseError;
use crate::lease::operations::{LockAnswer, LockOp};
use crate::telemetry::metrics::Metrics;
use admission::Admission;
use round::{Batch, settled};

/// How long requests may be held back because the round trips in flight have not returned. Far longer than a healthy round trip,
/// and short for a person.
const LATE: Duration = Duration::from_millis(25);
/// The maximum number of requests per round trip: beyond that a statement slows down as much as it answers more.
const MOST: usize = 256;
/// The maximum length of the queue. Beyond that a request fails at once, instead of after a timeout.
const LONGEST_QUEUE: usize = 20_000;

type Answer = Result<Option<LockAnswer>, DatabaseError>;

/// The queues of the lock table. Clones share them.
#[derive(Clone)]
pub(crate) struct Batcher {
    backend: Arc<Backend>,
    admissions: Arc<[Mutex<Admission<Waiting>>; 2]>,
    metrics: Metrics,
    /// Whether batching is off.
    alone: bool,
}

/// The queue that a request uses.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    ToWrite,
    ToRead,
}

impl Purpose {
    fn of(op: &LockOp) -> Self {
        match op {
            LockOp::Check(_) => Purpose::ToRead,
            LockOp::Take(_)
            | LockOp::KeepAlive(..)
            | LockOp::Extend(..)
            | LockOp::ExpireWithin(..)
            | LockOp::Release(_) => Purpose::ToWrite,
        }
    }
}

/// Whether the caller is gone, though its request is not dropped. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gone(Arc<AtomicBool>);

impl Gone {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct Waiting {
    op: LockOp,
    answer: oneshot::Sender<Answer>,
    gone: Option<Gone>,
}

impl Waiting {
    /// Whether the caller is gone.
    fn has_gone(&self) -> bool {
        self.answer.is_closed() || self.gone.as_ref().is_some_and(Gone::is_set)
    }
}

/// The position of a caller.
enum Position {
    InFlight(RoundTrip, LockOp),
    Queued(oneshot::Receiver<Answer>),
}

impl Batcher {
    pub(crate) fn new(backend: Arc<Backend>, metrics: Metrics) -> Self {
        let admission = || Mutex::new(Admission::new(backend.answers_at_once()));
        Batcher { admissions: Arc::new([admission(), admission()]), backend, metrics, alone: false }
    }

    /// The same, for requests that must not be batched.
    pub(crate) fn one_by_one(&self) -> Self {
        Batcher { alone: true, ..self.clone() }
    }

    /// The metrics of these queues.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Reports the length of the queue for as long as these queues exist.
    #[cfg(feature = "opentelemetry")]
    pub(crate) fn waiting(&self) -> impl Fn() -> u64 + Send + Sync + 'static {
        let admissions = Arc::downgrade(&self.admissions);
        move || {
            let admissions = admissions.upgrade();
            let waiting = admissions
                .iter()
                .flat_map(|admissions| admissions.iter())
                .map(|admission| locked(admission).queue.len());
            waiting.sum::<usize>().try_into().unwrap_or(0)
        }
    }

    /// The answer, or `None` if the request has to be sent alone.
    ///
    /// A dropped call does not affect the other requests of its round trip.
    pub(crate) async fn ask(&self, op: LockOp) -> Answer {
        self.ask_as(op, None).await
    }

    /// As [`ask`](Self::ask), for a caller whose future is not dropped when it is gone: none of its requests is sent after that.
    pub(crate) async fn ask_unless(&self, op: LockOp, gone: &Gone) -> Answer {
        self.ask_as(op, Some(gone.clone())).await
    }

    async fn ask_as(&self, op: LockOp, gone: Option<Gone>) -> Answer {
        if self.alone {
            return self.send_alone(op).await;
        }
        let reads = matches!(op, LockOp::Check(_));
        match self.enter(op, gone)? {
            // As long as a request that is sent alone: an outcome that is unknown is worse than a wait that is a little longer.
            Position::Queued(answer) => match tokio::time::timeout(patience::left().max(patience::GRACE), answer).await
            {
                // No answer means that its batch was abandoned: it is sent alone.
                Ok(answer) => answer.unwrap_or(Ok(None)),
                Err(_) if reads => Err(DatabaseError::Busy("the lock table did not answer in time")),
                // It is not known whether it was sent.
                Err(_) => Err(DatabaseError::OutcomeUnknown("the lock table did not answer in time".into())),
            },
            Position::InFlight(_round_trip, op) => self.send_alone(op).await,
        }
    }

    async fn send_alone(&self, op: LockOp) -> Answer {
        self.metrics.batch(1);
        settled(self.backend.lock_batch(&[op]).await, 1).pop().unwrap_or(Ok(None))
    }

    fn enter(&self, op: LockOp, gone: Option<Gone>) -> Result<Position, DatabaseError> {
        let purpose = Purpose::of(&op);
        let mut admission = self.admission(purpose);
        if admission.queue.len() >= LONGEST_QUEUE {
            return Err(DatabaseError::Busy("too many requests to the lock table are queued already"));
        }
        let (answer, receiver) = oneshot::channel();
        admission.queue.push_back(Waiting { op, answer, gone });
        if !admission.may_send() {
            self.watch(purpose, admission);
        } else if admission.queue.len() > 1 {
            self.send(purpose, admission);
        } else if let Some(Waiting { op, .. }) = admission.queue.pop_front() {
            admission.begin(1);
            return Ok(Position::InFlight(RoundTrip { batcher: self.clone(), purpose, count: 1 }, op));
        }
        Ok(Position::Queued(receiver))
    }

    /// Sends the next batch of waiting requests.
    fn send(&self, purpose: Purpose, mut admission: MutexGuard<'_, Admission<Waiting>>) {
        let Ok(runtime) = Handle::try_current() else {
            // No runtime is left: the waiting requests are sent alone.
            return admission.queue.clear();
        };
        let batch = Batch::of(&mut admission.queue);
        let count = batch.size();
        if count == 0 {
            return;
        }
        admission.begin(count);
        drop(admission);
        let round_trip = RoundTrip { batcher: self.clone(), purpose, count };
        runtime.spawn(async move {
            round_trip.batcher.metrics.batch(count);
            batch.run(&round_trip.batcher.backend).await;
        });
    }

    /// Releases requests that are held back by a round trip that does not return, for as long as any wait.
    fn watch(&self, purpose: Purpose, mut admission: MutexGuard<'_, Admission<Waiting>>) {
        if std::mem::replace(&mut admission.watched, true) {
            return;
        }
        let (batcher, mut begun) = (self.clone(), admission.begun());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LATE).await;
                let mut admission = batcher.admission(purpose);
                if admission.queue.is_empty() {
                    admission.watched = false;
                    return;
                }
                let late = admission.is_late(begun);
                begun = admission.begun();
                if late {
                    batcher.send(purpose, admission);
                }
            }
        });
    }

    /// Sends many at once, bypassing the queue: the heartbeat of a whole process.
    pub(crate) async fn ask_all(&self, ops: Vec<LockOp>) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(ops.len());
        for ops in ops.chunks(4 * MOST) {
            self.metrics.batch(ops.len());
            answers.extend(settled(self.backend.lock_batch(ops).await, ops.len()));
        }
        answers
    }

    fn admission(&self, purpose: Purpose) -> MutexGuard<'_, Admission<Waiting>> {
        locked(&self.admissions[purpose as usize])
    }
}

fn locked<T>(admission: &Mutex<Admission<T>>) -> MutexGuard<'_, Admission<T>> {
    // A panic cannot leave it half-changed.
    admission.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A round trip in flight with its number of requests. When it ends, the next batch goes.
struct RoundTrip {
    batcher: Batcher,
    purpose: Purpose,
    count: usize,
}

impl Drop for RoundTrip {
    fn drop(&mut self) {
        let mut admission = self.batcher.admission(self.purpose);
        admission.end(self.count);
        if admission.may_send() {
            self.batcher.send(self.purpose, admission);
        }
    }
}

impl fmt::Debug for Batcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.admissions.iter().map(|admission| locked(admission).in_flight())).finish()
    }
}
