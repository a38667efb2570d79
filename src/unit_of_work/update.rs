//! One unit of work on one aggregate: begin, check the lock, load, check the version, run the command, save, commit.

use std::fmt;
use std::time::Duration;

use crate::aggregate::mapping::Rows;
use crate::aggregate::version::Version;
use crate::aggregate::{Aggregate, Loaded};
use crate::error::{Error, UpdateError};
use crate::lease::{LockId, LockKey, Owner};
use crate::row_lock::{LockMode, Wait};
use crate::store::Authorship;
use crate::unit_of_work::repeatable::RepeatableUpdate;
use crate::unit_of_work::repository::{Repository, check_token, not_found};
use crate::unit_of_work::retry::Retry;
use crate::unit_of_work::steps::{self, Also, Lent, NoSteps, Steps};
use crate::unit_of_work::transaction::Transaction;
use crate::version::merge::Merge;
use crate::version::token::Expected;

/// The builder of an update; [`run`](Update::run) executes it.
///
/// Everything happens in one transaction, in this order: the offline lock is checked, the aggregate is loaded, its version is compared with
/// the one that the person saw, the command runs, the result is saved, the offline lock is released if that was requested, and the
/// transaction is committed. A refusal at any step changes nothing.
#[must_use = "an update does nothing until `run`"]
pub struct Update<'a, A: Aggregate, S = NoSteps> {
    pub(super) repository: &'a Repository<A>,
    id: A::Id,
    expecting: Option<Expected<A>>,
    mode: LockMode,
    wait: Wait,
    lock: Lock,
    author: Authorship,
    /// The steps of the application in the saving transaction.
    steps: S,
}

/// The relation of the update to offline locks.
#[derive(Debug)]
enum Lock {
    Ignored,
    /// Refuse if it is held, except by the lease of this generation.
    RefusedIfHeld {
        but: Option<i64>,
    },
    Held {
        id: LockId,
        release: bool,
    },
    /// A form's lock: held if its lease is alive, otherwise refuse if another owner holds it.
    OfForm {
        id: LockId,
    },
}

impl<'a, A: Aggregate> Update<'a, A> {
    pub(crate) fn new(repository: &'a Repository<A>, id: A::Id) -> Self {
        Update {
            repository,
            id,
            expecting: None,
            mode: LockMode::default(),
            wait: Wait::default(),
            lock: Lock::Ignored,
            author: Authorship::default(),
            steps: NoSteps,
        }
    }
}

impl<'a, A: Aggregate, S> Update<'a, A, S> {
    /// Refuses with [`Error::VersionConflict`] unless the aggregate is still this version: the one the person saw, as a
    /// [`VersionToken`](crate::VersionToken) or a bare [`Version`](crate::Version). A token of another aggregate is refused
    /// with [`Error::VersionTokenMismatch`].
    pub fn expecting(mut self, seen: impl Into<Expected<A>>) -> Self {
        self.expecting = Some(seen.into());
        self
    }

    /// The lock mode of the row while the command runs. The default is [`LockMode::Optimistic`]. An update without [steps](Self::also) that
    /// changes nothing, or only unversioned columns, has nothing to check at its commit.
    pub fn locking(mut self, mode: LockMode) -> Self {
        self.mode = mode;
        self
    }

    /// Waits for others at most this long in total, to the millisecond. The default is 5 seconds.
    pub fn within(mut self, budget: Duration) -> Self {
        self.wait = Wait::Within(budget);
        self
    }

    /// Fails at once if another transaction blocks it.
    pub fn no_wait(mut self) -> Self {
        self.wait = Wait::No;
        self
    }

    /// Refuses with [`Error::NoLock`] unless this lock id holds the aggregate's offline lock. The lock is held to the end
    /// of the transaction: its expiry during the save is harmless.
    pub fn holding(mut self, id: &LockId) -> Self {
        self.lock = Lock::Held { id: id.clone(), release: false };
        self
    }

    /// As [`holding`](Self::holding), and the commit releases the offline lock: both the save and the release happen, or neither.
    pub fn releasing(mut self, id: &LockId) -> Self {
        self.lock = Lock::Held { id: id.clone(), release: true };
        self
    }

