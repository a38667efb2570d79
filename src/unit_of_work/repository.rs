//! Loading and saving aggregates.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::aggregate::diff::{Diff, same_id};
use crate::aggregate::mapping::{Mapping, MappingError, Rows};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::aggregate::{Aggregate, Loaded, Stored, id_values};
use crate::db::RowLock;
use crate::error::{DatabaseError, Error};
use crate::lease::LockKey;
use crate::row_lock::LockMode;
use crate::store::Saved;
use crate::store::{load, save};
use crate::telemetry::work::traced;
use crate::unit_of_work::database::Database;
use crate::unit_of_work::explain::Opened;
use crate::unit_of_work::transaction::Transaction;
use crate::unit_of_work::update::Update;
use crate::version::conflict::Change;
use crate::version::token::Expected;

/// The aggregates of one type: whole, by identity.
///
/// ```
/// # use tenure::{Aggregate, Database, LockMode, Repository};
/// # #[derive(Aggregate, Debug)]
/// # #[aggregate(table = "orders")]
/// # struct Order { #[aggregate(id)] no: String, message: String }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
/// # let mut tx = db.begin().await?;
/// # sqlx::query("create table orders (no text primary key, message text not null, version integer not null)").execute(tx.sqlite()?).await?;
/// # tx.commit().await?;
/// let orders = Repository::<Order>::new(&db);
///
/// let mut tx = db.begin().await?;
/// orders.insert(&mut tx, Order { no: "1234".into(), message: "ring twice".into() }).await?;
/// tx.commit().await?;
///
/// let mut tx = db.begin().await?;
/// let mut order = orders.find(&mut tx, &"1234".into(), LockMode::PessimisticWrite).await?.expect("it was inserted");
/// order.message = "leave it with the neighbours".into();
/// orders.save(&mut tx, &mut order).await?;
/// tx.commit().await?;
/// assert_eq!(order.version().number(), 2);
/// # Ok(()) }
/// ```
pub struct Repository<A> {
    pub(crate) database: Database,
    /// The mapping, if its name belongs to its table in this database.
    mapping: Result<&'static Mapping, MappingError>,
    aggregate: PhantomData<fn() -> A>,
}

impl<A: Aggregate> Repository<A> {
    /// The aggregates of type `A` in this database.
    ///
    /// Two aggregates of one database need two names, because versions, locks and histories are stored under them. If another aggregate of
    /// this name, with another root table, was used before, all operations of the second one fail with
    /// [`DatabaseError::Mapping`]: give it a name by `#[aggregate(name = "…")]`.
    pub fn new(database: &Database) -> Self {
        let mapping = database.names().meet(A::mapping()).map(|()| A::mapping());
        Repository { database: database.clone(), mapping, aggregate: PhantomData }
    }

