//! The state of a lease in this process, shared by a guard and its heartbeats.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::belief::{Belief, Moment};
use crate::error::{DatabaseError, LeaseLost};
use crate::lease::LockKey;

/// The state of a lease in this process. A lost lease stays lost.
#[derive(Debug)]
pub(super) struct State {
    key: LockKey,
    known: Mutex<Known>,
    /// Changes with each heartbeat and with the loss.
    changed: watch::Sender<()>,
}

#[derive(Debug)]
enum Known {
    /// Held, as far as the process can rely on it; with the error of the last heartbeat, if it failed.
    Held(Belief, Option<DatabaseError>),
    Lost(LeaseLost),
}

impl State {
    pub(super) fn held(key: LockKey, belief: Belief) -> Self {
        State { key, known: Mutex::new(Known::Held(belief, None)), changed: watch::Sender::new(()) }
    }

    /// The time for which the process may rely on the lease.
    pub(super) fn left(&self, now: Moment) -> Result<Duration, LeaseLost> {
        let mut known = self.known();
        let lost = match &*known {
            Known::Lost(lost) => return Err(lost.clone()),
            Known::Held(belief, cause) => match belief.left(now) {
                Some(left) => return Ok(left),
                None => LeaseLost::Unconfirmed { key: self.key.clone(), cause: cause.clone() },
            },
        };
        *known = Known::Lost(lost.clone());
        drop(known);
        tracing::warn!(lock = ?self.key, "no heartbeat of a held lease was confirmed in time; its job is stopped");
        self.changed.send_replace(());
        Err(lost)
    }

    /// The pause before the next heartbeat; `None` when the lease is lost.
    pub(super) fn pause(&self, interval: Duration) -> Option<Duration> {
        let now = Moment::now();
        self.left(now).ok()?;
        match &*self.known() {
            Known::Held(belief, None) => Some(belief.pause(now, interval)),
            // Retry soon, but not at once.
            Known::Held(belief, Some(_)) => Some(belief.pause(now, interval / 5)),
            Known::Lost(_) => None,
        }
    }

    /// A heartbeat was confirmed. It is ignored if the lease already counts as lost: the work was cancelled.
    pub(super) fn confirm(&self, belief: Belief) {
        if self.left(Moment::now()).is_ok() {
            if let known @ Known::Held(..) = &mut *self.known() {
                *known = Known::Held(belief, None);
            }
            self.changed.send_replace(());
        }
    }

    /// A heartbeat had no answer.
    pub(super) fn fail(&self, cause: DatabaseError) {
        if let Known::Held(_, failure) = &mut *self.known() {
            *failure = Some(cause);
        }
    }

    /// The lease has ended in the database.
    pub(super) fn end(&self, lost: LeaseLost) {
        if let known @ Known::Held(..) = &mut *self.known() {
            tracing::warn!(lock = ?self.key, reason = %lost.code(), "a held lease has ended; its job is stopped");
            *known = Known::Lost(lost);
        }
        self.changed.send_replace(());
    }

    /// Whether the lease has ended in the database, so that there is nothing to release.
    pub(super) fn is_ended(&self) -> bool {
        matches!(&*self.known(), Known::Lost(LeaseLost::Ended(_)))
    }

    /// Waits for the loss. The countdown does not depend on the heartbeats.
    pub(super) async fn lost(&self) -> LeaseLost {
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let left = match self.left(Moment::now()) {
                Ok(left) => left,
                Err(lost) => return lost,
            };
            tokio::select! {
                biased;
                _ = changed.changed() => {}
                () = tokio::time::sleep(left) => {}
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
