//! Requests to the lock table that arrive while a round trip is in flight share the next one.
//!
//! No request waits for a batch to fill: with few callers, each request is sent alone at once, as without batching. With more callers,
//! requests that arrive while others are in flight are batched and sent when those return. So the size of a batch adapts to the
//! latency of the database, and its callers share one round trip and one flush. Reads have a queue of their own, so that
//! they do not wait for the flush of writes.

mod admission;

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::db::Backend;
use crate::db::patience;
use crate::error::DatabaseError;
use crate::lease::engine::{Answer, Operation};
use crate::row_lock::Wait;
use crate::store::leases;
use crate::telemetry::metrics::Metrics;
use admission::Admission;

/// How long requests may be held back because the round trips in flight have not returned. Far longer than a healthy round trip,
/// and short for a person.
const LATE: Duration = Duration::from_millis(25);
/// The maximum number of requests per round trip: beyond that a statement slows down as much as it answers more.
const MOST: usize = 256;
/// The maximum length of the queue. Beyond that a request fails at once, instead of after a timeout.
const LONGEST_QUEUE: usize = 20_000;

/// An answer; `None`: the request has to be sent alone.
type Answered = Result<Option<Answer>, DatabaseError>;

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
enum Queue {
    ToWrite,
    ToRead,
}

impl Queue {
    /// `None`: the operation shares nothing with others. (Advisory leases get their generations one after the other.)
    fn of(operation: &Operation) -> Option<Self> {
        match operation {
            Operation::Check(_) => Some(Queue::ToRead),
            Operation::Take(request) => request.policy.is_exclusive().then_some(Queue::ToWrite),
            Operation::Keep(..) | Operation::Extend(..) | Operation::ExpireWithin(..) | Operation::Release(_) => {
                Some(Queue::ToWrite)
            }
            _ => None,
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
    operation: Operation,
    answer: oneshot::Sender<Answered>,
    gone: Gone,
}

impl Waiting {
    /// Whether the caller is gone.
    fn has_gone(&self) -> bool {
        self.answer.is_closed() || self.gone.is_set()
    }
}

/// The position of a caller.
enum Position {
    /// The caller sends it.
    SendNow(RoundTrip, Operation),
    Queued(oneshot::Receiver<Answered>),
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

    /// Answers an operation: in a round trip with others, and, if that would have to wait for another session, alone.
    ///
    /// A dropped call does not affect the other requests of its round trip.
    pub(crate) async fn ask(&self, operation: Operation) -> Result<Answer, DatabaseError> {
        self.ask_unless(operation, &Gone::default()).await
    }

    /// As [`ask`](Self::ask), for a caller whose future is not dropped when it is gone: none of its requests is sent after that.
    pub(crate) async fn ask_unless(&self, operation: Operation, gone: &Gone) -> Result<Answer, DatabaseError> {
        if let (Some(queue), false) = (Queue::of(&operation), self.alone)
            && let Some(answer) = self.ask_with_others(queue, operation.clone(), gone).await?
        {
            return Ok(answer);
        }
        if gone.is_set() {
            return Err(DatabaseError::Busy("the caller of the request is gone"));
        }
        leases::operate(&self.backend, &operation).await
    }

    async fn ask_with_others(&self, queue: Queue, operation: Operation, gone: &Gone) -> Answered {
        match self.enter(queue, operation, gone.clone())? {
            // As long as a request that is sent alone: an outcome that is unknown is worse than a wait that is a little longer.
            Position::Queued(answer) => match tokio::time::timeout(patience::left().max(patience::GRACE), answer).await
            {
                // No answer means that its batch was abandoned: it is sent alone.
                Ok(answer) => answer.unwrap_or(Ok(None)),
                Err(_) => match queue {
                    Queue::ToRead => Err(DatabaseError::Busy("the lock table did not answer in time")),
                    // It is not known whether it was sent.
                    Queue::ToWrite => {
                        Err(DatabaseError::OutcomeUnknown("the lock table did not answer in time".into()))
                    }
                },
            },
            Position::SendNow(_round_trip, operation) => self.send(&[operation]).await.pop().unwrap_or(Ok(None)),
        }
    }

    /// Sends operations together. None of them waits for other sessions.
    async fn send(&self, operations: &[Operation]) -> Vec<Answered> {
        self.metrics.batch(operations.len());
        let answers = leases::together(&self.backend, &operations.iter().collect::<Vec<_>>(), false).await;
        settled(answers, operations.len())
    }

    fn enter(&self, queue: Queue, operation: Operation, gone: Gone) -> Result<Position, DatabaseError> {
        let mut admission = self.admission(queue);
        if admission.queue.len() >= LONGEST_QUEUE {
            return Err(DatabaseError::Busy("too many requests to the lock table are queued already"));
        }
        let (answer, receiver) = oneshot::channel();
        admission.queue.push_back(Waiting { operation, answer, gone });
        if !admission.may_send() {
            self.watch(queue, admission);
        } else if admission.queue.len() > 1 {
            self.send_next(queue, admission);
        } else if let Some(Waiting { operation, .. }) = admission.queue.pop_front() {
            admission.begin(1);
            return Ok(Position::SendNow(RoundTrip { batcher: self.clone(), queue, count: 1 }, operation));
        }
        Ok(Position::Queued(receiver))
    }

    /// Sends the next batch of waiting requests.
    fn send_next(&self, queue: Queue, mut admission: MutexGuard<'_, Admission<Waiting>>) {
        let Ok(runtime) = Handle::try_current() else {
            // No runtime is left: the waiting requests are sent alone.
            return admission.queue.clear();
        };
        let (operations, callers) = next(&mut admission.queue);
        let count = operations.len();
        if count == 0 {
            return;
        }
        admission.begin(count);
        drop(admission);
        let round_trip = RoundTrip { batcher: self.clone(), queue, count };
        runtime.spawn(async move {
            let answers = patience::within(Wait::default().budget(), round_trip.batcher.send(&operations)).await;
            for (caller, answer) in callers.into_iter().zip(answers) {
                // The caller may be gone.
                let _ = caller.send(answer);
            }
        });
    }

    /// Releases requests that are held back by a round trip that does not return, for as long as any wait.
    fn watch(&self, queue: Queue, mut admission: MutexGuard<'_, Admission<Waiting>>) {
        if std::mem::replace(&mut admission.watched, true) {
            return;
        }
        let (batcher, mut begun) = (self.clone(), admission.begun());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LATE).await;
                let mut admission = batcher.admission(queue);
                if admission.queue.is_empty() {
                    admission.watched = false;
                    return;
                }
                let late = admission.is_late(begun);
                begun = admission.begun();
                if late {
                    batcher.send_next(queue, admission);
                }
            }
        });
    }

    /// Sends many at once, bypassing the queue: the heartbeat of a whole process.
    pub(crate) async fn ask_all(&self, operations: &[Operation]) -> Result<Vec<Answer>, DatabaseError> {
        let mut answers = Vec::with_capacity(operations.len());
        for operations in operations.chunks(4 * MOST) {
            for (operation, answer) in operations.iter().zip(self.send(operations).await) {
                answers.push(match answer? {
                    Some(answer) => answer,
                    None => leases::operate(&self.backend, operation).await?,
                });
            }
        }
        Ok(answers)
    }

    fn admission(&self, queue: Queue) -> MutexGuard<'_, Admission<Waiting>> {
        locked(&self.admissions[queue as usize])
    }
}

