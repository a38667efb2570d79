//! Aggregates in and out of the database.

use std::fmt;
use std::marker::PhantomData;

use crate::aggregate::{Aggregate, Loaded, id_values};
use crate::backend::{RowLocked, Saved, Stored};
use crate::conflict::{Change, VersionConflict, compare};
use crate::database::Database;
use crate::diff::{Diff, same_id};
use crate::error::{DatabaseError, Error};
use crate::lease::LockKey;
use crate::lock_mode::LockMode;
use crate::mapping::{MappingError, Rows};
use crate::transaction::Transaction;
use crate::update::Update;
use crate::version::Version;

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
    /// [`Error::Database`], also when a row does not fit the mapping.
    pub async fn get(&self, id: &A::Id) -> Result<Option<Loaded<A>>, Error> {
        let stored = self.database.backend().load(A::mapping(), &id_values(id)).await?;
        loaded(stored, LockMode::None)
    }

    /// Loads the aggregate inside a transaction, locked as the mode says. The root is locked before a child is read.
    ///
    /// # Errors
    /// [`Error::Database`]; with a pessimistic mode [`DatabaseError::LockTimeout`] among them.
    pub async fn find(&self, tx: &mut Transaction, id: &A::Id, mode: LockMode) -> Result<Option<Loaded<A>>, Error> {
        let stored = tx.load(&LockKey::of::<A>(id), A::mapping(), &id_values(id), mode).await?;
        loaded(stored, mode)
    }

    /// Loads and locks the aggregate if nobody else holds it, without waiting: how workers share out what is to do. The
    /// transaction goes on when somebody does.
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] where a lock is on the whole database, see
    /// [`Capabilities::skip_locked`](crate::Capabilities::skip_locked).
    pub async fn find_unlocked(&self, tx: &mut Transaction, id: &A::Id, mode: LockMode) -> Result<Unlocked<A>, Error> {
        tx.record_order(&LockKey::of::<A>(id));
        let stored = tx.usable()?.load_unlocked(A::mapping(), &id_values(id), mode).await;
        match tx.note(stored)? {
            Err(RowLocked) => Ok(Unlocked::Locked),
            Ok(stored) => {
                Ok(loaded(stored, mode)?.map_or(Unlocked::NotFound, |loaded| Unlocked::Found(Box::new(loaded))))
            }
        }
    }

    /// Inserts a new aggregate as version 1.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] when there is one with this id; the transaction goes on. [`Error::Database`].
    pub async fn insert(&self, tx: &mut Transaction, aggregate: A) -> Result<Loaded<A>, Error> {
        let (mapping, rows, key) = (A::mapping(), aggregate.to_rows(), LockKey::of::<A>(aggregate.id()));
        rows.check(mapping)?;
        let author = tx.author.clone();
        let inserted = tx.usable()?.insert(mapping, &key, &rows, &author).await;
        if !tx.note(inserted)? {
            return Err(Error::AlreadyExists { aggregate: mapping.name.clone(), id: key.id().to_owned() });
        }
        Ok(Loaded::new(rows, Version::FIRST)?)
    }

    /// Writes what changed since it was loaded, root first, and raises the version by exactly one. When nothing
    /// changed, and nothing forces an increment, it writes nothing and the version stays.
    ///
    /// # Errors
    /// [`Error::OptimisticLockingFailure`] when somebody else saved it since it was loaded: nothing was written and the
    /// transaction goes on. [`Error::Database`]: the transaction cannot be committed any more.
    pub async fn save(&self, tx: &mut Transaction, loaded: &mut Loaded<A>) -> Result<Version, Error> {
        let (mapping, rows) = (A::mapping(), loaded.to_rows());
        rows.check(mapping)?;
        if !same_id(mapping, &loaded.opened, &rows) {
            let what = "the id of a loaded aggregate was changed; insert a new aggregate instead";
            return Err(MappingError::new(&mapping.root.name, &mapping.root.columns[0].name, what).into());
        }
        let diff = Diff::between(mapping, &loaded.opened, &rows);
        if !loaded.force_increment && diff.is_empty() {
            return Ok(loaded.version);
        }
        let (key, from, author) = (LockKey::of::<A>(loaded.id()), loaded.version, tx.author.clone());
        let saved = tx.usable()?.save(mapping, &key, from, &diff, &rows, &author).await;
        match tx.note(saved)? {
            Saved::Done => {
                loaded.saved(from.next(), rows);
                Ok(loaded.version)
            }
            Saved::Stale(now) => {
                let conflict = self.conflict(tx, &key, &loaded.stored(), now, Some(&rows)).await?;
                Err(Error::OptimisticLockingFailure(Box::new(conflict)))
            }
        }
    }

    /// Deletes the aggregate, if it is still the version that was loaded.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    pub async fn delete(&self, tx: &mut Transaction, loaded: Loaded<A>) -> Result<(), Error> {
        let key = LockKey::of::<A>(loaded.id());
        let old = loaded.stored();
        let deleted = tx.usable()?.delete(A::mapping(), &key, &old).await;
        match tx.note(deleted)? {
            Saved::Done => Ok(()),
            Saved::Stale(now) => {
                let conflict = self.conflict(tx, &key, &old, now, None).await?;
                Err(Error::OptimisticLockingFailure(Box::new(conflict)))
            }
        }
    }

    /// One unit of work on one aggregate: load it, run a command of the domain on it, save it.
    pub fn update(&self, id: &A::Id) -> Update<'_, A> {
        Update::new(self, id.clone())
    }

    /// Who changed the aggregate, newest first, as far as its mapping keeps revisions.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn changes(&self, id: &A::Id, limit: u32) -> Result<Vec<Change>, DatabaseError> {
        self.database.backend().changes(&LockKey::of::<A>(id), limit).await
    }

    /// What differs between the state the change was made on, the state now, and the state after the change.
    pub(crate) async fn conflict(
        &self,
        tx: &mut Transaction,
        key: &LockKey,
        opened: &Stored,
        now: Option<Stored>,
        mine: Option<&Rows>,
    ) -> Result<VersionConflict, DatabaseError> {
        let opened = Opened { version: opened.version, rows: Some(opened.rows.clone()) };
        let revisions = tx.usable()?.revisions(A::mapping(), key, opened.version).await;
        let (_, changed) = tx.note(revisions)?;
        Ok(describe::<A>(key, &opened, now, mine, changed))
    }
}

