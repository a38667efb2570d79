//! Waiting for a lock in a queue, in the order of arrival.

use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::LockManager;
use super::claim::{IdFrom, Unclaimed, is_unanswered};
use super::hold::Moment;
use crate::error::{DatabaseError, LockError};
use crate::lease::limits::Limit;
use crate::lease::{Lease, LockId, LockKey, Owner};
use crate::storage::watching::Ticket;
use crate::storage::{LockHash, patience};
use crate::telemetry::outcome::{Outcome, seen};
use crate::watch::{Called, QueueEntry, random};

/// The pause before a retry after the database did not answer.
const PAUSE: Duration = Duration::from_millis(100);

impl LockManager {
    /// Queues for the lock and acquires it in the order of arrival, across processes. Await it.
    ///
    /// The queue entry is a row that this process keeps alive with heartbeats: a process that dies blocks the queue
    /// for at most ten seconds. Dropping the future leaves the queue at once, and releases a lease that was just
    /// granted, as after [`try_lock`](Self::try_lock).
    ///
    /// Waiters are served in order. A caller outside the queue, with [`try_lock`](Self::try_lock), gets the lock if
    /// it arrives right after the release; then the waiters keep their positions. So callers that poll with `try_lock` can starve waiters, without
    /// a bound: let all callers of a contended key wait. An advisory lock excludes nobody, so a request for it never waits.
    ///
    /// Two tabs of one person have two positions, and one waits for the other. A lock id has one position: a repetition with it
    /// ([`with_id`](Acquisition::with_id)) keeps the position, or returns the lease that it holds by then.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tenure::{Database, LockKey, LockManager, Owner, error::LockError};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let (locks, order) = (LockManager::new(&db), LockKey::new("Order", "1234"));
    /// # let (kim, lee) = (Owner::new("kim", "Kim"), Owner::new("lee", "Lee"));
    /// let kims = locks.try_lock(&order, &kim).await?;
    /// let refused = locks.lock(&order, &lee).within(Duration::from_millis(10)).await;
    /// assert!(matches!(refused, Err(LockError::LockTimeout { holder: Some(holder), .. }) if holder.owner == kim));
    ///
    /// let waiting = tokio::spawn(locks.lock(&order, &lee).within(Duration::from_secs(60)).into_future());
    /// locks.release_lock(kims.id()).await?;
    /// assert_eq!(waiting.await??.holder().owner, lee);
    /// # Ok(()) }
    /// ```
    pub fn lock(&self, key: &LockKey, owner: &Owner) -> Acquisition {
        Acquisition::of(self, key, owner, None, self.limits.longest_wait)
    }
}

/// A queued request for a lock: await it.
///
/// # Errors
/// [`LockError::LockTimeout`] with the holder, if it did not become free in time; [`LockError::LimitReached`] at once for
/// a wait that is longer than the [`Limits`](crate::lease::Limits) allow, or for too many waits of the same owner;
/// [`LockError::LockIdUsed`]; [`LockError::InvalidKey`]; [`LockError::Database`], with
/// [`OutcomeUnknown`](DatabaseError::OutcomeUnknown) if a request was not answered before the end of the wait: the lock may be granted to its
/// lock id.
#[must_use = "a wait does not begin until it is awaited"]
#[derive(Debug)]
pub struct Acquisition {
    locks: LockManager,
    key: LockKey,
    owner: Owner,
    id: Option<LockId>,
    within: Duration,
}

impl Acquisition {
    pub(super) fn of(locks: &LockManager, key: &LockKey, owner: &Owner, id: Option<LockId>, within: Duration) -> Self {
        Acquisition { locks: locks.clone(), key: key.clone(), owner: owner.clone(), id, within }
    }

    /// Waits at most this long, for any cause: a lease, a save under an expired lease, or a
    /// connection. The default is the maximum that the [`Limits`](crate::lease::Limits) allow: five minutes, unless
    /// set otherwise.
    pub fn within(mut self, wait: Duration) -> Self {
        self.within = wait;
        self
    }

    /// With a lock id that the caller created, as in [`try_lock_as`](LockManager::try_lock_as).
    pub fn with_id(mut self, id: LockId) -> Self {
        self.id = Some(id);
        self
    }

    async fn run(self) -> Result<Lease, LockError> {
        self.timed().await.map(|(lease, _)| lease)
    }

