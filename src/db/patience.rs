//! The time budget of an operation, and the time limit of an answer.
//!
//! Operations of the lock manager have no parameter for it: the remaining time is stored in the task. All waits count: for a connection,
//! for the writer of SQLite, for rows, for its own retries.

use std::time::Duration;

use tokio::time::Instant;

use crate::row_lock::Wait;

/// The least time limit of an answer, even if less time is left. After that the connection is closed: a slow server cannot be distinguished from a
/// dead one, and a transaction that has spent its budget may still have to commit.
pub(crate) const GRACE: Duration = Duration::from_millis(1_000);
/// How long a transaction that must not wait for others waits for a row that another has inserted, and commits in a moment. Its answers have
/// the time of the operation.
pub(crate) const FOR_AN_INSERT: Duration = Duration::from_millis(200);
/// The extra time after the server's own limit, so that the server can report the blocker first.
const SLACK: Duration = Duration::from_millis(250);

/// How long before the end of a wait its blocker is queried. It can only be told during the wait, and a busy machine needs a while for the
/// query.
pub(crate) fn to_find_the_blocker(wait: Duration) -> Duration {
    (wait / 2).min(Duration::from_secs(1))
}

tokio::task_local! {
    /// The time at which the operation of this task must end.
    static DEADLINE: Instant;
}

/// Runs work with this time budget, bounded by that of an enclosing operation.
pub(crate) async fn within<T>(time: Duration, work: impl Future<Output = T>) -> T {
    let deadline = Instant::now() + time;
    let deadline = DEADLINE.try_with(|outer| deadline.min(*outer)).unwrap_or(deadline);
    DEADLINE.scope(deadline, work).await
}

/// The remaining wait budget of the operation of this task.
pub(crate) fn left() -> Duration {
    let left = DEADLINE.try_with(|deadline| deadline.saturating_duration_since(Instant::now()));
    left.unwrap_or_else(|_| Wait::default().budget())
}

/// As [`left`], for beginning a transaction.
#[cfg(any(feature = "sqlite", feature = "mysql"))]
pub(crate) fn wait() -> Wait {
    Wait::Within(left())
}

/// The pause before another attempt, 5 to 20 ms: random, so that those that met do not meet again.
pub(crate) fn jitter() -> Duration {
    Duration::from_micros(u64::from(5_000 + getrandom::u32().unwrap_or(0) % 15_000))
}

/// The time limit of an answer, given the remaining budget.
pub(crate) fn limit(left: Duration) -> Duration {
    (left + SLACK).max(GRACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_part_has_no_more_time_than_the_whole() {
        let second = Duration::from_secs(1);
        let part = within(second, within(5 * second, async { left() })).await;
        assert!(part <= second, "{part:?}");
        assert!(within(second, async { left() }).await > Duration::ZERO);
        assert_eq!(left(), Duration::from_secs(5), "the default without a limit of its own");
    }
}
