//! A batch: requests that share a round trip, and the answer to each.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Answer, MOST, Waiting};
use crate::db::Backend;
use crate::db::patience;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lease::operations::{LockAnswer, LockHash, LockOp, LockRequest};
use crate::row_lock::Wait;

/// Requests that are sent together: no two with the same key or lock id, except that many may try to acquire one key.
#[derive(Default)]
pub(super) struct Batch {
    ops: Vec<LockOp>,
    answers: Vec<oneshot::Sender<Answer>>,
    /// Further requests for a key that the batch already requests.
    rivals: Vec<(usize, LockRequest, oneshot::Sender<Answer>)>,
    keys: HashMap<LockKey, usize>,
    locks: HashSet<LockHash>,
}

impl Batch {
    /// Takes all compatible requests from the queue, in their order. The others stay in front of later ones.
    pub(super) fn of(queue: &mut VecDeque<Waiting>) -> Self {
        let (mut batch, mut later) = (Batch::default(), Vec::new());
        while batch.ops.len() < MOST {
            let Some(waiting) = queue.pop_front() else { break };
            if waiting.has_gone() {
                continue;
            }
            if let Err(waiting) = batch.add(waiting) {
                later.push(waiting);
            }
        }
        later.into_iter().rev().for_each(|waiting| queue.push_front(waiting));
        batch
    }

    /// Number of requests that it answers.
    pub(super) fn size(&self) -> usize {
        self.ops.len() + self.rivals.len()
    }

    /// Adds a request, or returns it for the next batch.
    fn add(&mut self, waiting: Waiting) -> Result<(), Waiting> {
        let Waiting { op, answer, gone } = waiting;
        match op {
            LockOp::Take(request) if self.keys.contains_key(&request.key) => {
                self.rivals.push((self.keys[&request.key], request, answer));
                return Ok(());
            }
            op if !self.locks.insert(*op.lock()) => return Err(Waiting { op, answer, gone }),
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

    pub(super) async fn run(self, backend: &Arc<Backend>) {
        let batch = patience::within(Wait::default().budget(), backend.lock_batch(&self.ops));
        let answers = settled(batch.await, self.ops.len());
        for (at, rival, sender) in self.rivals {
            let _ = sender.send(self.ops.get(at).zip(answers.get(at)).map_or(Ok(None), |(op, answer)| {
                answer.clone().map(|answer| answer.and_then(|answer| beside(op, answer, &rival)))
            }));
        }
        for (sender, answer) in self.answers.into_iter().zip(answers) {
            // The caller may be gone.
            let _ = sender.send(answer);
        }
    }
}

/// Derives the answer for a rival from the answer to another request for the same key at the same moment.
fn beside(op: &LockOp, answer: LockAnswer, rival: &LockRequest) -> Option<LockAnswer> {
    let LockOp::Take(asked) = op else { return None };
    let (holder, lock) = match answer {
        LockAnswer::Yours(holder) => (holder, asked.lock.to_vec()),
        LockAnswer::Held { holder, lock } => (holder, lock),
    };
    (lock != rival.lock).then_some(LockAnswer::Held { holder, lock })
}

/// An answer for each request. If the database is unavailable, no retry helps; any other error may be caused by one request, or by two that
/// conflict, so each is retried alone.
pub(super) fn settled(answers: Result<Vec<Option<LockAnswer>>, DatabaseError>, count: usize) -> Vec<Answer> {
    match answers {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        Err(
            error @ (DatabaseError::ConnectionLost(_)
            | DatabaseError::OutcomeUnknown(_)
            | DatabaseError::ReadOnly
            | DatabaseError::Busy(_)
            | DatabaseError::Closed),
        ) => vec![Err(error); count],
        Err(error) => {
            tracing::debug!(%error, count, "a batch failed; each request is retried alone");
            vec![Ok(None); count]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::Owner;
    use crate::lease::policy::LockPolicy;

    #[test]
    fn requests_for_one_key_share_one_query() {
        let mut receivers = Vec::new();
        let mut queue: VecDeque<Waiting> = (1..=3)
            .map(|lock| {
                let (answer, receiver) = oneshot::channel();
                receivers.push(receiver);
                let (key, owner, policy) =
                    (LockKey::new("Order", "1"), Owner::new("kim", "Kim"), LockPolicy::exclusive());
                let request = LockRequest { key, lock: [lock; 32], owner, policy };
                Waiting { op: LockOp::Take(request), answer, gone: None }
            })
            .collect();
        receivers.pop();
        let batch = Batch::of(&mut queue);
        assert_eq!((batch.size(), batch.ops.len()), (2, 1), "the third is gone");
    }
}
