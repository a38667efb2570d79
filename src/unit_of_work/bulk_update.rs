//! Changing a field of many aggregates at once, with a new version for each.

use std::collections::BTreeMap;

use crate::aggregate::Aggregate;
use crate::aggregate::condition::{Condition, Test, columns_of, written};
use crate::aggregate::mapping::{MappingError, Row, Rows};
use crate::aggregate::value::{RowReader, Value, ValueObject};
use crate::error::Error;
use crate::lease::LockKey;
use crate::row_lock::mode::LockMode;
use crate::storage::BulkChange;
use crate::unit_of_work::repository::Repository;
use crate::unit_of_work::retry::Transient;
use crate::unit_of_work::transaction::Transaction;

/// A change of all aggregates that fulfil a condition; [`run`](UpdateAll::run) executes it.
///
/// It is safe beside concurrent work on the aggregates: the version of each changed aggregate rises by one, so a form that was opened
/// before gets a conflict, and the change waits for a save in flight. It sets fields of the root to given values; no rule of the domain
/// runs.
///
/// ```
/// # use tenure::{Aggregate, Database, Repository, aggregate::Condition};
/// # #[derive(Aggregate)] #[aggregate(table = "orders")]
/// # struct Order { #[aggregate(id)] no: String, state: String, days_open: i64 }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
/// # let orders = Repository::<Order>::new(&db);
/// # let mut tx = db.begin().await?;
/// # sqlx::raw_sql("create table orders (no text primary key, state text, days_open integer, version integer)").execute(tx.sqlite()?).await?;
/// # for (no, days_open) in [("1", 40), ("2", 3)] { orders.insert(&mut tx, Order { no: no.into(), state: "placed".into(), days_open }).await?; }
/// # tx.commit().await?;
/// let mut tx = db.begin().await?;
/// let forgotten = !Condition::at_most("days_open", 30_i64);
/// let cancelled = orders.update_all(&mut tx).set("state", "cancelled".to_owned()).when(forgotten).run().await?;
/// tx.commit().await?;
/// assert_eq!(cancelled, 1);
/// assert_eq!(orders.get(&"1".into()).await?.expect("it is there").version().number(), 2);
/// # Ok(()) }
/// ```
#[must_use = "nothing happens until `run`"]
#[derive(Debug)]
pub struct UpdateAll<'r, 't, A> {
    repository: &'r Repository<A>,
    tx: &'t mut Transaction,
    set: Vec<(String, Vec<Value>)>,
    when: Option<Condition>,
}

impl<'r, 't, A: Aggregate> UpdateAll<'r, 't, A> {
    pub(crate) fn new(repository: &'r Repository<A>, tx: &'t mut Transaction) -> Self {
        UpdateAll { repository, tx, set: Vec::new(), when: None }
    }

    /// Sets a field of the root, by its path, such as `shipping.zip`.
    pub fn set(mut self, path: impl Into<String>, value: impl ValueObject) -> Self {
        self.set.push((path.into(), written(&value)));
        self
    }

    /// Selects the aggregates; [`Condition::always`] for all of them. If called twice, both conditions must hold.
    pub fn when(mut self, condition: Condition) -> Self {
        self.when = Some(match self.when {
            Some(earlier) => earlier.and(condition),
            None => condition,
        });
        self
    }

    /// Executes it; returns the number of changed aggregates. One that already has the values keeps its version.
    ///
    /// One statement locks the matching aggregates and one changes them; if revisions are kept, or this transaction has loaded or saved
    /// matching aggregates, each is saved by itself. Aggregates that were loaded before have to be loaded again.
    ///
    /// If it is the first operation of its transaction and the database aborts it in a deadlock, it is retried within the transaction's
    /// budget. Later in a transaction it returns a [`Deadlock`](crate::error::DatabaseError::Deadlock): only the caller knows the work to
    /// repeat.
    ///
    /// # Errors
    /// [`Error::Database`]: with a [`MappingError`] if there is no such field, the value has another type, the id or a part of an optional
    /// value would be set, or the change or the condition is missing; with [`LockTimeout`](crate::error::DatabaseError::LockTimeout) if
    /// another transaction held a row for too long.
    pub async fn run(self) -> Result<u64, Error> {
        let mapping = self.repository.mapping()?;
        let root = &mapping.root;
        self.tx.author.check()?;
        let Some(when) = self.when.filter(|_| !self.set.is_empty()) else {
            let what = "say what to set, and which aggregates: `Condition::always()` if all are meant";
            return Err(MappingError::new(&root.name, "", what).into());
        };
        let when = when.resolve(mapping)?;
        let mut set = BTreeMap::new();
        for (path, values) in self.set {
            let columns = columns_of(root, &path, &values)?;
            if columns.iter().any(|&column| column < root.key) {
                return Err(MappingError::new(&root.name, path, "the id of an aggregate cannot be changed").into());
            }
            // Without its other parts the value could not be read back.
            let outer = columns.iter().find_map(|&column| root.columns[column].part_of.as_ref());
            if let Some(outer) = outer.filter(|outer| path.strip_prefix(&***outer).is_some_and(|rest| !rest.is_empty()))
            {
                let what = format!("`{path}` is a part of an optional value; set all of `{outer}`");
                return Err(MappingError::new(&root.name, path, what).into());
            }
            set.extend(columns.into_iter().zip(values));
        }
        let set: Vec<(usize, Value)> = set.into_iter().collect();
        let (tx, mut attempts) = (self.tx, 0);
        let fresh = tx.is_fresh();
        loop {
            attempts += 1;
            match change(self.repository, tx, &set, &when).await {
                Err(error) if fresh && tx.begins_again(error.retry_reason(), attempts).await? => {}
                outcome => return outcome,
            }
        }
    }
}

/// Executes it once.
async fn change<A: Aggregate>(
    repository: &Repository<A>,
    tx: &mut Transaction,
    set: &[(usize, Value)],
    when: &Test,
) -> Result<u64, Error> {
    let mapping = A::mapping();
    let matching = tx.database.run(async |tx| tx.lock_matching(mapping, when).await).await?;
    let ids: Vec<A::Id> = matching.iter().map(id_of::<A>).collect::<Result<_, _>>()?;
    if mapping.revisions > 0 || ids.iter().any(|id| tx.knows(&LockKey::of::<A>(id))) {
        return one_by_one(repository, tx, &ids, set).await;
    }
    let author = tx.author.clone();
    let change = BulkChange { mapping, set, when, author: &author };
    Ok(tx.database.run(async |tx| tx.update_matching(&change).await).await?)
}

fn id_of<A: Aggregate>(row: &Row) -> Result<A::Id, MappingError> {
    let root = &A::mapping().root;
    A::Id::read(&mut RowReader::new(&root.name, &root.columns, row))
}

/// They are locked already, so none of them can be changed or deleted.
async fn one_by_one<A: Aggregate>(
    repository: &Repository<A>,
    tx: &mut Transaction,
    ids: &[A::Id],
    set: &[(usize, Value)],
) -> Result<u64, Error> {
    let mut changed = 0;
    for id in ids {
        let Some(mut loaded) = repository.find(tx, id, LockMode::PessimisticWrite).await? else { continue };
        let mut rows = Rows::clone(&loaded.opened);
        set.iter().for_each(|(column, value)| rows.root[*column] = value.clone());
        changed += u64::from(rows != *loaded.opened);
        *loaded = A::from_rows(&rows)?;
        repository.save(tx, &mut loaded).await?;
    }
    Ok(changed)
}
