//! Row locks of the database: the lock mode of a load, and the time limit of a wait. No I/O here.

use std::time::Duration;

/// The lock modes of Jakarta Persistence, with their meaning.
///
/// A mode is given where an aggregate is loaded, and holds to the end of the transaction:
///
/// ```
/// # use tenure::{Aggregate, Database, LockMode, Repository};
/// # #[derive(Aggregate)] #[aggregate(table = "product")]
/// # struct Product { #[aggregate(id)] id: String, stock: u32 }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
/// # let products = Repository::<Product>::new(&db);
/// # let mut tx = db.begin().await?;
/// # sqlx::raw_sql("create table product (id text primary key, stock integer, version integer)").execute(tx.sqlite()?).await?;
/// # for id in ["lens", "bag"] { products.insert(&mut tx, Product { id: id.into(), stock: 3 }).await?; }
/// # tx.commit().await?;
/// let mut tx = db.begin().await?;
/// let mut lens = products.find(&mut tx, &"lens".into(), LockMode::PessimisticWrite).await?.ok_or("no lens")?;
/// lens.stock -= 1;                                       // nobody else changes it until the commit
/// products.save(&mut tx, &mut lens).await?;
/// // Only read, and yet its version rises: a form that shows it gets a conflict at its save.
/// products.find(&mut tx, &"bag".into(), LockMode::OptimisticForceIncrement).await?.ok_or("no bag")?;
/// tx.commit().await?;
///
/// for id in ["lens", "bag"] {
///     assert_eq!(products.get(&id.into()).await?.ok_or("gone")?.version().number(), 2);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LockMode {
    /// Load only. Saving still checks the version.
    None,
    /// The version is checked when the aggregate is saved, or at the commit if it was only read: the default.
    #[default]
    Optimistic,
    /// As `Optimistic`, and the version rises with the save, or at the commit if nothing was saved.
    OptimisticForceIncrement,
    /// Nobody changes the aggregate until the transaction ends; others may read it.
    PessimisticRead,
    /// Others can neither change nor lock the aggregate until the transaction ends; they may read it without a lock.
    PessimisticWrite,
    /// As `PessimisticWrite`, and the version rises with the save, or at the commit if nothing was saved.
    PessimisticForceIncrement,
}

impl LockMode {
    /// Whether the version rises even when nothing changed.
    pub(crate) fn forces_increment(self) -> bool {
        matches!(self, LockMode::OptimisticForceIncrement | LockMode::PessimisticForceIncrement)
    }
}

/// The total time that a transaction may wait for others: for a connection and for all locks that it acquires. If the database does
/// not answer at all, the wait is 250 ms longer, and at least 1,000 ms after each statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// Fail at once if another transaction holds the row, or if no connection is free.
    No,
    /// Wait at most this long, to the millisecond. The maximum is an hour; longer values are cut to it.
    Within(Duration),
}

impl Wait {
    /// The longest wait: an hour. No caller waits longer for a response.
    pub const LONGEST: Duration = Duration::from_secs(3600);

    /// The budget: zero for [`Wait::No`].
    pub(crate) fn budget(self) -> Duration {
        match self {
            Wait::No => Duration::ZERO,
            Wait::Within(duration) => duration.min(Self::LONGEST),
        }
    }
}

/// 5,000 ms: longer than any unit of work should take, shorter than a person's patience.
impl Default for Wait {
    fn default() -> Self {
        Wait::Within(Duration::from_secs(5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_that_force_an_increment_say_so() {
        for (mode, increments) in [
            (LockMode::None, false),
            (LockMode::Optimistic, false),
            (LockMode::OptimisticForceIncrement, true),
            (LockMode::PessimisticRead, false),
            (LockMode::PessimisticWrite, false),
            (LockMode::PessimisticForceIncrement, true),
        ] {
            assert_eq!(mode.forces_increment(), increments, "{mode:?}");
        }
    }

    #[test]
    fn a_wait_is_five_seconds_and_at_most_an_hour() {
        let second = Duration::from_secs(1);
        assert_eq!(Wait::default().budget(), 5 * second);
        assert_eq!(Wait::No.budget(), Duration::ZERO);
        assert_eq!(Wait::Within(3_600 * second).budget(), 3_600 * second);
        assert_eq!(Wait::Within(Duration::MAX).budget(), 3_600 * second);
    }
}
