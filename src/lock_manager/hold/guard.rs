//! A held lease with automatic heartbeats, until it is lost or released.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::belief::Moment;
use super::state::State;
use crate::error::{LeaseError, LeaseLost};
use crate::lease::{Holder, Lease, LockId, LockKey};
use crate::lock_manager::LockManager;

/// The time limit of a release in the background.
const RELEASE: Duration = Duration::from_secs(10);

/// A lease that a task of this process keeps alive: see [`LockManager::hold`]. Dropping it releases the lease in the background.
#[must_use = "dropping the guard releases the lease"]
pub struct LeaseGuard {
    lease: Lease,
    locks: LockManager,
    state: Arc<State>,
    heartbeats: AbortHandle,
    runtime: Handle,
    /// Whether there is nothing left to release.
    released: bool,
}

impl LeaseGuard {
    /// Keeps the lease alive from now on.
    pub(super) fn new(lease: Lease, locks: LockManager, state: State) -> Self {
        let (state, runtime) = (Arc::new(state), Handle::current());
        let beating = super::beat(locks.clone(), lease.clone(), Arc::clone(&state));
        let heartbeats = runtime.spawn(beating).abort_handle();
        LeaseGuard { lease, locks, state, heartbeats, runtime, released: false }
    }

    /// The secret that holds the lease, for [`Update::holding`](crate::unit_of_work::Update::holding) and
    /// [`Transaction::holding`](crate::Transaction::holding): the save itself then checks the lease in the database.
    pub fn lock_id(&self) -> &LockId {
        self.lease.id()
    }

    /// The key of the lock.
    pub fn key(&self) -> &LockKey {
        &self.lease.holder.key
    }

    /// The lease as it was acquired: owner, generation, times.
    pub fn holder(&self) -> &Holder {
        &self.lease.holder
    }

    /// The reason that the lease is lost, or `None` while the process may rely on it. It reads the clocks of this process, not the
    /// database.
    pub fn check(&self) -> Result<(), LeaseLost> {
        self.state.left(Moment::now()).map(drop)
    }

    /// Waits until the lease is lost, and returns the reason. A lost lease stays lost. It returns before the lease expires in the database,
    /// also when no heartbeat is answered.
    ///
    /// # Cancel safety
    /// It may be dropped and called again.
    pub async fn lost(&self) -> LeaseLost {
        self.state.lost().await
    }

    /// Runs the work while the lease is held. If the lease is lost, the work is cancelled: its future is dropped at its current `await`.
    /// After a pause of the process, the lease is checked before the work continues.
    ///
    /// Work on a thread of its own, or in a spawned task, is not cancelled. Between two heartbeats the lease may be broken or taken over.
    /// So a save that requires the lease needs [`holding`](crate::unit_of_work::Update::holding) with [`lock_id`](Self::lock_id).
    ///
    /// # Errors
    /// [`LeaseLost`] with the reason, also if the work ended at the same moment.
    pub async fn run<W: Future>(&self, work: W) -> Result<W::Output, LeaseLost> {
        let (mut work, mut lost) = (pin!(work), pin!(self.lost()));
        poll_fn(|context| {
            // The lease first, then the work: a paused process must not act on a lost lease.
            if let Err(lost) = self.check() {
                return Poll::Ready(Err(lost));
            }
            if let Poll::Ready(lost) = lost.as_mut().poll(context) {
                return Poll::Ready(Err(lost));
            }
            let Poll::Ready(done) = work.as_mut().poll(context) else { return Poll::Pending };
            Poll::Ready(self.check().map(|()| done))
        })
        .await
    }

    /// Ends the heartbeats and releases the lease.
    ///
    /// # Errors
    /// [`LeaseError::NoLock`] with the reason if the lease had ended before. [`LeaseError::Database`]: the release is retried once in the
    /// background; if that fails too, the lease expires.
    ///
    /// # Cancel safety
    /// Dropping the future releases the lease in the background.
    pub async fn release(mut self) -> Result<(), LeaseError> {
        self.heartbeats.abort();
        let released = self.locks.release_lock(self.lease.id()).await;
        self.released = !matches!(released, Err(LeaseError::Database(_)));
        released
    }
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        self.heartbeats.abort();
        if self.released || self.state.is_ended() {
            return;
        }
        let (locks, id, unreleased) = (self.locks.clone(), self.lease.id.clone(), Unreleased(Some(self.key().clone())));
        // On a runtime that is shutting down, the task is dropped and logs a warning.
        self.runtime.spawn(async move {
            let mut unreleased = unreleased;
            match tokio::time::timeout(RELEASE, locks.release_lock(&id)).await {
                Ok(Ok(()) | Err(LeaseError::NoLock(_))) => unreleased.0 = None,
                Ok(Err(error)) => tracing::debug!(%error, "the release of a dropped guard failed"),
                Err(_) => tracing::debug!("the release of a dropped guard had no answer"),
            }
        });
    }
}

/// Warns when it is dropped, unless the lease was released.
struct Unreleased(Option<LockKey>);

impl Drop for Unreleased {
    fn drop(&mut self) {
        if let Some(key) = self.0.take() {
            tracing::warn!(lock = ?key, "a dropped guard could not release its lease; it expires by itself");
        }
    }
}

impl fmt::Debug for LeaseGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseGuard").field("lease", &self.lease).field("state", &self.state).finish_non_exhaustive()
    }
}