    /// Saves the values of a form: takes the version that the person saw, and the lock id of the form, if it has one.
    ///
    /// | the lease of that lock id | the save |
    /// |---|---|
    /// | is alive | runs under it, and releases it with the commit |
    /// | expired or reached a limit, or was released, or there never was one | checks the version, and refuses if another owner holds the
    /// lock |
    /// | was broken or taken over; or is another person's or another aggregate's | is refused with [`Error::NoLock`] and the reason |
    ///
    /// It decides in the saving transaction, so a lease that the form acquires at the same moment counts. For a form that must not be saved
    /// without its lease, use [`expecting`](Self::expecting) and [`releasing`](Self::releasing) instead.
    ///
    /// ```
    /// # use tenure::{Aggregate, Database, LockKey, LockManager, Owner, Repository, VersionToken, LockId};
    /// # #[derive(Aggregate)] #[aggregate(table = "orders", revisions = 9)]
    /// # struct Order { #[aggregate(id)] no: String, note: String }
    /// # struct Form { version: VersionToken<Order>, lock: Option<LockId>, note: String }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let (orders, kim, no) = (Repository::<Order>::new(&db), Owner::new("kim", "Kim"), String::from("1"));
    /// # let mut tx = db.begin().await?;
    /// # sqlx::raw_sql("create table orders (no text primary key, note text, version integer)").execute(tx.sqlite()?).await?;
    /// # let order = orders.insert(&mut tx, Order { no: "1".into(), note: String::new() }).await?;
    /// # tx.commit().await?;
    /// # let lease = LockManager::new(&db).try_lock(&LockKey::of::<Order>(&no), &kim).await?;
    /// # let form = Form { version: order.token(), lock: Some(lease.id().clone()), note: "ring twice".into() };
    /// let update = orders.update(&no).by(&kim).from_form(form.version, form.lock.as_ref());
    /// let saved = update.run(|order| { order.note = form.note; Ok::<_, std::convert::Infallible>(()) }).await;
    /// # assert_eq!(saved.expect("nobody else is here").version().number(), 2);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of the update: [`Error::NoLock`] with the reason that the form lost its lease, also if it expired and another owner holds the
    /// lock now; [`Error::AlreadyLocked`] for a form without a lease; [`Error::VersionConflict`].
    pub fn from_form(mut self, seen: impl Into<Expected<A>>, lease: Option<&LockId>) -> Self {
        self.lock = match lease {
            Some(id) => Lock::OfForm { id: id.clone() },
            None => Lock::RefusedIfHeld { but: None },
        };
        self.expecting(seen)
    }

    /// Refuses with [`Error::AlreadyLocked`] if the aggregate has an exclusive offline lock, even one of this owner.
    pub fn unless_locked(mut self) -> Self {
        self.lock = Lock::RefusedIfHeld { but: None };
        self
    }

    /// As [`unless_locked`](Self::unless_locked), except for the lease of this generation: the person has seen its holder, and continues
    /// anyway. The holder gets a version conflict at the save.
    pub fn unless_locked_except(mut self, generation: i64) -> Self {
        self.lock = Lock::RefusedIfHeld { but: Some(generation) };
        self
    }

    /// Sets the author of the change. Later conflicts contain it, and a lock id must belong to this owner. An invalid owner is refused with
    /// [`Error::InvalidOwner`].
    pub fn by(mut self, owner: &Owner) -> Self {
        self.author.by = Some(owner.clone());
        self
    }

