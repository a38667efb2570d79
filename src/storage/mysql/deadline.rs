//! How a wait is limited to the millisecond, and in what MariaDB and MySQL differ.

use std::time::{Duration, Instant};

use crate::row_lock::mode::Wait;

/// How a statement of MariaDB begins that waits for no row and no table.
const AT_ONCE: &str = "set statement innodb_lock_wait_timeout = 0, lock_wait_timeout = 0 for ";

/// What the server is. They part ways in how a wait for a lock is limited, and in the names of a few settings.
///
/// MySQL 8 could not be run where this was written: what is said of it here comes from its manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavour {
    MariaDb,
    MySql,
}

impl Flavour {
    /// Ends a transaction by rolling it back, and whatever `begin` had set. Harmless where there is none.
    pub(super) fn roll_back(self) -> &'static str {
        match self {
            Flavour::MariaDb => "rollback; set autocommit = 1",
            Flavour::MySql => {
                "rollback; set autocommit = 1, innodb_lock_wait_timeout = default, lock_wait_timeout = default, \
                 wait_timeout = coalesce(@tenure_idle, @@global.wait_timeout)"
            }
        }
    }

    /// Commits, which is what turning autocommit on does; it stays off where the connection is kept for the next one. Where the
    /// application had the connection, only if it is still the transaction that was begun: after a deadlock the server has none
    /// any more, begins another with the next statement, and would commit that. The savepoint went with the one that it
    /// belonged to.
    pub(super) fn commit(self, lent: bool, keeps: bool) -> &'static str {
        match (self, lent, keeps) {
            (Flavour::MariaDb, false, false) => "set autocommit = 1",
            (Flavour::MariaDb, false, true) => "commit",
            (Flavour::MariaDb, true, false) => "release savepoint tenure; set autocommit = 1",
            (Flavour::MariaDb, true, true) => "release savepoint tenure; commit",
            (Flavour::MySql, ..) => {
                "release savepoint tenure; commit; \
                 set autocommit = 1, innodb_lock_wait_timeout = default, lock_wait_timeout = default, \
                 wait_timeout = coalesce(@tenure_idle, @@global.wait_timeout)"
            }
        }
    }
}

/// How a row is locked when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowLock {
    None,
    Share,
    Update,
    /// Only if nobody else holds it.
    SkipLocked,
}

impl RowLock {
    /// Whether it may have to wait.
    pub(super) fn waits(self) -> bool {
        matches!(self, RowLock::Share | RowLock::Update)
    }

    /// How a `select` ends that takes this lock.
    pub(super) fn clause(self) -> &'static str {
        match self {
            RowLock::None => "",
            RowLock::Share => " lock in share mode",
            RowLock::Update => " for update",
            RowLock::SkipLocked => " for update skip locked",
        }
    }

    /// As [`clause`](Self::clause), if it can be had at once. For MySQL, where NOWAIT goes with the newer spelling only,
    /// which MariaDB does not have.
    pub(super) fn clause_at_once(self) -> &'static str {
        match self {
            RowLock::Share => " for share nowait",
            _ => " for update nowait",
        }
    }
}

/// When all waits of a transaction have to be over.
#[derive(Debug)]
pub(super) struct Deadline {
    asked: Instant,
    budget: Duration,
    /// What the server was last told is left.
    told: Duration,
    server: Waits,
}

/// What a server does about waits by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waits {
    /// After how long it gives up.
    pub patience: Duration,
    /// Whether the whole transaction is rolled back then, and not only the statement.
    pub roll_back: bool,
}

impl Deadline {
    /// A limit below this is none: the server counts the statement's own work as well. Then a lock is had at once or not.
    const SHORTEST: Duration = Duration::from_millis(5);

    /// The time starts now: waiting for a connection counts.
    pub(super) fn start(wait: Wait, server: Waits) -> Self {
        Deadline { asked: Instant::now(), budget: wait.budget(), told: Duration::ZERO, server }
    }

