//! Releases leases that were granted to a caller that is gone.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::runtime::Handle;

use super::LockManager;
use crate::lease::Lease;
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

/// Granted leases until the caller has received them. If the caller is gone, they are released, unless another request received them.
pub(super) struct Unclaimed {
    leases: Vec<Lease>,
    locks: LockManager,
}

impl Unclaimed {
    pub(super) fn new(lease: Lease, locks: LockManager) -> Self {
        Self::all(vec![lease], locks)
    }

    pub(super) fn all(leases: Vec<Lease>, locks: LockManager) -> Self {
        Unclaimed { leases, locks }
    }

    /// The first of them, which is still unclaimed.
    pub(super) fn first(&self) -> &Lease {
        &self.leases[0]
    }

    pub(super) fn claim(mut self) -> Lease {
        self.leases.pop().expect("it is claimed once, and claiming consumes it")
    }

    pub(super) fn claim_all(mut self) -> Vec<Lease> {
        std::mem::take(&mut self.leases)
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        let leases = std::mem::take(&mut self.leases);
        if let (false, Ok(runtime)) = (leases.is_empty(), Handle::try_current()) {
            let locks = self.locks.clone();
            runtime.spawn(async move {
                for lease in leases {
                    locks.undo_unclaimed(&lease).await;
                }
            });
        }
    }
}

impl fmt::Debug for Unclaimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unclaimed").field("leases", &self.leases).finish_non_exhaustive()
    }
}

impl LockManager {
    async fn undo_unclaimed(&self, lease: &Lease) {
        let lock = lease.id.hash();
        match self.backend.undo_grant(&lock, lease.holder().generation).await {
            Ok(given) if given => {
                self.metrics().forget(|| lock);
                self.hub.touched(&lease.holder().key);
            }
            // Another request with the same lock id received it.
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(%error, lock = ?lease.holder().key, "could not release the lease of a dropped request; it will expire")
            }
        }
    }
}