    /// As [`run`](Self::run), with a time before the request that confirmed the lease was sent.
    pub(super) async fn timed(self) -> Result<Confirmed, LockError> {
        let (locks, kind, asked) = (self.locks.clone(), self.key.kind().to_owned(), Instant::now());
        let mut sent = None;
        let wait = async {
            let (lease, confirmed) = self.wait().await?;
            sent = Some(confirmed);
            Ok(lease)
        };
        let answer: Result<Lease, LockError> = seen(locks.metrics(), "lock", Some(&kind), wait).await;
        locks.metrics().waited(&kind, asked.elapsed(), answer.report().outcome);
        Ok((answer?, sent.expect("it is set with the lease")))
    }

    /// The wait is a separate task: it is never interrupted between the grant of the lock and its receipt.
    async fn wait(self) -> Result<Confirmed, LockError> {
        if let Some(invalid) = LockError::of_invalid(&self.key) {
            return Err(invalid);
        }
        let longest = self.locks.limits.longest_wait;
        if self.within > longest {
            let most = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
            return Err(LockError::LimitReached { limit: Limit::LongestWait, most });
        }
        let (answer, granted) = oneshot::channel();
        tokio::spawn(Waiter::new(self).answer(answer));
        let gone = DatabaseError::Cancelled;
        granted.await.unwrap_or(Err(gone.into())).map(|(lease, sent)| (lease.claim(), sent))
    }
}

impl IntoFuture for Acquisition {
    type Output = Result<Lease, LockError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

type ResultSender = oneshot::Sender<Result<(Unclaimed, Moment), LockError>>;
/// A lease, and a time before the request that confirmed it was sent.
type Confirmed = (Lease, Moment);

/// A waiter in the queue.
struct Waiter {
    locks: LockManager,
    key: LockKey,
    owner: Owner,
    id: LockId,
    /// A lock id of the caller's may already hold the lock, or have a queue position.
    from: IdFrom,
    asked: Instant,
    within: Duration,
    /// Whether a request for the lock had no answer, so that its lease may be granted.
    unanswered: AtomicBool,
}

impl Waiter {
    fn new(Acquisition { locks, key, owner, id, within }: Acquisition) -> Self {
        let (id, from) = IdFrom::or_own(id);
        Waiter { locks, key, owner, id, from, asked: Instant::now(), within, unanswered: AtomicBool::new(false) }
    }

    async fn answer(self, mut answer: ResultSender) {
        let outcome = match patience::within(self.within, self.acquire(&mut answer)).await {
            // At the deadline, the cause of the last wait does not matter to the caller.
            Err(LockError::Database(DatabaseError::Busy(_) | DatabaseError::LockTimeout { .. }))
                if self.asked.elapsed() >= self.within =>
            {
                Err(self.timed_out().await)
            }
            outcome => outcome,
        };
        let outcome = match outcome {
            // After it, also an error that says that nothing was changed would be false.
            Err(LockError::LockTimeout { .. } | LockError::Database(_)) if self.unanswered.load(Ordering::Relaxed) => {
                self.resolved().await
            }
            outcome => outcome,
        };
        let from = self.from;
        if from == IdFrom::Call && self.unanswered.load(Ordering::Relaxed) && !matches!(outcome, Ok(Some(_))) {
            self.locks.undo_unanswered(&self.id, &self.key);
        }
        let outcome = outcome.transpose();
        if let Some(outcome) = outcome {
            let outcome = outcome.map(|(lease, sent)| (Unclaimed::new(lease, self.locks.clone(), from), sent));
            // If the caller is gone, the lease is dropped here, and released.
            let _ = answer.send(outcome);
        }
    }

    /// The lease; `None` if the caller is gone.
    async fn acquire(&self, answer: &mut ResultSender) -> Result<Option<Confirmed>, LockError> {
        if !self.locks.policy(self.key.kind()).is_exclusive() {
            return self.ask().await.map(Some);
        }
        // The repetition is recorded in the database, so that an earlier caller of this lock id, who was granted the lease and is gone,
        // does not release it.
        if self.from == IdFrom::Caller
            && let Ok(held) = self.locks.acting_for(&self.owner).check_lock(&self.id).await
            && held.holder().key == self.key
            && let Some(lease) = self.attempt().await?
        {
            return Ok(Some(lease));
        }
        if !self.locks.backend.in_line(&self.key).await?
            && let Some(lease) = self.attempt().await?
        {
            return Ok(Some(lease));
        }
        let left = self.within.saturating_sub(self.asked.elapsed());
        if left.is_zero() {
            return Err(self.timed_out().await);
        }
        self.stand_in_line(left, answer).await
    }

