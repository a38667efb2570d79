//! Quotas of one owner in the lock table. No I/O here.

use std::fmt;
use std::time::Duration;

/// Limits that prevent one person, or one faulty program, from filling the lock table. The application sets them; they apply to
/// all types of aggregates, and across processes if all processes set the same.
///
/// ```
/// use tenure::lease::Limits;
/// let limits = Limits { locks_per_owner: 50, ..Limits::default() };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most locks that one owner holds at once, over all types: 1,000. Exact within a process up to 100.
    /// Above that, a process queries the database only after it granted half of the limit to one owner, so that
    /// owners far below the limit cost nothing; each further process may then have granted another half.
    pub locks_per_owner: u32,
    /// The longest wait for a lock: 5 minutes.
    pub longest_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { locks_per_owner: 1_000, longest_wait: Duration::from_secs(300) }
    }
}

/// The [`Limits`] that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::locks_per_owner`].
    LocksPerOwner,
    /// [`Limits::longest_wait`], in milliseconds.
    LongestWait,
}

impl Limit {
    /// The limit that was reached, and what to do next.
    pub(crate) fn says(self, most: u64) -> impl fmt::Display {
        fmt::from_fn(move |f| match self {
            Limit::LocksPerOwner => {
                write!(f, "one owner may hold {most} locks at once (`locks_per_owner`); release one first")
            }
            Limit::LongestWait => write!(f, "a wait may last at most {most} ms (`longest_wait`); choose a shorter one"),
        })
    }
}