    /// The mapping.
    pub(super) fn mapping(&self) -> Result<&'static Mapping, MappingError> {
        self.mapping.clone()
    }

    /// The current aggregate, in a consistent state, without locking it.
    ///
    /// # Errors
    /// [`Error::OtherSpelling`] if the column's collation treats the id as equal to another stored spelling;
    /// [`Error::Database`], also if a row does not fit the mapping.
    pub async fn get(&self, id: &A::Id) -> Result<Option<Loaded<A>>, Error> {
        let load = async {
            let stored = self.database.backend().load(self.mapping()?, &id_values(id)).await?;
            loaded(&LockKey::of::<A>(id), stored, LockMode::None)
        };
        traced("load", Some(&A::mapping().name), version_of, load).await
    }

    /// Loads the aggregate inside a transaction, with this lock mode. The root is locked before a child is read. For several, see
    /// [`find_many`](Self::find_many).
    ///
    /// # Errors
    /// [`Error::OtherSpelling`], as [`get`](Self::get); [`Error::Database`]; with a pessimistic mode
    /// [`DatabaseError::LockTimeout`] among them.
    pub async fn find(&self, tx: &mut Transaction, id: &A::Id, mode: LockMode) -> Result<Option<Loaded<A>>, Error> {
        let key = LockKey::of::<A>(id);
        let load = async {
            let stored = tx.load(&key, self.mapping()?, &id_values(id), mode).await?;
            loaded(&key, stored, mode)
        };
        traced("load", Some(key.kind()), version_of, load).await
    }

    /// Requires that an aggregate still has the version that a person saw, and that it stays so to the end of the transaction, without
    /// changing it: for a change of one aggregate that depends on another.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::VersionConflict`] if it has changed; [`Error::VersionTokenMismatch`];
    /// [`Error::Database`]. It waits for a concurrent change.
    pub async fn assert_unchanged(
        &self,
        tx: &mut Transaction,
        id: &A::Id,
        expected: impl Into<Expected<A>>,
    ) -> Result<(), Error> {
        let (mapping, key, expected) = (self.mapping()?, LockKey::of::<A>(id), expected.into());
        check_token(&key, &expected)?;
        let values = id_values(id);
        match tx.database.run(async |tx| load::version(tx, mapping, &values, RowLock::Share).await).await? {
            Some(version) if version == expected.version => Ok(()),
            None => Err(not_found(&key)),
            Some(_) => {
                let now = tx.load(&key, mapping, &id_values(id), LockMode::None).await?;
                let opened = tx.opened_at(mapping, &key, expected.version).await?;
                let conflict = tx.explain(mapping, &key, opened, now, None).await?;
                Err(Error::VersionConflict(Box::new(conflict)))
            }
        }
    }

    /// Inserts a new aggregate. Its version is 1; if one was deleted under the same id, it is the next one after that, so that no token of
    /// the old aggregate fits the new one. (Deletion by the application's own statement leaves no record.)
    ///
    /// If the database generates the id (`#[aggregate(id, generated)]`), an aggregate with the id 0 gets the next one, and the result
    /// contains it. Another id is inserted unchanged.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] if the id exists already; the transaction continues. [`Error::Database`].
    pub async fn insert(&self, tx: &mut Transaction, aggregate: A) -> Result<Loaded<A>, Error> {
        let version = |inserted: &Loaded<A>| Some(inserted.version);
        let insert = async {
            let (mapping, mut rows, key) = (self.mapping()?, aggregate.to_rows(), LockKey::of::<A>(aggregate.id()));
            tx.author.check()?;
            save::check(mapping, &rows)?;
            let inserted = if mapping.generated && rows.root[0] == Value::Integer(0) {
                let key_of = |rows: &Rows| A::from_rows(rows).map(|aggregate| LockKey::of::<A>(aggregate.id()));
                Some(tx.insert_generated(mapping, &mut rows, key_of).await?)
            } else {
                tx.insert(mapping, &key, &rows).await?
            };
            let Some(version) = inserted else {
                return Err(Error::AlreadyExists { aggregate: mapping.name.clone(), id: key.id().to_owned() });
            };
            Ok(Loaded::new(Arc::new(rows), version)?)
        };
        traced("insert", Some(&A::mapping().name), version, insert).await
    }

    /// Writes the changes since it was loaded, root first, and raises the version by exactly one, even if the transaction saves it several
    /// times. If nothing changed, and nothing forces an increment, it writes nothing and the version stays.
    ///
    /// If only [unversioned](crate::aggregate::mapping::Column::unversioned) columns changed, it writes them whatever the version is now, and
    /// the version stays: the last write wins.
    ///
    /// # Errors
    /// [`Error::OptimisticLockingFailure`] if another session saved it since it was loaded: nothing was written and the
    /// transaction continues. [`Error::NotFound`] if only unversioned columns changed, and it was deleted. [`Error::Database`]: the
    /// transaction cannot be committed any more.
    pub async fn save(&self, tx: &mut Transaction, loaded: &mut Loaded<A>) -> Result<Version, Error> {
        let version = |saved: &Version| Some(*saved);
        let save = async {
            let (mapping, rows) = (self.mapping()?, loaded.to_rows());
            tx.author.check()?;
            save::check(mapping, &rows)?;
            if !same_id(mapping, &loaded.opened, &rows) {
                let what = "the id of a loaded aggregate was changed; insert a new aggregate instead";
                return Err(MappingError::new(&mapping.root.name, &mapping.root.columns[0].name, what).into());
            }
            let diff = Diff::between(mapping, &loaded.opened, &rows);
            if !loaded.force_increment && diff.is_empty() {
                return Ok(loaded.version);
            }
            let (key, from) = (LockKey::of::<A>(loaded.id()), loaded.version);
            if !loaded.force_increment && !diff.raises_version(mapping) {
                if !tx.write_unversioned(mapping, &key, from, &rows, &diff).await? {
                    return Err(not_found(&key));
                }
                loaded.opened = Arc::new(rows);
                return Ok(from);
            }
            let to = tx.version_after(mapping, &key, from)?;
            match tx.write(mapping, &key, (from, to), &diff, (&loaded.opened, &rows)).await? {
                Saved::Done => {
                    loaded.saved(to, Arc::new(rows));
                    Ok(to)
                }
                Saved::Stale(now) => {
                    let opened = Opened { version: from, rows: Some(Arc::clone(&loaded.opened)) };
                    let conflict = tx.explain(mapping, &key, opened, now, Some(&rows)).await?;
                    Err(Error::OptimisticLockingFailure(Box::new(conflict)))
                }
            }
        };
        traced("save", Some(&A::mapping().name), version, save).await
    }

    /// Saves several, each as [`save`](Self::save) does, with one result each: an aggregate that lost a race is not written and does not
    /// affect the others, and the transaction can be committed with those that were written. They are written in the order of their ids, so
    /// that two transactions with overlapping sets cannot deadlock; the results are in the order of `all`.
    ///
    /// After an error of the database the transaction cannot be committed any more, and all further results contain that error. After a
    /// deadlock [`Database::retry`](crate::Database::retry) runs the whole unit of work again.
    ///
    /// ```
    /// # use tenure::{Aggregate, Database, LockMode, Repository, error::Error};
    /// # #[derive(Aggregate)] #[aggregate(table = "product")]
    /// # struct Product { #[aggregate(id)] id: String, price: u32 }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let products = Repository::<Product>::new(&db);
    /// # let mut tx = db.begin().await?;
    /// # sqlx::raw_sql("create table product (id text primary key, price integer, version integer)").execute(tx.sqlite()?).await?;
    /// # for id in ["bag", "lens"] { products.insert(&mut tx, Product { id: id.into(), price: 10 }).await?; }
    /// # tx.commit().await?;
    /// let mut all = [products.get(&"lens".into()).await?.ok_or("no lens")?, products.get(&"bag".into()).await?.ok_or("no bag")?];
    /// # let dearer = products.update(&"lens".into()).run(|lens| { lens.price = 99; Ok::<_, std::convert::Infallible>(()) });
    /// # dearer.await?;                                        // another session saves the lens
    /// let mut tx = db.begin().await?;
    /// for product in &mut all { product.price += 1; }
    /// let results = products.save_all(&mut tx, &mut all).await;
    /// tx.commit().await?;                                    // saves those that lost no race
    ///
    /// assert!(matches!(results[0], Err(Error::OptimisticLockingFailure(_))), "another session has saved the lens");
    /// assert_eq!(results[1].as_ref().map(|version| version.number()).ok(), Some(2));
    /// assert_eq!(products.get(&"bag".into()).await?.ok_or("no bag")?.price, 11);
    /// # Ok(()) }
    /// ```
    pub async fn save_all(&self, tx: &mut Transaction, all: &mut [Loaded<A>]) -> Vec<Result<Version, Error>> {
        let mut order: Vec<(LockKey, usize)> =
            all.iter().enumerate().map(|(at, loaded)| (LockKey::of::<A>(loaded.id()), at)).collect();
        order.sort();
        let mut results = Vec::with_capacity(all.len());
        for (_, at) in order {
            results.push((at, self.save(tx, &mut all[at]).await));
        }
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// Deletes the aggregate, if the stored version is still the loaded one.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    pub async fn delete(&self, tx: &mut Transaction, loaded: Loaded<A>) -> Result<(), Error> {
        self.remove(tx, loaded).await.map(drop)
    }

    /// Deletes it, and returns its last state.
    pub(super) async fn remove(&self, tx: &mut Transaction, loaded: Loaded<A>) -> Result<Loaded<A>, Error> {
        let version = |deleted: &Loaded<A>| Some(deleted.version);
        let remove = async {
            let (mapping, key, old) = (self.mapping()?, LockKey::of::<A>(loaded.id()), loaded.stored());
            tx.author.check()?;
            match tx.delete(mapping, &key, &old).await? {
                Saved::Done => Ok(loaded),
                Saved::Stale(now) => {
                    let opened = Opened { version: old.version, rows: Some(old.rows) };
                    let conflict = tx.explain(mapping, &key, opened, now, None).await?;
                    Err(Error::OptimisticLockingFailure(Box::new(conflict)))
                }
            }
        };
        traced("delete", Some(&A::mapping().name), version, remove).await
    }

    /// One unit of work on one aggregate: load it, run a command of the domain on it, save it.
    pub fn update(&self, id: &A::Id) -> Update<'_, A> {
        Update::new(self, id.clone())
    }

    /// The changes of the aggregate and their authors, newest first, as far as its mapping keeps revisions; with audit columns alone, the
    /// latest change.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn changes(&self, id: &A::Id, limit: u32) -> Result<Vec<Change>, DatabaseError> {
        self.database.backend().changes(self.mapping()?, &LockKey::of::<A>(id), &id_values(id), limit).await
    }
}

