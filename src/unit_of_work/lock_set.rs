//! Several aggregates, locked in one order.

use std::collections::BTreeMap;

use crate::aggregate::mapping::Mapping;
use crate::aggregate::value::Value;
use crate::aggregate::{Aggregate, Loaded, Stored, id_values};
use crate::error::Error;
use crate::lease::LockKey;
use crate::row_lock::LockMode;
use crate::unit_of_work::repository::loaded;
use crate::unit_of_work::transaction::Transaction;

/// Aggregates, of one type or several, that one transaction will change.
///
/// They are locked in the order of type and id, not in the order in which they were added: two transactions that lock their sets this way
/// cannot deadlock. Adding one twice locks it once.
///
/// ```
/// # use tenure::{Aggregate, Database, LockMode, Repository, unit_of_work::LockSet};
/// # #[derive(Aggregate)] #[aggregate(table = "account")] struct Account { #[aggregate(id)] no: i64, balance: i64 }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let db = Database::connect(&format!("sqlite://{}/bank.db", directory.path().display())).await?;
/// # let accounts = Repository::<Account>::new(&db);
/// # let mut tx = db.begin().await?;
/// # sqlx::raw_sql("create table account (no integer primary key, balance integer, version integer)").execute(tx.sqlite()?).await?;
/// # for no in [1, 2] { accounts.insert(&mut tx, Account { no, balance: 100 }).await?; }
/// # tx.commit().await?;
/// let mut tx = db.begin().await?;
/// let both = LockSet::new().add::<Account>(&2).add::<Account>(&1); // 1 is locked first
/// let mut locked = tx.lock_all(both, LockMode::PessimisticWrite).await?;
/// let mut from = locked.take::<Account>(&2)?.ok_or("no account 2")?;
/// let mut to = locked.take::<Account>(&1)?.ok_or("no account 1")?;
/// from.balance -= 30;
/// to.balance += 30;
/// accounts.save(&mut tx, &mut from).await?;
/// accounts.save(&mut tx, &mut to).await?;
/// tx.commit().await?;
/// # assert_eq!(accounts.get(&1).await?.ok_or("none")?.balance, 130);
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct LockSet {
    wanted: BTreeMap<LockKey, (&'static Mapping, Vec<Value>)>,
}

impl LockSet {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an aggregate.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "`+` would not say which type of aggregate the id is of")]
    pub fn add<A: Aggregate>(mut self, id: &A::Id) -> Self {
        self.wanted.insert(LockKey::of::<A>(id), (A::mapping(), id_values(id)));
        self
    }
}

/// The aggregates of a [`LockSet`], loaded and locked.
#[derive(Debug)]
pub struct Locked {
    found: BTreeMap<LockKey, Stored>,
    mode: LockMode,
}

impl Locked {
    /// Takes one out. `None`: it does not exist, or was not in the set, or was taken out before.
    ///
    /// # Errors
    /// [`Error::OtherSpelling`] if the column's collation treats the id as equal to another stored spelling;
    /// [`Error::Database`] if its rows do not fit the mapping.
    pub fn take<A: Aggregate>(&mut self, id: &A::Id) -> Result<Option<Loaded<A>>, Error> {
        let key = LockKey::of::<A>(id);
        let stored = self.found.remove(&key);
        loaded(&key, stored, self.mode)
    }
}

impl Transaction {
    /// Loads and locks several aggregates in one order, within the rest of the transaction's budget.
    ///
    /// # Errors
    /// [`Error::Database`], with [`LockTimeout`](crate::error::DatabaseError::LockTimeout) if the budget was not enough for
    /// all of them.
    pub async fn lock_all(&mut self, set: LockSet, mode: LockMode) -> Result<Locked, Error> {
        let mut found = BTreeMap::new();
        for (mapping, _) in set.wanted.values() {
            self.home.names().meet(mapping).map_err(Error::from)?;
        }
        for (key, (mapping, id)) in set.wanted {
            if let Some(stored) = self.load(&key, mapping, &id, mode).await? {
                found.insert(key, stored);
            }
        }
        Ok(Locked { found, mode })
    }
}