    async fn stand_in_line(&self, left: Duration, answer: &mut ResultSender) -> Result<Option<Confirmed>, LockError> {
        let (lock, waiter) = (self.id.hash(), random());
        let ticket = Ticket {
            key: self.key.clone(),
            lock,
            owner: self.owner.clone(),
            process: self.locks.hub.process(),
            waiter,
            within: left,
            most: self.locks.limits.waits_per_owner,
        };
        let Some(number) = self.locks.backend.enter_line(&ticket).await? else {
            return Err(LockError::LimitReached { limit: Limit::WaitsPerOwner, most: ticket.most.into() });
        };
        self.locks.hub.touched(&self.key);
        let place = QueueEntry::new(&self.locks.hub, number, &ticket);
        let outcome = self.wait(&place, &ticket, answer).await;
        drop(place);
        self.leave(lock, waiter).await;
        // If this waiter did not acquire the key, the next waiter gets it.
        self.locks.hub.touched(&self.key);
        outcome
    }

    /// Removes the queue entry, also after the deadline. It does not wait for a database that does not answer.
    async fn leave(&self, lock: LockHash, waiter: i64) {
        let (backend, key) = (Arc::clone(&self.locks.backend), self.key.clone());
        let leave = async move {
            if let Err(error) = backend.leave_line(&lock, waiter).await {
                tracing::debug!(%error, lock = ?key, "a place in line was not given back; it runs out");
            }
        };
        // A separate task continues, with the time limit of an operation.
        let _ = tokio::time::timeout(patience::GRACE, tokio::spawn(leave)).await;
    }

    async fn wait(
        &self,
        place: &QueueEntry,
        ticket: &Ticket,
        answer: &mut ResultSender,
    ) -> Result<Option<Confirmed>, LockError> {
        loop {
            tokio::select! {
                biased;
                () = answer.closed() => return Ok(None),
                called = place.called() => match called {
                    Called::Offered => {
                        if let Some(lease) = self.attempt().await? {
                            return Ok(Some(lease));
                        }
                        // Another request won the race; perhaps it has released the lock already.
                        self.locks.hub.look(&self.key);
                    }
                    Called::PlaceLost => {
                        if let Some(number) = self.locks.backend.enter_line(ticket).await? {
                            place.has_ticket(number);
                        }
                    }
                    Called::Closed => return Err(DatabaseError::Closed.into()),
                },
                () = tokio::time::sleep_until(self.asked + self.within) => {
                    return Err(self.timed_out().await);
                }
            }
        }
    }

    /// Requests the lock.
    async fn ask(&self) -> Result<Confirmed, LockError> {
        let sent = Moment::now();
        let asked = self.locks.try_lock_as(&self.key, &self.owner, self.id.clone()).await;
        if asked.as_ref().is_err_and(is_unanswered) {
            self.unanswered.store(true, Ordering::Relaxed);
        }
        Ok((asked?, sent))
    }

    /// Acquires the lock if it is free.
    async fn attempt(&self) -> Result<Option<Confirmed>, LockError> {
        match self.ask().await {
            Ok(confirmed) => Ok(Some(confirmed)),
            Err(LockError::AlreadyLocked(_) | LockError::LockingFailed { .. }) => Ok(None),
            Err(LockError::Database(error)) if error.is_retryable() => {
                tracing::debug!(%error, lock = ?self.key, "a lock that became free was not taken yet; trying again");
                let left = self.within.saturating_sub(self.asked.elapsed());
                tokio::time::sleep(PAUSE.min(left)).await;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// At the end of a wait with an unanswered request: the lease, if that request was granted it. Otherwise it may be granted later.
    async fn resolved(&self) -> Result<Option<Confirmed>, LockError> {
        let (locks, sent) = (self.locks.acting_for(&self.owner), Moment::now());
        let check = patience::afresh(patience::GRACE, locks.check_lock(&self.id));
        match tokio::time::timeout(patience::GRACE, check).await {
            Ok(Ok(held)) if held.holder().key == self.key => Ok(Some((held, sent))),
            _ => {
                let reason = "a request for the lock was not answered before the end of the wait";
                Err(DatabaseError::OutcomeUnknown(reason.into()).into())
            }
        }
    }

    async fn timed_out(&self) -> LockError {
        let ask = patience::afresh(patience::GRACE, self.locks.holders_seen_by(&self.key, Some(&self.owner.id)));
        // The holder is for display only, so it does not wait for a database that does not answer.
        let holders = tokio::time::timeout(patience::GRACE, ask).await.unwrap_or(Ok(Vec::new()));
        match holders {
            Ok(holders) => LockError::LockTimeout {
                key: self.key.clone(),
                waited: self.asked.elapsed(),
                holder: holders.into_iter().next().map(Box::new),
            },
            Err(error) => error.into(),
        }
    }
}
