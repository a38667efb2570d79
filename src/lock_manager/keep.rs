//! The expiry of leases: keep alive, extend, and shorten.

use std::time::Duration;

use super::claim::RunToEnd;
use super::{LockManager, yours};
use crate::error::{DatabaseError, LeaseError};
use crate::lease::operations::{LockOp, Proof};
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
        let extended = seen(self.metrics(), "extend_lock_expiration", None, self.extend(id, by)).await;
        self.record_heartbeat(id, &extended);
        extended
    }

    async fn extend(&self, id: &LockId, by: Duration) -> Result<Lease, LeaseError> {
        let proof = self.proof(id);
        match self.batch.ask(LockOp::Extend(proof.clone(), by)).await? {
            Some(answer) => Ok(yours(id, answer)),
            None => self.lease(id, self.backend.extend(&proof, by).await?),
        }
    }

    /// As [`keep_alive_with`](Self::keep_alive_with), for people who are active now.
    ///
    /// # Errors
    /// [`DatabaseError`] if the database failed: the leases are unchanged; count down and try again.
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
    /// [`DatabaseError`] if the database failed: the leases are unchanged; count down and try again.
    pub async fn keep_alive_with(&self, beats: &[Heartbeat]) -> Result<Vec<Result<Lease, NoLock>>, DatabaseError> {
        let kept = seen(self.metrics(), "keep_alive", None, self.keep_all_alive(beats)).await?;
        for (beat, kept) in beats.iter().zip(&kept) {
            self.metrics().ended("keep_alive", kept.report().kind.unwrap_or("unknown"), &kept.report());
            self.record_heartbeat(&beat.id, kept);
        }
        Ok(kept)
    }

    async fn keep_all_alive(&self, beats: &[Heartbeat]) -> Result<Vec<Result<Lease, NoLock>>, DatabaseError> {
        let proofs: Vec<(Proof, Duration)> = beats.iter().map(|beat| (self.proof(&beat.id), beat.idle)).collect();
        let answers = match &proofs[..] {
            [(proof, idle)] => vec![self.batch.ask(LockOp::KeepAlive(proof.clone(), *idle)).await],
            _ => {
                self.batch
                    .ask_all(proofs.iter().cloned().map(|(proof, idle)| LockOp::KeepAlive(proof, idle)).collect())
                    .await
            }
        };
        let mut kept: Vec<Option<Result<Lease, NoLock>>> = Vec::with_capacity(beats.len());
        for (beat, answer) in beats.iter().zip(answers) {
            kept.push(answer?.map(|answer| Ok(yours(&beat.id, answer))));
        }
        // An ended lease needs its reason, and a row that another transaction has locked needs a wait.
        let alone: Vec<usize> = (0..kept.len()).filter(|&at| kept[at].is_none()).collect();
        let asked: Vec<(Proof, Duration)> = alone.iter().map(|&at| proofs[at].clone()).collect();
        if !asked.is_empty() {
            for (at, answer) in alone.into_iter().zip(self.backend.keep_alive(&asked).await?) {
                let answer = answer.map_err(|no_lock| no_lock.seen_by(self.owner.as_deref()));
                kept[at] = Some(answer.map(|holder| Lease { id: beats[at].id.clone(), holder }));
            }
        }
        Ok(kept.into_iter().flatten().collect())
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
            seen(locks.metrics(), "expire_within", None, locks.shorten(&id, within)).await
        });
        parting.await
    }

    async fn shorten(&self, id: &LockId, within: Duration) -> Result<Lease, LeaseError> {
        let proof = self.proof(id);
        match self.batch.ask(LockOp::ExpireWithin(proof.clone(), within)).await? {
            Some(answer) => Ok(yours(id, answer)),
            None => self.lease(id, self.backend.expire_within(&proof, within).await?),
        }
    }
}
