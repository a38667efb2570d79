//! Questions to the lock table that arrive while a round trip is under way share the next one.
//!
//! Nobody waits for a batch to fill: a caller who finds the way free goes at once and alone, and whoever comes meanwhile
//! goes together with the others, as soon as one of the trips that are under way is back. So a batch is as large as the
//! database is slow, and the callers of a round share one round trip and one flush. Those who only want to know something
//! go by themselves, so that they do not wait for the flush of the others.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::backend::{Backend, LockAnswer, LockHash, LockOp, LockRequest};
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::metrics::Metrics;

/// Round trips under way at once, of those that write and of those that only read. One would leave the database idle while
/// answers are handed out; more make the batches smaller, and with them the flushes more.
const UNDER_WAY: usize = 2;
/// The most questions of one round trip: beyond that a statement gets slower as much as it answers more.
const MOST: usize = 256;
/// The most questions that wait. Whoever comes then is told at once, instead of after a timeout.
const LONGEST_QUEUE: usize = 20_000;

type Answer = Result<Option<LockAnswer>, DatabaseError>;

/// Where questions meet. Clones are the same place.
#[derive(Clone)]
pub(crate) struct Batcher {
    backend: Arc<dyn Backend>,
    lanes: Arc<[Mutex<Lane>; 2]>,
    metrics: Metrics,
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

#[derive(Default)]
struct Lane {
    under_way: usize,
    queue: VecDeque<Waiting>,
}

struct Waiting {
    op: LockOp,
    answer: oneshot::Sender<Answer>,
}

/// Where a caller stands.
enum Place {
    OnTheWay(Way, LockOp),
    InTheQueue(oneshot::Receiver<Answer>),
}

impl Batcher {
    pub(crate) fn new(backend: Arc<dyn Backend>, metrics: Metrics) -> Self {
        Batcher { backend, lanes: Arc::default(), metrics }
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
        match self.enter(op)? {
            // Without an answer its round was given up: then it is asked alone.
            Place::InTheQueue(answer) => answer.await.unwrap_or(Ok(None)),
            Place::OnTheWay(_way, op) => {
                self.metrics.batch(1);
                let answers = self.backend.lock_batch(&[op]).await;
                settled(answers, 1).pop().unwrap_or(Ok(None))
            }
        }
    }

