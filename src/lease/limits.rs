//! How much of the lock table one person may take up. No I/O here.

use std::fmt;
use std::time::Duration;

/// Limits that keep one person, or one program that runs wild, from taking up the lock table. They are the application's:
/// the same for all types of aggregates, and for all processes if all set the same.
///
/// ```
/// use tenure::lease::Limits;
/// let limits = Limits { locks_per_owner: 50, ..Limits::default() };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most locks that one owner holds at once, of all types: 1,000. Exact within a process where it is 100 or less;
    /// above that a process asks the database only after every half of it that it granted to one owner, so that
    /// whoever is far from it pays nothing: then each further process may have granted half of it unseen.
    pub locks_per_owner: u32,
    /// The most people who ask for one lock: 100. Two who ask at the very same moment may make it one more.
    pub askers_per_lock: u32,
    /// The most waits of one owner at once: 100.
    pub waits_per_owner: u32,
    /// The longest that anybody waits for a lock: 5 minutes.
    pub longest_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            locks_per_owner: 1_000,
            askers_per_lock: 100,
            waits_per_owner: 100,
            longest_wait: Duration::from_secs(300),
        }
    }
}

/// Which of the [`Limits`] was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::locks_per_owner`].
    LocksPerOwner,
    /// [`Limits::askers_per_lock`].
    AskersPerLock,
    /// [`Limits::waits_per_owner`].
    WaitsPerOwner,
    /// [`Limits::longest_wait`], in milliseconds.
    LongestWait,
}

impl Limit {
    /// What is reached, and what to do next.
    pub(crate) fn says(self, most: u64) -> impl fmt::Display {
        fmt::from_fn(move |f| match self {
            Limit::LocksPerOwner => {
                write!(f, "one owner may hold {most} locks at once (`locks_per_owner`); give one back first")
            }
            Limit::AskersPerLock => {
                write!(f, "{most} people ask for this lock already (`askers_per_lock`); wait until it is free")
            }
            Limit::WaitsPerOwner => {
                write!(f, "one owner may wait for {most} locks at once (`waits_per_owner`); let one of them end first")
            }
            Limit::LongestWait => write!(f, "nobody waits longer than {most} ms (`longest_wait`); wait for less"),
        })
    }
}
