//! The expiry of leases: keep alive, extend, and shorten.

use std::time::Duration;

use super::LockManager;
use super::claim::RunToEnd;
use crate::error::{DatabaseError, LeaseError};
use crate::lease::engine::Operation;
use crate::lease::presence::Heartbeat;
use crate::lease::{Lease, LockId, NoLock};
use crate::telemetry::outcome::{Outcome, seen};

impl LockManager {
    /// Moves the expiry by `by`, but not beyond now + ttl, nor beyond the absolute limit, and never backwards. Unused time does
    /// not accumulate, so prefer [`keep_alive`](Self::keep_alive): there a late heartbeat costs nothing.
    ///
    /// # Errors
    /// [`LeaseError::NoLock`]: an expired lease is not revived.
    pub async fn extend_lock_expiration(&self, id: &LockId, by: Duration) -> Result<Lease, LeaseError> {
        let extending = self.ask(id, Operation::Extend(self.proof(id), by));
        seen(self.metrics(), "extend_lock_expiration", None, extending).await
    }

    /// As [`keep_alive_with`](Self::keep_alive_with), for people who are active now.
    ///
    /// # Errors
    /// [`DatabaseError`] if the database failed: some may have been kept; count down and try again.
    pub async fn keep_alive(&self, ids: &[LockId]) -> Result<Vec<Result<Lease, NoLock>>, DatabaseError> {
        let beats: Vec<Heartbeat> = ids.iter().cloned().map(Heartbeat::active).collect();
        self.keep_alive_with(&beats).await
    }

    /// Sets the expiry of each lease to now + ttl, within the absolute limit, and within the idle limit after the person's
    /// last input; never backwards. It is the heartbeat of open forms. The results are in the order of the heartbeats; an ended
    /// lease does not affect the others.
    ///
    /// A form sends heartbeats while nobody uses it, so a heartbeat carries the idle time. If the policy of the
    /// type has an [idle limit](crate::LockPolicy::idle_limit), the lease expires then
    /// ([`LeaseLossReason::IdleLimitReached`](crate::lease::LeaseLossReason::IdleLimitReached)), and before that everybody
    /// sees that its owner is [idle](crate::lease::Holder::presence).
    ///
    /// # Errors
    /// [`DatabaseError`] if the database failed: some may have been kept; count down and try again.
    pub async fn keep_alive_with(&self, beats: &[Heartbeat]) -> Result<Vec<Result<Lease, NoLock>>, DatabaseError> {
        let kept = seen(self.metrics(), "keep_alive", None, self.keep_all_alive(beats)).await?;
        for kept in &kept {
            self.metrics().ended("keep_alive", kept.report().kind.unwrap_or("unknown"), &kept.report());
        }
        Ok(kept)
    }

    async fn keep_all_alive(&self, beats: &[Heartbeat]) -> Result<Vec<Result<Lease, NoLock>>, DatabaseError> {
        let keep = |beat: &Heartbeat| Operation::Keep(self.proof(&beat.id), beat.idle);
        let answers = match beats {
            [beat] => vec![self.batch.ask(keep(beat)).await?],
            _ => self.batch.ask_all(&beats.iter().map(keep).collect::<Vec<_>>()).await?,
        };
        let kept = beats.iter().zip(answers).map(|(beat, answer)| {
            let holder = answer.lease().map_err(|no_lock| no_lock.seen_by(self.owner.as_deref()))?;
            Ok(Lease { id: beat.id.clone(), holder })
        });
        Ok(kept.collect())
    }

    /// Brings the end of the lease forward to `within` from now: for a page that its user leaves, perhaps permanently.
    /// If the page returns in time (a reload, the Back button), [`keep_alive`](Self::keep_alive) restores the full time.
    ///
    /// # Cancel safety
    /// Once begun it runs to its end, even if the future is dropped: the page may be closed by then.
    ///
    /// # Errors
    /// [`LeaseError::NoLock`] if there is no lease (any more) to end.
    pub async fn expire_within(&self, id: &LockId, within: Duration) -> Result<Lease, LeaseError> {
        let (locks, id) = (self.clone(), id.clone());
        let parting = RunToEnd::new(|_gone| async move {
            let shortening = locks.ask(&id, Operation::ExpireWithin(locks.proof(&id), within));
            seen(locks.metrics(), "expire_within", None, shortening).await
        });
        parting.await
    }
}