    fn enter(&self, op: LockOp) -> Result<Place, DatabaseError> {
        let purpose = Purpose::of(&op);
        let mut lane = self.lane(purpose);
        if lane.under_way < UNDER_WAY {
            lane.under_way += 1;
            return Ok(Place::OnTheWay(Way(self.clone(), purpose), op));
        }
        if lane.queue.len() >= LONGEST_QUEUE {
            return Err(DatabaseError::Busy("too many questions to the lock table are waiting already"));
        }
        let (answer, receiver) = oneshot::channel();
        lane.queue.push_back(Waiting { op, answer });
        Ok(Place::InTheQueue(receiver))
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

    /// Answers those who wait until nobody does.
    async fn drain(self, purpose: Purpose) {
        let way = Way(self, purpose);
        loop {
            let round = way.0.next_round(purpose);
            if round.is_empty() {
                return;
            }
            way.0.metrics.batch(round.ops.len() + round.rivals.len());
            round.run(&way.0.backend).await;
        }
    }

    fn next_round(&self, purpose: Purpose) -> Round {
        let mut lane = self.lane(purpose);
        let (mut round, mut later) = (Round::default(), Vec::new());
        while round.ops.len() < MOST {
            let Some(waiting) = lane.queue.pop_front() else { break };
            if waiting.answer.is_closed() {
                continue;
            }
            if let Err(waiting) = round.add(waiting) {
                later.push(waiting);
            }
        }
        // In front of those who came after them.
        later.into_iter().rev().for_each(|waiting| lane.queue.push_front(waiting));
        round
    }

    fn lane(&self, purpose: Purpose) -> MutexGuard<'_, Lane> {
        locked(&self.lanes[purpose as usize])
    }
}

fn locked(lane: &Mutex<Lane>) -> MutexGuard<'_, Lane> {
    // Nothing is done under it that could leave it half-changed.
    lane.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One of the round trips that may be under way at once. When it is over, those who wait go next.
struct Way(Batcher, Purpose);

impl Drop for Way {
    fn drop(&mut self) {
        let Way(batcher, purpose) = self;
        let mut lane = batcher.lane(*purpose);
        lane.under_way -= 1;
        if lane.queue.is_empty() {
            return;
        }
        match Handle::try_current() {
            Ok(runtime) => {
                lane.under_way += 1;
                drop(lane);
                runtime.spawn(batcher.clone().drain(*purpose));
            }
            // Nobody is left to do it: those who wait ask alone.
            Err(_) => lane.queue.clear(),
        }
    }
}

/// Those who go together: no two with the same key or lock id, except that many may ask for one key.
#[derive(Default)]
struct Round {
    ops: Vec<LockOp>,
    answers: Vec<oneshot::Sender<Answer>>,
    /// Who asks for the same key as one of them.
    rivals: Vec<(usize, LockRequest, oneshot::Sender<Answer>)>,
    keys: HashMap<LockKey, usize>,
    locks: HashSet<LockHash>,
}

impl Round {
    fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Takes somebody along, or gives them back to go with the next round.
    fn add(&mut self, waiting: Waiting) -> Result<(), Waiting> {
        let Waiting { op, answer } = waiting;
        match op {
            LockOp::Take(request) if self.keys.contains_key(&request.key) => {
                self.rivals.push((self.keys[&request.key], request, answer));
                return Ok(());
            }
            op if !self.locks.insert(*op.lock()) => return Err(Waiting { op, answer }),
            op => {
                if let LockOp::Take(request) = &op {
                    self.keys.insert(request.key.clone(), self.ops.len());
                }
                self.ops.push(op);
            }
        }
        self.answers.push(answer);
        Ok(())
    }

    async fn run(self, backend: &Arc<dyn Backend>) {
        let answers = settled(backend.lock_batch(&self.ops).await, self.ops.len());
        for (at, rival, sender) in self.rivals {
            let _ = sender.send(self.ops.get(at).zip(answers.get(at)).map_or(Ok(None), |(op, answer)| {
                answer.clone().map(|answer| answer.and_then(|answer| beside(op, answer, &rival)))
            }));
        }
        for (sender, answer) in self.answers.into_iter().zip(answers) {
            // Whoever has gone away meanwhile has no answer to get.
            let _ = sender.send(answer);
        }
    }
}

/// What the answer to one who asked for a key says to another who asked for it at the same moment.
fn beside(op: &LockOp, answer: LockAnswer, rival: &LockRequest) -> Option<LockAnswer> {
    let LockOp::Take(asked) = op else { return None };
    let (holder, lock) = match answer {
        LockAnswer::Yours(holder) => (holder, asked.lock.to_vec()),
        LockAnswer::Held { holder, lock } => (holder, lock),
    };
    (lock != rival.lock).then_some(LockAnswer::Held { holder, lock })
}

/// An answer for each. Where the database is not there, nobody need ask again; any other error may be the fault of one of
/// them, or of two that met, so each asks alone.
fn settled(answers: Result<Vec<Option<LockAnswer>>, DatabaseError>, count: usize) -> Vec<Answer> {
    match answers {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        Err(error @ (DatabaseError::ConnectionLost(_) | DatabaseError::Busy(_))) => vec![Err(error); count],
        Err(error) => {
            tracing::debug!(%error, count, "a batch failed; each of it is asked alone");
            vec![Ok(None); count]
        }
    }
}

impl fmt::Debug for Batcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lanes.iter().map(|lane| locked(lane).under_way)).finish()
    }
}
