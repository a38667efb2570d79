//! W1: somebody locks a ledger, thinks, sometimes for longer than the lease lives, writes and releases. Some of the calls are dropped.

use std::time::Duration;

use tenure::LockId;

use super::{Held, Task, Workload};
use crate::history::{Args, Function};
use crate::subject::{Answer, Guard, Refusal, Subject};

/// How often it is asked whether the lock id of a dropped call holds a lease: at least, and at most if it does. The last question comes
/// before the lease expires.
const QUESTIONS: (u64, u64) = (3, 6);

/// The pause before each of them.
const PAUSE: Duration = Duration::from_millis(400);

impl<S: Subject> Task<S> {
    pub(super) async fn with_lease(&mut self, workload: Workload) -> Answer<()> {
        let ledger = self.pick(workload);
        let held = self.lock(&ledger).await?;
        let ttl = self.random.millis(300, 2000);
        // Some keep the time to live of the policy.
        if self.random.chance(80) {
            self.shorten(&ledger, &held, ttl).await?;
        }
        // Half of a lease's life on average, so that a quarter of those who think hold it too long.
        let think = ttl.mul_f64(self.random.below(150) as f64 / 100.0);
        if self.random.chance(30) {
            let first = think.mul_f64(self.random.below(100) as f64 / 100.0);
            tokio::time::sleep(first).await;
            self.extend(&ledger, &held, ttl).await?;
            tokio::time::sleep(think - first).await;
        } else if self.random.chance(60) {
            tokio::time::sleep(think).await;
        }
        if self.random.chance(5) {
            // A page that is closed without a word.
            return Ok(());
        }
        let release = self.random.chance(40);
        let guard = Guard::Lease { lock: &held.id, generation: held.generation, release };
        let appended = self.append(&ledger, Some(&held.op), guard).await;
        if !release || appended.is_err() {
            self.release(&ledger, &held).await?;
        }
        appended.map(drop)
    }

    /// Requests a lease. Where the answer is lost, or the call was dropped, it is requested again with the same lock id, as a page does it.
    pub(super) async fn lock(&mut self, ledger: &str) -> Answer<Held> {
        let id = LockId::random();
        let first = self.recorder.next_id();
        let answer = match self.request(ledger, &id, &first, &first).await {
            Err(refusal) if refusal.unknown && self.random.chance(if refusal.is_dropped() { 40 } else { 70 }) => {
                let again = self.recorder.next_id();
                self.request(ledger, &id, &first, &again).await
            }
            answer => answer,
        };
        if answer.as_ref().is_err_and(Refusal::is_dropped) {
            self.ask_later(ledger, &id, &first);
        }
        answer
    }

    /// Asks what became of the lease of a dropped call, while the task goes on.
    fn ask_later(&self, ledger: &str, id: &LockId, lock: &str) {
        let (subject, mut recorder) = (self.subject.clone(), self.recorder.clone());
        let (ledger, id, lock) = (ledger.to_owned(), id.clone(), lock.to_owned());
        tokio::spawn(async move {
            for question in 1..=QUESTIONS.1 {
                tokio::time::sleep(PAUSE).await;
                let (op, args) = (recorder.next_id(), Args { lock: Some(lock.clone()), ..Args::default() });
                let held = recorder.call(Function::Check, &op, &[&ledger], args, subject.check(&id)).await;
                if question >= QUESTIONS.0 && held.is_err_and(|refusal| !refusal.is_unavailable()) {
                    break;
                }
            }
        });
    }

    async fn request(&mut self, ledger: &str, id: &LockId, lock: &str, op: &str) -> Answer<Held> {
        let args = Args { lock: Some(lock.to_owned()), ..Args::default() };
        let grant = if self.random.chance(15) {
            let wait = self.random.millis(50, 1500);
            let drop_after = self.drop_after(Function::Wait);
            let args = Args { limit_ms: u64::try_from(wait.as_millis()).ok(), drop_after, ..args };
            let request = self.subject.lock_within(ledger, &self.owner, id, wait);
            self.recorder.call(Function::Wait, op, &[ledger], args, request).await?
        } else {
            let args = Args { drop_after: self.drop_after(Function::Lock), ..args };
            let request = self.subject.lock(ledger, &self.owner, id);
            self.recorder.call(Function::Lock, op, &[ledger], args, request).await?
        };
        Ok(Held { id: id.clone(), op: lock.to_owned(), generation: grant.generation })
    }

    async fn shorten(&mut self, ledger: &str, held: &Held, within: Duration) -> Answer<()> {
        let op = self.recorder.next_id();
        let args = Args { within_ms: u64::try_from(within.as_millis()).ok(), ..of(held) };
        let shorten = self.subject.shorten(&held.id, within);
        self.recorder.call(Function::Shorten, &op, &[ledger], args, shorten).await.map(drop)
    }

    async fn extend(&mut self, ledger: &str, held: &Held, by: Duration) -> Answer<()> {
        let op = self.recorder.next_id();
        let args = Args { drop_after: self.drop_after(Function::Extend), ..of(held) };
        let extended = if self.random.chance(50) {
            let keep = self.subject.keep_alive(&held.id);
            self.recorder.call(Function::Extend, &op, &[ledger], args, keep).await
        } else {
            let extend = self.subject.extend(&held.id, by);
            self.recorder.call(Function::Extend, &op, &[ledger], args, extend).await
        };
        // The write that follows finds out what became of the lease.
        extended.map(drop).or_else(|refusal| if refusal.unknown { Ok(()) } else { Err(refusal) })
    }

    async fn release(&mut self, ledger: &str, held: &Held) -> Answer<()> {
        let op = self.recorder.next_id();
        let args = Args { drop_after: self.drop_after(Function::Release), ..of(held) };
        let release = self.subject.release(&held.id);
        let released = self.recorder.call(Function::Release, &op, &[ledger], args, release).await;
        match released {
            // It runs to its end.
            Err(refusal) if refusal.is_dropped() => {
                self.ask_later(ledger, &held.id, &held.op);
                Err(refusal)
            }
            // A request that is sent twice, the second time late.
            Err(Refusal { unknown: true, .. }) => {
                let again = self.recorder.next_id();
                let release = self.subject.release(&held.id);
                self.recorder.call(Function::Release, &again, &[ledger], of(held), release).await
            }
            released => released,
        }
    }
}

fn of(held: &Held) -> Args {
    Args { lock: Some(held.op.clone()), generation: Some(held.generation), ..Args::default() }
}
