//! Waiting for a lock: polls with random pauses, under one deadline.

use std::future::IntoFuture;
use std::pin::Pin;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::LockManager;
use super::claim::{IdFrom, Unclaimed, is_unanswered};
use super::hold::Moment;
use crate::db::patience;
use crate::error::{DatabaseError, ErrorCode, LockError};
use crate::lease::limits::Limit;
use crate::lease::{Lease, LockId, LockKey, Owner};
use crate::telemetry::outcome::{Outcome, seen};
use crate::unit_of_work::retry::random_fraction;

/// The shortest and the longest pause between two polls. A waiter costs the database about nine refused requests per second.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(200));

impl LockManager {
    /// Waits until the lock is free, and acquires it. Await it.
    ///
    /// It polls: it requests the lock as [`try_lock`](Self::try_lock) does, with a random pause of 20 to 200 ms between two requests, never
    /// beyond its deadline. So it acquires a lock within about 200 ms after it became free, and nothing of it is stored: dropping the future
    /// leaves nothing behind, and a process that dies blocks nobody.
    ///
    /// There is no order among callers: the first request after the release gets the lock, so many callers that acquire and release
    /// one key again and again can starve a waiter, without a bound. An advisory lock excludes nobody, so a request for it never waits.
    ///
    /// Two tabs of one person exclude each other. A repetition with the same lock id ([`with_id`](Acquisition::with_id)) returns the lease
    /// that it holds.
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

/// A wait for a lock: await it.
///
/// # Errors
/// [`LockError::LockTimeout`] with the holder, if it did not become free in time; [`LockError::LimitReached`] at once for
/// a wait that is longer than the [`Limits`](crate::lease::Limits) allow, or if the owner holds too many locks;
/// [`LockError::LockIdUsed`]; [`LockError::InvalidKey`]; [`LockError::InvalidOwner`]; [`LockError::Database`], with
/// [`OutcomeUnknown`](DatabaseError::OutcomeUnknown) if a request with the caller's lock id was not answered before the end of the wait: the
/// lock may be granted to that lock id.
///
/// # Panics
/// Outside a Tokio runtime with its time enabled.
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

    /// Waits at most this long, for any cause: a lease, a save under an expired lease, other requests of the same owner, or a
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

    /// As [`run`](Self::run), with a time before the request that was granted the lease was sent.
    pub(super) async fn timed(self) -> Result<(Lease, Moment), LockError> {
        let (metrics, kind, asked) = (self.locks.metrics(), self.key.kind(), Instant::now());
        let mut sent = None;
        let wait = async {
            let (lease, granted) = self.poll(asked).await?;
            sent = Some(granted);
            Ok(lease)
        };
        let answer: Result<Lease, LockError> = seen(metrics, "lock", Some(kind), wait).await;
        metrics.waited(kind, asked.elapsed(), answer.report().outcome());
        Ok((answer?, sent.expect("it is set with the lease")))
    }

    async fn poll(&self, asked: Instant) -> Result<(Lease, Moment), LockError> {
        let longest = self.locks.limits.longest_wait;
        if self.within > longest {
            let most = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
            return Err(LockError::LimitReached { limit: Limit::LongestWait, most });
        }
        let (mut unanswered, mut holder) = (false, None);
        let refused = loop {
            // Without the caller's id each request has its own, so that a lost one is undone while the next ones wait.
            let (sent, (id, from)) = (Moment::now(), IdFrom::or_own(self.id.clone()));
            let refused = match self.request(id, from, self.within.saturating_sub(asked.elapsed())).await {
                Ok(granted) => return Ok((granted.claim(), sent)),
                Err(error) if is_worth_a_wait(&error) => error,
                Err(error) => break error,
            };
            unanswered |= from == IdFrom::Caller && is_unanswered(&refused);
            tracing::trace!(%refused, lock = ?self.key, "waiting for the lock");
            match refused {
                LockError::AlreadyLocked(held) => holder = Some(held),
                LockError::Database(error) if is_silent(&error) && self.has_ended(asked) => break error.into(),
                LockError::Database(_) => {}
                _ => holder = None,
            }
            if self.has_ended(asked) {
                break LockError::LockTimeout { key: self.key.clone(), waited: asked.elapsed(), holder };
            }
            tokio::time::sleep(pause(self.within.saturating_sub(asked.elapsed()), random_fraction())).await;
        };
        match refused {
            // After it, an error that says that nothing was changed would be false.
            LockError::LockTimeout { .. } | LockError::Database(_) if unanswered => {
                let reason = "a request for the lock was not answered before the end of the wait";
                Err(DatabaseError::OutcomeUnknown(reason.into()).into())
            }
            refused => Err(refused),
        }
    }

    fn has_ended(&self, asked: Instant) -> bool {
        asked.elapsed() >= self.within
    }

    /// One request, in a task of its own, so that a wait that nobody polls for a while delays no other request. The task is aborted with the
    /// wait; the lease that it may have been granted by then is released.
    async fn request(&self, id: LockId, from: IdFrom, left: Duration) -> Result<Unclaimed, LockError> {
        let (locks, key, owner) = (self.locks.clone(), self.key.clone(), self.owner.clone());
        let mut task = JoinSet::new();
        task.spawn(patience::within(left, async move { locks.take_once(&key, &owner, (id, from)).await }));
        match task.join_next().await {
            Some(Ok(answer)) => answer,
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            _ => Err(DatabaseError::Cancelled.into()),
        }
    }
}

impl IntoFuture for Acquisition {
    type Output = Result<Lease, LockError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Whether a later request may be granted the lock.
fn is_worth_a_wait(error: &LockError) -> bool {
    match error {
        LockError::AlreadyLocked(_) | LockError::LockingFailed { .. } => true,
        LockError::Database(error) => error.is_retryable(),
        _ => false,
    }
}

/// Whether the database did not answer, so that the lock may be free.
fn is_silent(error: &DatabaseError) -> bool {
    !matches!(
        error.code(),
        ErrorCode::RowLockTimeout | ErrorCode::Busy | ErrorCode::Deadlock | ErrorCode::SerializationFailure
    )
}

/// The pause before the next poll, at most the time that is left.
fn pause(left: Duration, fraction: f64) -> Duration {
    let (shortest, longest) = PAUSES;
    (shortest + (longest - shortest).mul_f64(fraction)).min(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_is_random_and_never_beyond_the_deadline() {
        let minute = Duration::from_secs(60);
        assert_eq!([0.0, 0.5, 1.0].map(|fraction| pause(minute, fraction).as_millis()), [20, 110, 200]);
        for left in [0, 1, 19, 150].map(Duration::from_millis) {
            assert_eq!(pause(left, 1.0), left);
            assert!((0..=10).all(|tenth| pause(left, f64::from(tenth) / 10.0) <= left));
        }
    }
}
