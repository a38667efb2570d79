//! Aggregates in and out of the database.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::aggregate::diff::{Diff, same_id};
use crate::aggregate::mapping::MappingError;
use crate::aggregate::version::Version;
use crate::aggregate::{Aggregate, Loaded, Stored, id_values};
use crate::error::{DatabaseError, Error};
use crate::lease::LockKey;
use crate::row_lock::mode::LockMode;
use crate::storage::Saved;
use crate::unit_of_work::bulk_update::UpdateAll;
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
    aggregate: PhantomData<fn() -> A>,
}

impl<A: Aggregate> Repository<A> {
    /// The aggregates of type `A` in this database.
    pub fn new(database: &Database) -> Self {
        Repository { database: database.clone(), aggregate: PhantomData }
    }

    /// The aggregate as it is now, at one moment, without locking it.
    ///
    /// # Errors
    /// [`Error::OtherSpelling`] when the column's collation takes the id for one that is stored otherwise;
    /// [`Error::Database`], also when a row does not fit the mapping.
    pub async fn get(&self, id: &A::Id) -> Result<Option<Loaded<A>>, Error> {
        let stored = self.database.backend().load(A::mapping(), &id_values(id)).await?;
        loaded(&LockKey::of::<A>(id), stored, LockMode::None)
    }

    /// Loads the aggregate inside a transaction, locked as the mode says. The root is locked before a child is read.
    ///
    /// # Errors
    /// [`Error::OtherSpelling`], as [`get`](Self::get); [`Error::Database`]; with a pessimistic mode
    /// [`DatabaseError::LockTimeout`] among them.
    pub async fn find(&self, tx: &mut Transaction, id: &A::Id, mode: LockMode) -> Result<Option<Loaded<A>>, Error> {
        let key = LockKey::of::<A>(id);
        let stored = tx.load(&key, A::mapping(), &id_values(id), mode).await?;
        loaded(&key, stored, mode)
    }

    /// Makes sure that an aggregate is still at the version that somebody saw, and stays so to the end of the transaction,
    /// without changing it: when the change of one aggregate relies upon another.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::VersionConflict`] when it has changed; [`Error::VersionTokenMismatch`];
    /// [`Error::Database`]. Whoever is changing it is waited for.
    pub async fn assert_unchanged(
        &self,
        tx: &mut Transaction,
        id: &A::Id,
        expected: impl Into<Expected<A>>,
    ) -> Result<(), Error> {
        let (mapping, key, expected) = (A::mapping(), LockKey::of::<A>(id), expected.into());
        check_token(&key, &expected)?;
        tx.record_order(&key);
        let values = id_values(id);
        match tx.database.run(async |tx| tx.hold_version(mapping, &values).await).await? {
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

    /// Refuses unless what was loaded is the version that somebody saw: in a unit of work of your own, what
    /// [`Update::expecting`] does.
    ///
    /// # Errors
    /// [`Error::VersionConflict`] when it has changed since; [`Error::VersionTokenMismatch`].
    pub async fn expect_version(
        &self,
        tx: &mut Transaction,
        loaded: &Loaded<A>,
        expected: impl Into<Expected<A>>,
    ) -> Result<(), Error> {
        let (mapping, key, expected) = (A::mapping(), LockKey::of::<A>(loaded.id()), expected.into());
        check_token(&key, &expected)?;
        if loaded.matches_version(expected.version) {
            return Ok(());
        }
        let opened = tx.opened_at(mapping, &key, expected.version).await?;
        let conflict = tx.explain(mapping, &key, opened, Some(loaded.stored()), None).await?;
        Err(Error::VersionConflict(Box::new(conflict)))
    }

    /// Loads and locks the aggregate if nobody else holds it, without waiting: how workers share out what is to do. The
    /// transaction goes on when somebody does.
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] where a lock is on the whole database, see
    /// [`Capabilities::skip_locked`](crate::storage::Capabilities::skip_locked).
    pub async fn find_unlocked(
        &self,
        tx: &mut Transaction,
        id: &A::Id,
        mode: LockMode,
    ) -> Result<SkipLocked<A>, Error> {
        let (mapping, key) = (A::mapping(), LockKey::of::<A>(id));
        tx.record_order(&key);
        let values = id_values(id);
        let stored = tx.database.run(async |tx| tx.load_unlocked(mapping, &values, mode).await).await?;
        let Ok(stored) = stored else { return Ok(SkipLocked::HeldByOther) };
        if let Some(stored) = &stored {
            tx.loaded(&key, mapping, stored, mode);
        }
        Ok(loaded(&key, stored, mode)?.map_or(SkipLocked::NotFound, |loaded| SkipLocked::Acquired(Box::new(loaded))))
    }

    /// Inserts a new aggregate. Its version is 1; where one was deleted under the same id, it is the next one after that, so
    /// that no version that was seen of the old one fits the new one. (A row that was deleted by a statement of the
    /// application's own leaves no such trace.)
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] when there is one with this id; the transaction goes on. [`Error::Database`].
    pub async fn insert(&self, tx: &mut Transaction, aggregate: A) -> Result<Loaded<A>, Error> {
        let (mapping, rows, key) = (A::mapping(), aggregate.to_rows(), LockKey::of::<A>(aggregate.id()));
        tx.author.check()?;
        rows.check(mapping)?;
        let Some(version) = tx.insert(mapping, &key, &rows).await? else {
            return Err(Error::AlreadyExists { aggregate: mapping.name.clone(), id: key.id().to_owned() });
        };
        Ok(Loaded::new(Arc::new(rows), version)?)
    }