    /// Sets the command of the change, in the terms of the domain: `start shipping`. If it is not one plain line, the update is refused
    /// with [`Error::InvalidCommand`].
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.author.command = Some(command.into());
        self
    }

    /// Adds a step to the saving transaction, after the aggregate was saved and before the commit: a row of an outbox or an
    /// audit table, a second aggregate. It gets the transaction, and the aggregate with its new version. Everything is committed
    /// together, or nothing is. Several steps run in the order in which they were added.
    ///
    /// If the update is retried or merged, the step runs again in the transaction of that attempt. It also runs if the command changed
    /// nothing. [`dry_run`](Self::dry_run) does not run it.
    ///
    /// `?` converts errors of the database, of tenure and of sqlx. A refusal by the application is [`UpdateError::Refused`], with the same
    /// type as a refusal by the command, and is returned as that.
    ///
    /// ```
    /// # use tenure::{Aggregate, Database, Repository, LockMode, error::UpdateError};
    /// # #[derive(Aggregate)] #[aggregate(table = "orders")]
    /// # struct Order { #[aggregate(id)] no: String, product: String, shipped: bool }
    /// # #[derive(Aggregate)] #[aggregate(table = "stock")]
    /// # struct Stock { #[aggregate(id)] product: String, left: i64 }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let (orders, stocks) = (Repository::<Order>::new(&db), Repository::<Stock>::new(&db));
    /// # let mut tx = db.begin().await?;
    /// # sqlx::raw_sql("create table orders (no text primary key, product text, shipped integer, version integer); create table outbox (no text, version integer); create table stock (product text primary key, left integer, version integer)").execute(tx.sqlite()?).await?;
    /// # for no in ["1", "2"] { orders.insert(&mut tx, Order { no: no.into(), product: "tea".into(), shipped: false }).await?; }
    /// # stocks.insert(&mut tx, Stock { product: "tea".into(), left: 1 }).await?;
    /// # tx.commit().await?;
    /// #[derive(Debug, PartialEq)]
    /// enum Refusal { AlreadyShipped, OutOfStock }
    ///
    /// let ship = |no: &str| {
    ///     let stocks = &stocks;
    ///     orders.update(&no.to_owned()).also(move |mut tx, order| async move {
    ///         let stock = stocks.find(&mut tx, &order.product, LockMode::PessimisticWrite).await?;
    ///         let mut stock = stock.filter(|stock| stock.left > 0).ok_or(UpdateError::Refused(Refusal::OutOfStock))?;
    ///         stock.left -= 1;
    ///         stocks.save(&mut tx, &mut stock).await?;
    ///         let event = sqlx::query("insert into outbox (no, version) values (?, ?)");
    ///         event.bind(&order.no).bind(order.version().number()).execute(tx.sqlite()?).await?;
    ///         Ok(())
    ///     }).run(|order| {
    ///         if order.shipped { return Err(Refusal::AlreadyShipped); }
    ///         order.shipped = true;
    ///         Ok(())
    ///     })
    /// };
    /// ship("1").await.expect("there is one left");
    /// assert!(matches!(ship("2").await, Err(UpdateError::Refused(Refusal::OutOfStock))));
    /// assert!(!orders.get(&"2".into()).await?.expect("it is there").shipped);
    /// # let rows: i64 = sqlx::query_scalar("select version from outbox").fetch_one(db.sqlite()?).await?;
    /// # assert_eq!(rows, 2);
    /// # Ok(()) }
    /// ```
    pub fn also<E, F>(
        self,
        step: impl Fn(Lent<Transaction>, Lent<Loaded<A>>) -> F + Send + Sync + 'a,
    ) -> Update<'a, A, Also<'a, A, E>>
    where
        S: Steps<'a, A, E>,
        F: Future<Output = Result<(), UpdateError<E>>> + Send + 'a,
    {
        let Update { repository, id, expecting, mode, wait, lock, author, steps } = self;
        let mut steps = steps.into_list();
        steps.push(Box::new(move |tx, saved| Box::pin(step(tx, saved))));
        Update { repository, id, expecting, mode, wait, lock, author, steps: Also(steps) }
    }

    /// Allows retries of the update: see [`RepeatableUpdate::retrying`].
    pub fn retrying(self, retry: Retry) -> RepeatableUpdate<'a, A, S> {
        RepeatableUpdate::new(self).retrying(retry)
    }

    /// Allows the update to merge with changes of others: see [`RepeatableUpdate::merging`].
    pub fn merging(self, merge: Merge) -> RepeatableUpdate<'a, A, S> {
        RepeatableUpdate::new(self).merging(merge)
    }

    /// Executes it. The command is synchronous, because the domain does no I/O.
    ///
    /// If the version is stale, the command does not run on the aggregate. If the opened state is still stored, it runs on a copy of that,
    /// so that the conflict can show its changes; so a command must have no other effects than changing its aggregate.
    ///
    /// # Errors
    /// [`UpdateError::Refused`] with the domain's error, unchanged; [`UpdateError::Failed`] with [`Error::NotFound`],
    /// [`Error::VersionConflict`], [`Error::VersionTokenMismatch`], [`Error::AlreadyLocked`], [`Error::NoLock`],
    /// [`Error::OptimisticLockingFailure`], [`Error::InvalidOwner`], [`Error::InvalidCommand`], [`Error::InvalidKey`] if a lock is
    /// required or respected, or [`Error::Database`].
    ///
    /// # Cancel safety
    /// Dropping the future rolls back; only if it is dropped during the commit itself, the change may have been saved.
    pub async fn run<E>(self, command: impl FnOnce(&mut A) -> Result<(), E>) -> Result<Loaded<A>, UpdateError<E>>
    where
        S: Steps<'a, A, E>,
    {
        let key = self.key();
        let (mut tx, mut loaded) = self.load(&key).await?;
        if let Some(seen) = self.outdated(&loaded) {
            return Err(refuse(&mut tx, &key, seen, &loaded, command).await?.into());
        }
        command(&mut loaded).map_err(UpdateError::Refused)?;
        self.save(tx, loaded).await
    }

    /// Deletes the aggregate instead of saving it, with the same checks: [`expecting`](Self::expecting),
    /// [`unless_locked`](Self::unless_locked), [`holding`](Self::holding), [`releasing`](Self::releasing). The command decides whether it
    /// may be deleted; its changes are not stored. The steps get the aggregate in its last state.
    ///
    /// ```
    /// # use tenure::{Aggregate, Database, Repository, error::UpdateError};
    /// # #[derive(Aggregate)] #[aggregate(table = "orders")] struct Order { #[aggregate(id)] no: String, shipped: bool }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let orders = Repository::<Order>::new(&db);
    /// # let mut tx = db.begin().await?;
    /// # sqlx::raw_sql("create table orders (no text primary key, shipped integer, version integer)").execute(tx.sqlite()?).await?;
    /// # orders.insert(&mut tx, Order { no: "1".into(), shipped: false }).await?;
    /// # tx.commit().await?;
    /// # let no = String::from("1");
    /// let unshipped = |order: &mut Order| if order.shipped { Err("it is on its way") } else { Ok(()) };
    /// orders.update(&no).unless_locked().delete(unshipped).await.expect("it is not shipped");
    /// assert!(orders.get(&no).await?.is_none());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn delete<E>(self, command: impl FnOnce(&mut A) -> Result<(), E>) -> Result<(), UpdateError<E>>
    where
        S: Steps<'a, A, E>,
    {
        let key = self.key();
        let (mut tx, mut loaded) = self.load(&key).await?;
        let outdated = self.outdated(&loaded);
        if let Some(seen) = outdated {
            return Err(refuse(&mut tx, &key, seen, &loaded, command).await?.into());
        }
        command(&mut loaded).map_err(UpdateError::Refused)?;
        let loaded = self.repository.remove(&mut tx, loaded).await?;
        let (tx, _) = steps::run(&self.steps, tx, loaded).await?;
        Ok(tx.commit().await?)
    }

    /// The present answer of [`run`](Self::run), without saving anything: `Ok` with the aggregate after the command, or the same refusal.
    /// It reads in a transaction that is rolled back; on SQLite that waits for the writer. The answer may be out of date at once: only
    /// `run` decides.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn dry_run<E>(self, command: impl FnOnce(&mut A) -> Result<(), E>) -> Result<Loaded<A>, UpdateError<E>> {
        let key = self.key();
        let (mut tx, mut loaded) = self.load(&key).await?;
        let done = match self.outdated(&loaded) {
            Some(seen) => Err(refuse(&mut tx, &key, seen, &loaded, command).await?.into()),
            None => command(&mut loaded).map_err(UpdateError::Refused),
        };
        tx.rollback().await.map_err(Error::from)?;
        done.map(|()| loaded)
    }

    /// Begins: checks the offline lock, loads the aggregate.
    pub(crate) async fn load(&self, key: &LockKey) -> Result<(Transaction, Loaded<A>), Error> {
        self.author.check()?;
        self.repository.mapping()?;
        if let Some(expected) = &self.expecting {
            check_token(key, expected)?;
        }
        if let (Some(problem), Lock::Held { .. } | Lock::OfForm { .. } | Lock::RefusedIfHeld { .. }) =
            (key.problem(), &self.lock)
        {
            return Err(Error::InvalidKey { key: key.to_string().chars().take(60).collect(), problem });
        }
        let mut tx = self.repository.database.begin_for(self.wait, self.author.clone()).await?;
        self.check_lock(&mut tx, key).await?;
        let found = self.repository.find(&mut tx, &self.id, self.mode).await?;
        Ok((tx, found.ok_or_else(|| not_found(key))?))
    }

    /// The version that the person saw, if it differs from the loaded one.
    pub(crate) fn outdated(&self, loaded: &Loaded<A>) -> Option<Version> {
        self.expecting.map(|expected| expected.version).filter(|seen| !loaded.matches_version(*seen))
    }

    /// Ends: saves the aggregate, releases the offline lock if that was requested, commits.
    pub(crate) async fn save<E>(&self, mut tx: Transaction, mut loaded: Loaded<A>) -> Result<Loaded<A>, UpdateError<E>>
    where
        S: Steps<'a, A, E>,
    {
        self.repository.save(&mut tx, &mut loaded).await?;
        // What was only read matters to what else the transaction writes. Without a step that is nothing that counts for a version.
        if self.steps.list().is_empty() {
            tx.versions.watched.remove(&self.key());
        }
        let (tx, loaded) = steps::run(&self.steps, tx, loaded).await?;
        tx.commit().await?;
        Ok(loaded)
    }

    /// The aggregate's lock key.
    pub(crate) fn key(&self) -> LockKey {
        LockKey::of::<A>(&self.id)
    }

    async fn check_lock(&self, tx: &mut Transaction, key: &LockKey) -> Result<(), Error> {
        match &self.lock {
            Lock::Ignored => Ok(()),
            Lock::RefusedIfHeld { but: None } => tx.unless_locked(key).await,
            Lock::RefusedIfHeld { but: Some(generation) } => tx.unless_locked_except(key, *generation).await,
            Lock::Held { id, release: false } => tx.holding(key, id).await.map(drop),
            Lock::Held { id, release: true } => tx.releasing(key, id).await.map(drop),
            Lock::OfForm { id } => tx.from_form(key, Some(id)).await,
        }
    }
}