/// The loaded version, for a span.
fn version_of<A>(found: &Option<Loaded<A>>) -> Option<Version> {
    found.as_ref().map(|loaded| loaded.version)
}

/// Refuses the version token of another aggregate.
pub(crate) fn check_token<A>(key: &LockKey, expected: &Expected<A>) -> Result<(), Error> {
    match expected.fits(key) {
        true => Ok(()),
        false => Err(Error::VersionTokenMismatch { aggregate: key.kind().to_owned(), id: key.id().to_owned() }),
    }
}

pub(crate) fn not_found(key: &LockKey) -> Error {
    Error::NotFound { aggregate: key.kind().to_owned(), id: key.id().to_owned() }
}

/// The aggregate, if its id is spelled as in the key: versions and locks are stored by key, so one row must have one spelling.
pub(crate) fn loaded<A: Aggregate>(
    key: &LockKey,
    stored: Option<Stored>,
    mode: LockMode,
) -> Result<Option<Loaded<A>>, Error> {
    let Some(stored) = stored else { return Ok(None) };
    let mut loaded: Loaded<A> = Loaded::new(stored.rows, stored.version)?;
    let own = LockKey::of::<A>(loaded.id());
    if own != *key {
        let [id, stored] = [key, &own].map(|key| key.id().to_owned());
        return Err(Error::OtherSpelling { aggregate: key.kind().to_owned(), id, stored });
    }
    loaded.force_increment = mode.forces_increment();
    Ok(Some(loaded))
}

impl<A> Clone for Repository<A> {
    fn clone(&self) -> Self {
        Repository { database: self.database.clone(), mapping: self.mapping.clone(), aggregate: PhantomData }
    }
}

impl<A> fmt::Debug for Repository<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Repository").field(&std::any::type_name::<A>()).finish()
    }
}