    /// Writes what changed since it was loaded, root first, and raises the version by exactly one, however often the
    /// transaction saves it. When nothing changed, and nothing forces an increment, it writes nothing and the version
    /// stays.
    ///
    /// # Errors
    /// [`Error::OptimisticLockingFailure`] when somebody else saved it since it was loaded: nothing was written and the
    /// transaction goes on. [`Error::Database`]: the transaction cannot be committed any more.
    pub async fn save(&self, tx: &mut Transaction, loaded: &mut Loaded<A>) -> Result<Version, Error> {
        let (mapping, rows) = (A::mapping(), loaded.to_rows());
        tx.author.check()?;
        rows.check(mapping)?;
        if !same_id(mapping, &loaded.opened, &rows) {
            let what = "the id of a loaded aggregate was changed; insert a new aggregate instead";
            return Err(MappingError::new(&mapping.root.name, &mapping.root.columns[0].name, what).into());
        }
        let diff = Diff::between(mapping, &loaded.opened, &rows);
        if !loaded.force_increment && diff.is_empty() {
            return Ok(loaded.version);
        }
        let (key, from) = (LockKey::of::<A>(loaded.id()), loaded.version);
        let to = tx.version_after(mapping, &key, from)?;
        match tx.write(mapping, &key, from, &diff, &rows).await? {
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
    }

    /// Saves several, each as [`save`](Self::save) does, and says of each what became of it: one that lost a race is not
    /// written and does not disturb the others, and the transaction can be committed with those that were. They are
    /// written in the order of their ids, so two transactions that save overlapping sets never wait in a circle; the
    /// results are in the order of `all`.
    ///
    /// After an error of the database nothing of the transaction can be committed any more, and every result that comes
    /// after it says so. Where this is the first that is done in its transaction, and has to give way to others that wait for it,
    /// all of it is done again, within the transaction's budget.
    pub async fn save_all(&self, tx: &mut Transaction, all: &mut [Loaded<A>]) -> Vec<Result<Version, Error>> {
        let mut order: Vec<(LockKey, usize)> =
            all.iter().enumerate().map(|(at, loaded)| (LockKey::of::<A>(loaded.id()), at)).collect();
        order.sort();
        let (fresh, mut attempts) = (tx.is_fresh(), 0);
        let before: Vec<_> =
            all.iter().map(|loaded| (loaded.version, Arc::clone(&loaded.opened), loaded.force_increment)).collect();
        loop {
            attempts += 1;
            let (mut results, mut failed) = (Vec::with_capacity(all.len()), None);
            for (_, at) in &order {
                let saved = self.save(tx, &mut all[*at]).await;
                failed = failed.or_else(|| saved.as_ref().err().and_then(Error::database_reason));
                results.push((*at, saved));
            }
            if fresh && failed.is_some() && matches!(tx.begins_again(failed, attempts).await, Ok(true)) {
                // Nothing of it was saved.
                for (loaded, (version, opened, force_increment)) in all.iter_mut().zip(&before) {
                    (loaded.version, loaded.opened) = (*version, Arc::clone(opened));
                    loaded.force_increment = *force_increment;
                }
                continue;
            }
            results.sort_by_key(|(at, _)| *at);
            return results.into_iter().map(|(_, result)| result).collect();
        }
    }

    /// Deletes the aggregate, if it is still the version that was loaded.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    pub async fn delete(&self, tx: &mut Transaction, loaded: Loaded<A>) -> Result<(), Error> {
        let (mapping, key, old) = (A::mapping(), LockKey::of::<A>(loaded.id()), loaded.stored());
        tx.author.check()?;
        match tx.delete(mapping, &key, &old).await? {
            Saved::Done => Ok(()),
            Saved::Stale(now) => {
                let opened = Opened { version: old.version, rows: Some(old.rows) };
                let conflict = tx.explain(mapping, &key, opened, now, None).await?;
                Err(Error::OptimisticLockingFailure(Box::new(conflict)))
            }
        }
    }

    /// One unit of work on one aggregate: load it, run a command of the domain on it, save it.
    pub fn update(&self, id: &A::Id) -> Update<'_, A> {
        Update::new(self, id.clone())
    }

    /// Changes a field of every aggregate that meets a condition, and raises the version of each.
    pub fn update_all<'t>(&self, tx: &'t mut Transaction) -> UpdateAll<'_, 't, A> {
        UpdateAll::new(self, tx)
    }

    /// Who changed the aggregate, newest first, as far as its mapping keeps revisions; with audit columns alone, the
    /// latest change.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn changes(&self, id: &A::Id, limit: u32) -> Result<Vec<Change>, DatabaseError> {
        self.database.backend().changes(A::mapping(), &LockKey::of::<A>(id), &id_values(id), limit).await
    }
}

/// Refuses the version of another aggregate.
pub(crate) fn check_token<A>(key: &LockKey, expected: &Expected<A>) -> Result<(), Error> {
    match expected.fits(key) {
        true => Ok(()),
        false => Err(Error::VersionTokenMismatch { aggregate: key.kind().to_owned(), id: key.id().to_owned() }),
    }
}

pub(crate) fn not_found(key: &LockKey) -> Error {
    Error::NotFound { aggregate: key.kind().to_owned(), id: key.id().to_owned() }
}

/// What [`Repository::find_unlocked`] found.
#[derive(Debug)]
#[non_exhaustive]
pub enum SkipLocked<A> {
    /// The aggregate: locked, and yours to the end of the transaction.
    Acquired(Box<Loaded<A>>),
    /// There is no such aggregate.
    NotFound,
    /// Somebody else holds it.
    HeldByOther,
}

/// The aggregate, if it is the one of that key: versions and locks go by the key, so one row has one.
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
        Repository { database: self.database.clone(), aggregate: PhantomData }
    }
}

impl<A> fmt::Debug for Repository<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Repository").field(&std::any::type_name::<A>()).finish()
    }
}