    pub(super) fn waited(&self) -> Duration {
        self.asked.elapsed()
    }

    pub(super) fn left(&self) -> Duration {
        self.budget.saturating_sub(self.waited())
    }

    /// The settings that limit the next wait to what is left, for a `set`.
    pub(super) fn tell(&mut self, flavour: Flavour) -> String {
        self.told = self.left();
        match flavour {
            Flavour::MariaDb => format!("@tenure_wait = {:.6}", self.told.as_secs_f64()),
            Flavour::MySql => {
                let seconds = seconds_to_spare(self.told).max(1);
                format!("innodb_lock_wait_timeout = {seconds}, lock_wait_timeout = {seconds}")
            }
        }
    }

    /// How a statement begins that is to wait for nothing, if it can be asked again after it was refused.
    pub(super) fn at_once(&self, flavour: Flavour) -> Option<&'static str> {
        (flavour == Flavour::MariaDb && !self.server.roll_back).then_some(AT_ONCE)
    }

    /// As [`at_once`](Self::at_once), for a `select` that locks: how it ends. No setting has to be made for it, and undone.
    pub(super) fn clause_at_once(&self, flavour: Flavour, lock: RowLock) -> Option<&'static str> {
        self.at_once(flavour).map(|_| match lock {
            RowLock::Share => " lock in share mode nowait",
            _ => " for update nowait",
        })
    }

    /// Whether there is time to wait.
    pub(super) fn is_worth_waiting(&self) -> bool {
        self.left() >= Self::SHORTEST
    }

    /// How a statement begins whose waits end then. The number is a variable of the session, so that the text is always the
    /// same and is prepared once.
    ///
    /// MySQL has no such thing, only a limit of whole seconds. There a row is waited for while there are seconds to spare,
    /// so that the server sees a deadlock, and then asked for with NOWAIT until it is free or the time is up.
    pub(super) fn limit(&self, flavour: Flavour) -> &'static str {
        match flavour {
            // What cannot wait is refused by InnoDB, at once.
            Flavour::MariaDb if self.told < Self::SHORTEST => AT_ONCE,
            // What can is ended by the timer, to the microsecond.
            Flavour::MariaDb if self.told < self.server.patience => {
                "set statement max_statement_time = @tenure_wait for "
            }
            // And InnoDB's own limit stands out of the way.
            Flavour::MariaDb => {
                "set statement max_statement_time = @tenure_wait, innodb_lock_wait_timeout = 3700, \
                 lock_wait_timeout = 3700 for "
            }
            Flavour::MySql => "",
        }
    }

    /// Whether so much is left that MySQL may be left to wait by itself.
    pub(super) fn has_seconds_to_spare(&self) -> bool {
        seconds_to_spare(self.left()) > 0
    }

    /// As [`tell`](Self::tell), if so much of the budget is used up that it makes a difference: telling is a round trip.
    pub(super) fn shrink(&mut self, flavour: Flavour) -> Option<String> {
        let left = self.left();
        let matters = match flavour {
            Flavour::MariaDb => {
                self.told.is_zero() || self.told.saturating_sub(left) > Duration::from_millis(20).max(left / 50)
            }
            Flavour::MySql => seconds_to_spare(left) < seconds_to_spare(self.told),
        };
        matters.then(|| self.tell(flavour))
    }

    /// How long to wait before a row that somebody holds is asked for again; `None` when the time is up. It is random, so
    /// that those who wait do not come back together.
    pub(super) fn pause(&self) -> Option<Duration> {
        let left = self.left();
        (!left.is_zero()).then(|| jitter().min(left))
    }
}

/// 5 to 20 ms.
pub(super) fn jitter() -> Duration {
    Duration::from_micros(u64::from(5_000 + getrandom::u32().unwrap_or(0) % 15_000))
}

/// How long MySQL may wait by itself: it looks at its clock once a second, so that it may wait for a second longer.
fn seconds_to_spare(left: Duration) -> u64 {
    left.as_secs().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a server with the usual limit of its own.
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
