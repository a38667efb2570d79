//! Questions to the lock table that arrive while a round trip is under way share the next one.
//!
//! Nobody waits for a batch to fill: a few callers go at once, each alone, as if there were no batches. Where there are more,
//! whoever comes while others are under way goes when they are back, together with all who came meanwhile. So a batch is as
//! large as the database is slow, and the callers of a round share one round trip and one flush. Those who only want to know
//! something go by themselves, so that they do not wait for the flush of the others.

mod lane;
mod round;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::error::DatabaseError;
use crate::storage::{Backend, LockAnswer, LockOp, patience};
use crate::telemetry::metrics::Metrics;
use lane::Lane;
use round::{Round, settled};

/// How long nobody may set out though somebody waits, because what is under way has not come back. Far longer than a round trip
/// takes where all is well, and not yet long for a person.
const LATE: Duration = Duration::from_millis(25);
/// The most questions of one round trip: beyond that a statement gets slower as much as it answers more.
const MOST: usize = 256;
/// The most questions that wait. Whoever comes then is told at once, instead of after a timeout.
const LONGEST_QUEUE: usize = 20_000;

type Answer = Result<Option<LockAnswer>, DatabaseError>;

/// Where questions meet. Clones are the same place.
#[derive(Clone)]
pub(crate) struct Batcher {
    backend: Arc<dyn Backend>,
    lanes: Arc<[Mutex<Lane<Waiting>>; 2]>,
    metrics: Metrics,
    /// Whether each goes alone.
    alone: bool,
}

/// Which way a question goes.
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

/// Whether whoever asked has gone away, though their question is not dropped. Clones are the same.
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
    /// Whether nobody waits for the answer any more.
    fn has_gone(&self) -> bool {
        self.answer.is_closed() || self.gone.as_ref().is_some_and(Gone::is_set)
    }
}

/// Where a caller stands.
enum Place {
    OnTheWay(Way, LockOp),
    InTheQueue(oneshot::Receiver<Answer>),
}

impl Batcher {
    pub(crate) fn new(backend: Arc<dyn Backend>, metrics: Metrics) -> Self {
        let lane = || Mutex::new(Lane::new(backend.answers_at_once()));
        Batcher { lanes: Arc::new([lane(), lane()]), backend, metrics, alone: false }
    }

    /// The same place for those who share nothing with others.
    pub(crate) fn one_by_one(&self) -> Self {
        Batcher { alone: true, ..self.clone() }
    }

