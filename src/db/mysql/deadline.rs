//! Limits waits to the millisecond, and the differences of MariaDB and MySQL.

use std::time::{Duration, Instant};

use crate::db::patience::jitter;
use crate::row_lock::Wait;

/// The prefix of a MariaDB statement that waits for no row and no table.
const AT_ONCE: &str = "set statement innodb_lock_wait_timeout = 0, lock_wait_timeout = 0 for ";

/// The kind of server. They differ in the limits of lock waits, and in the names of a few settings.
///
/// It was seen on MariaDB and on MySQL 9.7; what is said of MySQL 8 is from its manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    MariaDb,
    MySql,
}

impl Flavour {
    /// Rolls back the transaction, and resets the settings of `begin`. Harmless without a transaction. (The cast: of a signed and an
    /// unsigned number, `coalesce` makes a decimal, which MySQL refuses for the setting.)
    pub(crate) fn roll_back(self) -> &'static str {
        match self {
            Flavour::MariaDb => "rollback; set autocommit = 1",
            Flavour::MySql => {
                "rollback; set autocommit = 1, innodb_lock_wait_timeout = default, lock_wait_timeout = default, \
                 wait_timeout = default"
            }
        }
    }

    /// Commits by switching autocommit on; it stays off if the connection is kept for the next transaction. If the application used the
    /// connection, it commits only the transaction that was begun: after a deadlock the server has none any more, begins another with the
    /// next statement, and would commit that. The savepoint ended with its own transaction.
    pub(crate) fn commit(self, lent: bool, keeps: bool) -> &'static str {
        match (self, lent, keeps) {
            (Flavour::MariaDb, false, false) => "set autocommit = 1",
            (Flavour::MariaDb, false, true) => "commit",
            (Flavour::MariaDb, true, false) => "release savepoint tenure; set autocommit = 1",
            (Flavour::MariaDb, true, true) => "release savepoint tenure; commit",
            (Flavour::MySql, ..) => {
                "release savepoint tenure; commit; \
                 set autocommit = 1, innodb_lock_wait_timeout = default, lock_wait_timeout = default, \
                 wait_timeout = default"
            }
        }
    }
}

/// The time at which all waits of a transaction must end.
#[derive(Debug)]
pub(crate) struct Deadline {
    asked: Instant,
    budget: Duration,
    /// The remaining time that the server was last given.
    told: Duration,
    server: Waits,
    /// The time that answers have, if it is longer than that of waits.
    for_answers: Duration,
}

/// The server's own limits of waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waits {
    /// Its wait limit.
    pub patience: Duration,
    /// Whether it then rolls back the whole transaction instead of the statement.
    pub roll_back: bool,
}

impl Deadline {
    /// A shorter limit is not used: the server counts the statement's own work too. Then a lock is acquired at once or not.
    const SHORTEST: Duration = Duration::from_millis(5);

    /// The time starts now: the wait for a connection counts.
    pub(crate) fn start(wait: Wait, server: Waits) -> Self {
        Deadline {
            asked: Instant::now(),
            budget: wait.budget(),
            told: Duration::ZERO,
            server,
            for_answers: wait.budget(),
        }
    }

    /// For a transaction that must not wait for others, but has its time for answers.
    pub(crate) fn of_short_waits(waits: Duration, answers: Duration, server: Waits) -> Self {
        Deadline { for_answers: answers, ..Self::start(Wait::Within(waits.min(answers)), server) }
    }

    /// What is left for answers.
    pub(crate) fn left_for_answers(&self) -> Duration {
        self.for_answers.saturating_sub(self.waited())
    }

    pub(crate) fn waited(&self) -> Duration {
        self.asked.elapsed()
    }

    pub(crate) fn left(&self) -> Duration {
        self.budget.saturating_sub(self.waited())
    }

    /// The settings that limit the next wait to what is left, for a `set`.
    pub(crate) fn tell(&mut self, flavour: Flavour) -> String {
        self.told = self.left();
        match flavour {
            Flavour::MariaDb => format!("@tenure_wait = {:.6}", self.told.as_secs_f64()),
            Flavour::MySql => {
                let seconds = seconds_to_spare(self.told).max(1);
                format!("innodb_lock_wait_timeout = {seconds}, lock_wait_timeout = {seconds}")
            }
        }
    }