/// The state a change was made on; its rows are only known where revisions are kept.
pub(crate) struct Opened {
    pub(crate) version: Version,
    pub(crate) rows: Option<Rows>,
}

pub(crate) fn describe<A: Aggregate>(
    key: &LockKey,
    opened: &Opened,
    now: Option<Stored>,
    mine: Option<&Rows>,
    changed: Option<Change>,
) -> VersionConflict {
    VersionConflict {
        aggregate: key.kind().to_owned(),
        id: key.id().to_owned(),
        expected: opened.version,
        actual: now.as_ref().map(|now| now.version),
        changed,
        fields: compare(A::mapping(), opened.rows.as_ref(), now.as_ref().map(|now| &now.rows), mine),
        opened_known: opened.rows.is_some(),
        mine_known: mine.is_some(),
    }
}

/// What [`Repository::find_unlocked`] found.
#[derive(Debug)]
pub enum Unlocked<A> {
    /// The aggregate: locked, and yours to the end of the transaction.
    Found(Box<Loaded<A>>),
    /// There is no such aggregate.
    NotFound,
    /// Somebody else holds it.
    Locked,
}

fn loaded<A: Aggregate>(stored: Option<Stored>, mode: LockMode) -> Result<Option<Loaded<A>>, Error> {
    let Some(stored) = stored else { return Ok(None) };
    let mut loaded = Loaded::new(stored.rows, stored.version)?;
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