    /// Where what is asked here is counted.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// How many wait, for as long as anybody asks here.
    #[cfg(feature = "opentelemetry")]
    pub(crate) fn waiting(&self) -> impl Fn() -> u64 + Send + Sync + 'static {
        let lanes = Arc::downgrade(&self.lanes);
        move || {
            let lanes = lanes.upgrade();
            let waiting = lanes.iter().flat_map(|lanes| lanes.iter()).map(|lane| locked(lane).queue.len());
            waiting.sum::<usize>().try_into().unwrap_or(0)
        }
    }

    /// The answer, or `None` if the question has to be asked alone.
    ///
    /// A caller who goes away does not disturb those who share its round trip.
    pub(crate) async fn ask(&self, op: LockOp) -> Answer {
        self.ask_as(op, None).await
    }

    /// As [`ask`](Self::ask), of somebody who is not dropped when they go away: no question of theirs sets out after that.
    pub(crate) async fn ask_unless(&self, op: LockOp, gone: &Gone) -> Answer {
        self.ask_as(op, Some(gone.clone())).await
    }

    async fn ask_as(&self, op: LockOp, gone: Option<Gone>) -> Answer {
        if self.alone {
            return self.go_alone(op).await;
        }
        let reads = matches!(op, LockOp::Check(_));
        match self.enter(op, gone)? {
            Place::InTheQueue(answer) => match tokio::time::timeout(patience::left(), answer).await {
                // Without an answer its round was given up: then it is asked alone.
                Ok(answer) => answer.unwrap_or(Ok(None)),
                Err(_) if reads => Err(DatabaseError::Busy("the lock table did not answer in time")),
                // Whether it had set out is not known either.
                Err(_) => Err(DatabaseError::OutcomeUnknown("the lock table did not answer in time".into())),
            },
            Place::OnTheWay(_way, op) => self.go_alone(op).await,
        }
    }

    async fn go_alone(&self, op: LockOp) -> Answer {
        self.metrics.batch(1);
        settled(self.backend.lock_batch(&[op]).await, 1).pop().unwrap_or(Ok(None))
    }

    fn enter(&self, op: LockOp, gone: Option<Gone>) -> Result<Place, DatabaseError> {
        let purpose = Purpose::of(&op);
        let mut lane = self.lane(purpose);
        if lane.queue.len() >= LONGEST_QUEUE {
            return Err(DatabaseError::Busy("too many questions to the lock table are waiting already"));
        }
        let (answer, receiver) = oneshot::channel();
        lane.queue.push_back(Waiting { op, answer, gone });
        if !lane.may_go() {
            self.watch(purpose, lane);
        } else if lane.queue.len() > 1 {
            self.send(purpose, lane);
        } else if let Some(Waiting { op, .. }) = lane.queue.pop_front() {
            lane.begin(1);
            return Ok(Place::OnTheWay(Way { batcher: self.clone(), purpose, count: 1 }, op));
        }
        Ok(Place::InTheQueue(receiver))
    }

    /// Sends those who wait on their way.
    fn send(&self, purpose: Purpose, mut lane: MutexGuard<'_, Lane<Waiting>>) {
        let Ok(runtime) = Handle::try_current() else {
            // Nobody is left to do it: those who wait ask alone.
            return lane.queue.clear();
        };
        let round = Round::of(&mut lane.queue);
        let count = round.on_board();
        if count == 0 {
            return;
        }
        lane.begin(count);
        drop(lane);
        let way = Way { batcher: self.clone(), purpose, count };
        runtime.spawn(async move {
            way.batcher.metrics.batch(count);
            round.run(&way.batcher.backend).await;
        });
    }

    /// Sees to it that those who wait do not wait for what does not come back, for as long as anybody waits.
    fn watch(&self, purpose: Purpose, mut lane: MutexGuard<'_, Lane<Waiting>>) {
        if std::mem::replace(&mut lane.watched, true) {
            return;
        }
        let (batcher, mut begun) = (self.clone(), lane.begun());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LATE).await;
                let mut lane = batcher.lane(purpose);
                if lane.queue.is_empty() {
                    lane.watched = false;
                    return;
                }
                let late = lane.is_late(begun);
                begun = lane.begun();
                if late {
                    batcher.send(purpose, lane);
                }
            }
        });
    }

    /// Asks many at once, without the queue: the heartbeat of a whole process.
    pub(crate) async fn ask_all(&self, ops: Vec<LockOp>) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(ops.len());
        for ops in ops.chunks(4 * MOST) {
            self.metrics.batch(ops.len());
            answers.extend(settled(self.backend.lock_batch(ops).await, ops.len()));
        }
        answers
    }

    fn lane(&self, purpose: Purpose) -> MutexGuard<'_, Lane<Waiting>> {
        locked(&self.lanes[purpose as usize])
    }
}

fn locked<T>(lane: &Mutex<Lane<T>>) -> MutexGuard<'_, Lane<T>> {
    // Nothing is done under it that could leave it half-changed.
    lane.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A round trip that is under way, with so many on board. When it is over, those who wait go next.
struct Way {
    batcher: Batcher,
    purpose: Purpose,
    count: usize,
}

impl Drop for Way {
    fn drop(&mut self) {
        let mut lane = self.batcher.lane(self.purpose);
        lane.end(self.count);
        if lane.may_go() {
            self.batcher.send(self.purpose, lane);
        }
    }
}

impl fmt::Debug for Batcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lanes.iter().map(|lane| locked(lane).under_way())).finish()
    }
}
