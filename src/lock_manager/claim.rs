//! Releases leases that were granted to a caller that is gone.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::LockManager;
use crate::db::patience;
use crate::error::{DatabaseError, LockError};
use crate::lease::engine::{Answer, Operation};
use crate::lease::operations::Proof;
use crate::lease::{Lease, LockId, LockKey};
use crate::lock_table::batch::Gone;

/// A request that runs to completion once begun, even if its future is dropped: it is never interrupted between the grant of a lease and
/// its receipt. Its result is then dropped too, and releases the lease.
pub(super) struct RunToEnd<T: Send + 'static> {
    /// `None` when it has ended.
    running: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    gone: Gone,
    /// `None` until it has begun.
    runtime: Option<Handle>,
}

impl<T: Send + 'static> RunToEnd<T> {
    pub(super) fn new<F: Future<Output = T> + Send + 'static>(ask: impl FnOnce(Gone) -> F) -> Self {
        let gone = Gone::default();
        RunToEnd { running: Some(Box::pin(ask(gone.clone()))), gone, runtime: None }
    }
}

impl<T: Send + 'static> Future for RunToEnd<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if self.runtime.is_none() {
            self.runtime = Handle::try_current().ok();
        }
        let running = self.running.as_mut().expect("a future is not polled again after it was ready");
        let answer = ready!(running.as_mut().poll(context));
        self.running = None;
        Poll::Ready(answer)
    }
}

impl<T: Send + 'static> Drop for RunToEnd<T> {
    fn drop(&mut self) {
        if let (Some(running), Some(runtime)) = (self.running.take(), self.runtime.take()) {
            self.gone.set();
            runtime.spawn(async move { drop(running.await) });
        }
    }
}

/// Whose lock id a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdFrom {
    /// The caller's: another request with it may have received the lease.
    Caller,
    /// This call's own: without its answer nobody knows it, so a lease under it is released whatever happened to it since.
    Call,
}

impl IdFrom {
    /// The caller's lock id, or one for this call.
    pub(super) fn or_own(id: Option<LockId>) -> (LockId, IdFrom) {
        id.map_or_else(|| (LockId::random(), IdFrom::Call), |id| (id, IdFrom::Caller))
    }
}

/// A granted lease until the caller has received it. If the caller is gone, it is released, unless another request received it.
pub(super) struct Unclaimed {
    /// `None` when it was claimed.
    lease: Option<Lease>,
    locks: LockManager,
    from: IdFrom,
    /// The future may be dropped outside a runtime.
    runtime: Option<Handle>,
}

impl Unclaimed {
    pub(super) fn new(lease: Lease, locks: LockManager, from: IdFrom) -> Self {
        Unclaimed { lease: Some(lease), locks, from, runtime: Handle::try_current().ok() }
    }

    pub(super) fn claim(mut self) -> Lease {
        self.lease.take().expect("it is claimed once, and claiming consumes it")
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let (Some(lease), Some(runtime)) = (self.lease.take(), &self.runtime) {
            let (locks, from) = (self.locks.clone(), self.from);
            runtime.spawn(async move {
                match from {
                    IdFrom::Caller => locks.undo_unclaimed(&lease).await,
                    IdFrom::Call => locks.release_unknown(&lease.id, &lease.holder.key, lease.holder.remaining).await,
                }
            });
        }
    }
}

impl fmt::Debug for Unclaimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unclaimed").field("lease", &self.lease).finish_non_exhaustive()
    }
}

/// The pause before the next attempt to release a lease that nobody knows.
const PAUSE: Duration = Duration::from_millis(500);
/// How long after the end of its time a request without an answer may still be executed.
const LATEST: Duration = Duration::from_secs(5);

impl LockManager {
    /// Releases a lease of a caller that is gone, unless another request received it. A busy database is tried again until the lease has
    /// expired.
    async fn undo_unclaimed(&self, lease: &Lease) {
        let (lock, expires) = (lease.id.hash(), Instant::now() + lease.holder.remaining);
        // Only a repeated request comes later than the lease.
        let is_repeated = lease.holder.last_active != lease.holder.since;
        loop {
            match self
                .batch
                .ask(Operation::UndoGrant { lock, generation: lease.holder().generation })
                .await
                .map(Answer::grant_undone)
            {
                // Otherwise another request with the same lock id received it, or may have.
                Ok(_ended) => return,
                // It may have been taken back: once more would take back what the request before it received.
                Err(error) if is_repeated && is_unknown(&error) => return,
                Err(error) if !again(&error, &lease.holder.key, expires).await => return,
                Err(_) => {}
            }
        }
    }

    /// Releases the lease of a lock id that nobody knows, if there is one.
    async fn release_unknown(&self, id: &LockId, key: &LockKey, remaining: Duration) {
        let (proof, expires) = (Proof { lock: id.hash(), owner: None }, Instant::now() + remaining);
        loop {
            match self.batch.ask(Operation::Release(proof.clone())).await {
                Ok(_) => return,
                Err(error) if !again(&error, key, expires).await => return,
                Err(_) => {}
            }
        }
    }

    /// Undoes a request without an answer whose lock id nobody knows. It may be executed after a release that found nothing, so the
    /// release is repeated for as long as that is possible.
    pub(super) fn undo_unanswered(&self, id: &LockId, key: &LockKey) {
        let (locks, id, key) = (self.clone(), id.clone(), key.clone());
        let (remaining, latest) = (self.policy(key.kind()).ttl, Instant::now() + patience::left() + LATEST);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                let mut pause = PAUSE;
                loop {
                    let is_last = Instant::now() > latest;
                    locks.release_unknown(&id, &key, remaining).await;
                    if is_last {
                        return;
                    }
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
            });
        }
    }
}

/// Pauses after a failed release; returns whether it is worth another attempt.
async fn again(error: &DatabaseError, key: &LockKey, expires: Instant) -> bool {
    if matches!(error, DatabaseError::Closed) || Instant::now() + PAUSE >= expires {
        tracing::warn!(%error, lock = ?key, "the lease of a dropped request could not be released; it expires by itself");
        return false;
    }
    tracing::debug!(%error, lock = ?key, "the lease of a dropped request is not released yet; trying again");
    tokio::time::sleep(PAUSE).await;
    true
}

/// Whether the request may have been executed.
pub(super) fn is_unanswered(error: &LockError) -> bool {
    matches!(error, LockError::Database(error) if is_unknown(error))
}

fn is_unknown(error: &DatabaseError) -> bool {
    matches!(error, DatabaseError::OutcomeUnknown(_) | DatabaseError::CommitUnknown(_))
}