/// The next batch of a queue, in its order, with those who wait for the answers.
fn next(queue: &mut VecDeque<Waiting>) -> (Vec<Operation>, Vec<oneshot::Sender<Answered>>) {
    let mut batch = (Vec::new(), Vec::new());
    while batch.0.len() < MOST {
        let Some(waiting) = queue.pop_front() else { break };
        if !waiting.has_gone() {
            batch.0.push(waiting.operation);
            batch.1.push(waiting.answer);
        }
    }
    batch
}

/// An answer for each request. If the database is unavailable, no retry helps; any other error may be caused by one request, or by two that
/// conflict, so each is retried alone.
fn settled(answers: Result<Vec<Option<Answer>>, DatabaseError>, count: usize) -> Vec<Answered> {
    match answers {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        Err(
            error @ (DatabaseError::ConnectionLost(_)
            | DatabaseError::OutcomeUnknown(_)
            | DatabaseError::ReadOnly
            | DatabaseError::Busy(_)
            | DatabaseError::Closed),
        ) => (0..count).map(|_| Err(error.clone())).collect(),
        Err(error) => {
            tracing::debug!(%error, count, "a batch failed; each request is retried alone");
            (0..count).map(|_| Ok(None)).collect()
        }
    }
}

fn locked<T>(admission: &Mutex<Admission<T>>) -> MutexGuard<'_, Admission<T>> {
    // A panic cannot leave it half-changed.
    admission.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A round trip in flight with its number of requests. When it ends, the next batch goes.
struct RoundTrip {
    batcher: Batcher,
    queue: Queue,
    count: usize,
}

impl Drop for RoundTrip {
    fn drop(&mut self) {
        let mut admission = self.batcher.admission(self.queue);
        admission.end(self.count);
        if admission.may_send() {
            self.batcher.send_next(self.queue, admission);
        }
    }
}

impl fmt::Debug for Batcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.admissions.iter().map(|admission| locked(admission).in_flight())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::operations::Proof;

    #[test]
    fn batch_leaves_out_callers_that_are_gone() {
        let (gone, mut receivers) = (Gone::default(), Vec::new());
        gone.set();
        let mut queue: VecDeque<Waiting> = (0..300)
            .map(|number: usize| {
                let (answer, receiver) = oneshot::channel();
                receivers.push(receiver);
                let operation = Operation::Release(Proof { lock: [0; 32], owner: Some(number.to_string()) });
                Waiting { operation, answer, gone: if number == 1 { gone.clone() } else { Gone::default() } }
            })
            .collect();
        drop(receivers.remove(0));
        let (operations, callers) = next(&mut queue);
        assert_eq!((operations.len(), callers.len(), queue.len()), (MOST, MOST, 300 - MOST - 2));
    }
}
