//! Retrying a unit of work, where that is safe, and only for a transient reason.
//!
//! A transient reason arises *between transactions*, so that the same work may succeed after a new load: a deadlock, a serialization
//! failure, a race that was lost inside the unit of work. A stale version that a person saw is not transient: it never becomes current
//! again, so a [`VersionConflict`](Error::VersionConflict) is never retried. Nor is a commit whose answer was lost, unless it is known that
//! nothing was saved ([`Database::resolving_commits`]).

use std::time::{Duration, Instant};

use crate::error::{DatabaseError, Error, ErrorCode, Repeat, UpdateError};
use crate::unit_of_work::database::Database;

/// The number of attempts, and the time limit for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    attempts: u32,
    within: Duration,
}

impl Retry {
    /// The longest pause between two attempts.
    pub const LONGEST_PAUSE: Duration = Duration::from_millis(250);

    /// At most this many attempts, within 10 seconds. 0 and 1 both mean one attempt.
    pub fn transient(attempts: u32) -> Self {
        Retry { attempts: attempts.max(1), within: Duration::from_secs(10) }
    }

    /// Starts no attempt later than this after the first. It does not interrupt a running attempt: that has its own deadline.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.within = time;
        self
    }

    /// The pause before the next attempt; `None` to give up.
    fn pause(&self, attempts: u32, begun: Instant) -> Option<Duration> {
        if attempts >= self.attempts {
            return None;
        }
        // "Full jitter", which spreads colliding retries: https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/
        let most = Duration::from_millis(5).saturating_mul(1 << attempts.min(16)).min(Self::LONGEST_PAUSE);
        let pause = most.mul_f64(random_fraction());
        (begun.elapsed() + pause < self.within).then_some(pause)
    }
}

#[cfg(test)]
thread_local! {
    /// The state of the fractions of a simulated run, so that its seed repeats its pauses.
    pub(crate) static REPEATED: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
}

/// Between 0 and 1. Without randomness from the operating system all pauses are equal, which is acceptable.
pub(crate) fn random_fraction() -> f64 {
    #[cfg(test)]
    if let Some(state) = REPEATED.get() {
        let next = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        REPEATED.set(Some(next));
        return f64::from(u32::try_from(next >> 32).expect("32 bits")) / f64::from(u32::MAX);
    }
    getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX))
}

/// An error that may be a reason for a retry.
///
/// tenure's own errors implement it. Implement it for the error of your application, usually by calling the inner error:
///
/// ```
/// enum ShopError { OutOfStock, Tenure(tenure::Error) }
///
/// impl tenure::unit_of_work::Transient for ShopError {
///     fn retry_reason(&self) -> Option<tenure::error::ErrorCode> {
///         match self {
///             ShopError::OutOfStock => None,
///             ShopError::Tenure(error) => error.retry_reason(),
///         }
///     }
/// }
/// ```
pub trait Transient {
    /// Its code, by which the policy decides: see [`ErrorCode::repeat`]. `None` if a retry must not be made.
    fn retry_reason(&self) -> Option<ErrorCode>;
}

impl Transient for DatabaseError {
    fn retry_reason(&self) -> Option<ErrorCode> {
        Some(self.code())
    }
}

impl Transient for Error {
    fn retry_reason(&self) -> Option<ErrorCode> {
        Some(self.code())
    }
}

/// A refusal by the domain is not retried.
impl<E> Transient for UpdateError<E> {
    fn retry_reason(&self) -> Option<ErrorCode> {
        match self {
            UpdateError::Refused(_) => None,
            UpdateError::Failed(error) => Some(error.code()),
        }
    }
}

/// The result of [`Database::retry`], with the failed attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryOutcome<T> {
    /// The value of the last attempt.
    pub value: T,
    /// The reasons of the earlier attempts, in order. Empty if the first succeeded.
    pub reasons: Vec<ErrorCode>,
}

impl<T> RetryOutcome<T> {
    /// The number of attempts, including the successful one.
    pub fn attempts(&self) -> usize {
        self.reasons.len() + 1
    }
}

impl Database {
    /// Runs a whole unit of work, and retries it after a transient failure: one with [`Repeat::AtOnce`]. The unit begins its own transaction,
    /// loads, changes, saves and commits; each attempt starts from nothing. It must not have effects that cannot be repeated, such as
    /// sending a letter.
    ///
    /// ```
    /// # use tenure::{Aggregate, Database, Error, LockMode, Repository, unit_of_work::Retry};
    /// # #[derive(Aggregate)] #[aggregate(table = "account")] struct Account { #[aggregate(id)] no: String, balance: i64 }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/bank.db", directory.path().display())).await?;
    /// # let accounts = Repository::<Account>::new(&db);
    /// # let mut tx = db.begin().await?;
    /// # sqlx::raw_sql("create table account (no text primary key, balance integer, version integer)").execute(tx.sqlite()?).await?;
    /// # for no in ["a", "b"] { accounts.insert(&mut tx, Account { no: no.into(), balance: 10 }).await?; }
    /// # tx.commit().await?;
    /// let moved = db.retry(Retry::transient(3), || async {
    ///     let mut tx = db.begin().await?;
    ///     let mut from = accounts.find(&mut tx, &"a".into(), LockMode::Optimistic).await?.expect("it is there");
    ///     let mut to = accounts.find(&mut tx, &"b".into(), LockMode::Optimistic).await?.expect("it is there");
    ///     from.balance -= 3;
    ///     to.balance += 3;
    ///     accounts.save(&mut tx, &mut from).await?;
    ///     accounts.save(&mut tx, &mut to).await?;
    ///     tx.commit().await?;
    ///     Ok::<_, Error>(to.balance)
    /// })
    /// .await?;
    /// assert_eq!((moved.value, moved.attempts()), (13, 1));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The error of the last attempt: one that is not transient, or the last one before the attempts or the time were over. Each failed
    /// attempt is logged with its reason.
    pub async fn retry<T, E, W>(&self, policy: Retry, mut work: impl FnMut() -> W) -> Result<RetryOutcome<T>, E>
    where
        E: Transient,
        W: Future<Output = Result<T, E>>,
    {
        let (begun, mut reasons) = (Instant::now(), Vec::new());
        loop {
            let error = match work().await {
                Ok(value) => return Ok(RetryOutcome { value, reasons }),
                Err(error) => error,
            };
            let reason = error.retry_reason().filter(|reason| reason.repeat() == Repeat::AtOnce);
            let Some(reason) = reason else { return Err(error) };
            reasons.push(reason);
            let attempts = u32::try_from(reasons.len()).unwrap_or(u32::MAX);
            let Some(pause) = policy.pause(attempts, begun) else {
                tracing::info!(%reason, attempts, "a unit of work failed, and is not run again");
                return Err(error);
            };
            tracing::debug!(%reason, attempts, "a unit of work is run again");
            tokio::time::sleep(pause).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "sqlite")]
    #[tokio::test]
    async fn busy_database_is_retried() {
        let directory = tempfile::tempdir().expect("a directory");
        let url = format!("sqlite://{}/shop.db", directory.path().display());
        let db = Database::connect(&url).await.expect("a file");
        let mut runs = 0;
        let work = || {
            runs += 1;
            let busy = runs == 1;
            async move { if busy { Err(DatabaseError::Busy("no connection")) } else { Ok(7) } }
        };
        let done = db.retry(Retry::transient(2), work).await.expect("it is not busy any more");
        assert_eq!((done.value, done.reasons), (7, vec![ErrorCode::Busy]));
    }
}
