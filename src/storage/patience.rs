//! How long an operation waits in all, and how long it waits for an answer.
//!
//! Operations of the lock manager have no parameter for it: what is left of their time goes with the task. Whatever they wait
//! for counts: a connection, the writer of SQLite, rows, their own second attempt.

use std::time::{Duration, Instant};

use crate::row_lock::mode::Wait;

/// How long a database may take to answer, however little time is left. After that the connection is closed: nobody can tell a
/// server that is slow from one that is gone, and a transaction that has used up its time may still want to commit.
pub(crate) const GRACE: Duration = Duration::from_millis(1_000);
/// How much later than the server itself a wait is given up here, so that the server can say what was in the way.
#[cfg(any(feature = "postgres", feature = "mysql"))]
const SLACK: Duration = Duration::from_millis(250);

tokio::task_local! {
    /// When the operation that this task is about has to be over.
    static DEADLINE: Instant;
}

/// Does something that has so much time for all that it waits for, and no more than what it is a part of.
pub(crate) async fn within<T>(time: Duration, work: impl Future<Output = T>) -> T {
    let deadline = Instant::now() + time;
    let deadline = DEADLINE.try_with(|outer| deadline.min(*outer)).unwrap_or(deadline);
    DEADLINE.scope(deadline, work).await
}

/// As [`within`], for what has to be done although the time of what it is a part of is over: giving back what was taken.
pub(crate) async fn afresh<T>(time: Duration, work: impl Future<Output = T>) -> T {
    DEADLINE.scope(Instant::now() + time, work).await
}

/// How long the operation that this task is about may still wait.
pub(crate) fn left() -> Duration {
    let left = DEADLINE.try_with(|deadline| deadline.saturating_duration_since(Instant::now()));
    left.unwrap_or_else(|_| Wait::default().budget())
}

/// As [`left`], for those who begin a transaction.
#[cfg(any(feature = "sqlite", feature = "mysql"))]
pub(super) fn wait() -> Wait {
    Wait::Within(left())
}

/// How long an answer is waited for when so much time is left.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(super) fn limit(left: Duration) -> Duration {
    (left + SLACK).max(GRACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_part_has_no_more_time_than_the_whole() {
        let second = Duration::from_secs(1);
        let (part, cleaning) = within(second, async {
            (within(5 * second, async { left() }).await, afresh(5 * second, async { left() }).await)
        })
        .await;
        assert!(part <= second && cleaning > second, "{part:?} {cleaning:?}");
        assert!(within(second, async { left() }).await > Duration::ZERO);
        assert_eq!(left(), Duration::from_secs(5), "what has no limit of its own");
    }
}