impl<A: Aggregate, S> fmt::Debug for Update<'_, A, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Update");
        shown.field("key", &self.key()).field("expecting", &self.expecting).field("mode", &self.mode);
        shown.field("wait", &self.wait).field("lock", &self.lock).field("author", &self.author).finish_non_exhaustive()
    }
}

/// The conflict between the version that the person saw and the current one.
async fn refuse<A: Aggregate, E>(
    tx: &mut Transaction,
    key: &LockKey,
    seen: Version,
    loaded: &Loaded<A>,
    command: impl FnOnce(&mut A) -> Result<(), E>,
) -> Result<Error, Error> {
    let opened = tx.opened_at(A::mapping(), key, seen).await?;
    let mine = opened.rows.as_ref().and_then(|rows| after(rows, command));
    let conflict = tx.explain(A::mapping(), key, opened, Some(loaded.stored()), mine.as_ref()).await?;
    Ok(Error::VersionConflict(Box::new(conflict)))
}

/// The state after the command; `None` if the domain refuses it.
pub(crate) fn after<A: Aggregate, E>(rows: &Rows, command: impl FnOnce(&mut A) -> Result<(), E>) -> Option<Rows> {
    let mut copy = A::from_rows(rows).ok()?;
    command(&mut copy).ok()?;
    Some(copy.to_rows())
}