    /// The prefix of a statement without a wait, if the statement can be repeated after a refusal.
    pub(crate) fn at_once(&self, flavour: Flavour) -> Option<&'static str> {
        (flavour == Flavour::MariaDb && !self.server.roll_back).then_some(AT_ONCE)
    }

    /// Whether there is time to wait.
    pub(crate) fn is_worth_waiting(&self) -> bool {
        self.left() >= Self::SHORTEST
    }

    /// The prefix of a statement whose waits end at the deadline. The number is a variable of the session, so that the text never changes
    /// and is prepared once.
    ///
    /// MySQL has only a limit of whole seconds. It waits for a row while whole seconds are left, so that the server detects deadlocks, and
    /// then retries with NOWAIT until the row is free or the time is over.
    pub(crate) fn limit(&self, flavour: Flavour) -> &'static str {
        match flavour {
            // InnoDB refuses at once if it would wait.
            Flavour::MariaDb if self.told < Self::SHORTEST => AT_ONCE,
            // The timer ends the wait, to the microsecond.
            Flavour::MariaDb if self.told < self.server.patience => {
                "set statement max_statement_time = @tenure_wait for "
            }
            // InnoDB's own limit must not end the wait earlier.
            Flavour::MariaDb => {
                "set statement max_statement_time = @tenure_wait, innodb_lock_wait_timeout = 3700, \
                 lock_wait_timeout = 3700 for "
            }
            Flavour::MySql => "",
        }
    }

    /// Whether enough time is left for MySQL to wait by itself.
    pub(crate) fn has_seconds_to_spare(&self) -> bool {
        seconds_to_spare(self.left()) > 0
    }

    /// As [`tell`](Self::tell), if enough of the budget is spent to matter: it costs a round trip.
    pub(crate) fn shrink(&mut self, flavour: Flavour) -> Option<String> {
        let left = self.left();
        let matters = match flavour {
            Flavour::MariaDb => {
                self.told.is_zero() || self.told.saturating_sub(left) > Duration::from_millis(20).max(left / 50)
            }
            Flavour::MySql => seconds_to_spare(left) < seconds_to_spare(self.told),
        };
        matters.then(|| self.tell(flavour))
    }

    /// The pause before the next attempt to lock a held row; `None` when the time is over. It is random, so that waiters do not retry at
    /// the same moment.
    pub(crate) fn pause(&self) -> Option<Duration> {
        let left = self.left();
        (!left.is_zero()).then(|| jitter().min(left))
    }
}

/// How long MySQL may wait by itself: it checks its clock once a second, so it may wait a second longer.
fn seconds_to_spare(left: Duration) -> u64 {
    left.as_secs().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a server with the default limit.
    fn deadline(wait: Wait) -> Deadline {
        Deadline::start(wait, Waits { patience: Duration::from_secs(50), roll_back: false })
    }

    fn deadline_told(wait: Wait) -> Deadline {
        let mut deadline = deadline(wait);
        deadline.tell(Flavour::MariaDb);
        deadline
    }

    #[test]
    fn mariadb_limit_is_in_microseconds_and_0_means_no_wait() {
        let mut deadline = deadline(Wait::Within(Duration::from_millis(250)));
        let told = deadline.tell(Flavour::MariaDb);
        assert!(told.starts_with("@tenure_wait = 0.24") || told.starts_with("@tenure_wait = 0.25"), "{told}");
        assert_eq!(deadline.limit(Flavour::MariaDb), "set statement max_statement_time = @tenure_wait for ");
        let none = deadline_told(Wait::No);
        assert!(none.limit(Flavour::MariaDb).contains("innodb_lock_wait_timeout = 0"));
    }

    #[test]
    fn innodb_does_not_give_up_before_the_deadline() {
        let long = deadline_told(Wait::Within(Duration::from_secs(51)));
        assert!(long.limit(Flavour::MariaDb).contains("innodb_lock_wait_timeout = 3700"));
    }

    #[test]
    fn mysql_limit_is_whole_seconds_one_below_the_budget() {
        for (millis, seconds, spare) in [(0, 1, false), (1_990, 1, false), (2_500, 1, true), (5_500, 4, true)] {
            let mut deadline = deadline(Wait::Within(Duration::from_millis(millis)));
            let told = deadline.tell(Flavour::MySql);
            assert_eq!(told, format!("innodb_lock_wait_timeout = {seconds}, lock_wait_timeout = {seconds}"));
            assert_eq!(deadline.has_seconds_to_spare(), spare);
        }
    }

    #[test]
    fn exhausted_budget_does_not_retry() {
        assert_eq!(deadline(Wait::No).pause(), None);
        assert!(deadline(Wait::Within(Duration::from_secs(1))).pause().is_some());
    }
}
