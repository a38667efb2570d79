//! One unit of work on one aggregate: begin, check the lock, load, check the version, run the command, save, commit.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::aggregate::mapping::Rows;
use crate::aggregate::version::Version;
use crate::aggregate::{Aggregate, Loaded};
use crate::error::{DatabaseError, Error, UpdateError};
use crate::lease::{Holder, LeaseLossReason, LockId, LockKey, NoLock, Owner};
use crate::row_lock::mode::{LockMode, Wait};
use crate::storage::{Authorship, KeyState, Proof, patience};
use crate::telemetry::outcome::seen;
use crate::unit_of_work::database::Database;
use crate::unit_of_work::repeatable::RepeatableUpdate;
use crate::unit_of_work::repository::{Repository, check_token, not_found};
use crate::unit_of_work::retry::Retry;
use crate::unit_of_work::transaction::Transaction;
use crate::version::merge::Merge;
use crate::version::token::Expected;

/// An update that is being described; [`run`](Update::run) does it.
///
/// Everything happens in one transaction, in this order: the offline lock is checked, the aggregate is loaded, the
/// version that the person saw is compared, the command runs, the result is saved, the offline lock is released if that
/// was asked, and all of it is committed. Whatever refuses leaves everything as it was.
#[must_use = "an update does nothing until `run`"]
pub struct Update<'a, A: Aggregate> {
    repository: &'a Repository<A>,
    id: A::Id,
    expecting: Option<Expected<A>>,
    mode: LockMode,
    wait: Wait,
    lock: Lock,
    author: Authorship,
    step: Option<Step<A>>,
}

/// What a step of the saving transaction gives.
pub type StepFuture<'t> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 't>>;

/// A step of the saving transaction that the application adds.
type Step<A> = Box<dyn for<'t> Fn(&'t mut Transaction, &'t Loaded<A>) -> StepFuture<'t> + Send + Sync>;

/// What the update has to do with offline locks.
#[derive(Debug)]
enum Lock {
    Ignored,
    /// Refuse if anybody holds it, but for the lease of this generation.
    RefusedIfHeld {
        but: Option<i64>,
    },
    Held {
        id: LockId,
        release: bool,
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
            step: None,
        }
    }

    /// Refuses with [`Error::VersionConflict`] unless the aggregate is still this version: the one the person saw, as a
    /// [`VersionToken`](crate::VersionToken) or a bare [`Version`](crate::Version). A token of another aggregate is refused
    /// with [`Error::VersionTokenMismatch`].
    pub fn expecting(mut self, seen: impl Into<Expected<A>>) -> Self {
        self.expecting = Some(seen.into());
        self
    }

    /// How the row is locked while the command runs. The default is [`LockMode::Optimistic`].
    pub fn locking(mut self, mode: LockMode) -> Self {
        self.mode = mode;
        self
    }

    /// Waits for others at most this long in total, to the millisecond. The default is 5 seconds.
    pub fn within(mut self, budget: Duration) -> Self {
        self.wait = Wait::Within(budget);
        self
    }

    /// Fails at once if somebody else is in the way.
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

    /// As [`holding`](Self::holding), and the offline lock is released with the commit: saved and free, or neither.
    pub fn releasing(mut self, id: &LockId) -> Self {
        self.lock = Lock::Held { id: id.clone(), release: true };
        self
    }

    /// Refuses with [`Error::AlreadyLocked`] if somebody holds an exclusive offline lock on the aggregate, or a share of it (one's
    /// own as well: whoever holds a share said that it is not to change).
    pub fn unless_locked(mut self) -> Self {
        self.lock = Lock::RefusedIfHeld { but: None };
        self
    }

    /// As [`unless_locked`](Self::unless_locked), but for the lease of this generation: the person has seen who holds it
    /// and goes on regardless. Whoever holds it finds a newer version when they save.
    pub fn unless_locked_except(mut self, generation: i64) -> Self {
        self.lock = Lock::RefusedIfHeld { but: Some(generation) };
        self
    }

    /// Says who makes the change. Later conflicts name them, and a lock id has to be theirs. Somebody who cannot be an owner is
    /// refused with [`Error::InvalidOwner`].
    pub fn by(mut self, owner: &Owner) -> Self {
        self.author.by = Some(owner.clone());
        self
    }

    /// Says what the change is for, in the words of the domain: `start shipping`. It is one plain line, or the update is refused with
    /// [`Error::InvalidCommand`].
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.author.command = Some(command.into());
        self
    }

    /// Adds a step to the saving transaction, after the aggregate was saved and before the commit: a row of an outbox or an
    /// audit table, a mark that this request was done. It is given the transaction and the aggregate with its new version.
    /// Committed together with the save, or not at all. Where the update is run again, so is the step. It is also run when
    /// the command changed nothing.
    ///
    /// ```
    /// # use tenure::{Aggregate, Database, Repository};
    /// # #[derive(Aggregate)] #[aggregate(table = "orders")]
    /// # struct Order { #[aggregate(id)] no: String, note: String }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let orders = Repository::<Order>::new(&db);
    /// # let mut tx = db.begin().await?;
    /// # sqlx::raw_sql("create table orders (no text primary key, note text, version integer); create table outbox (no text, version integer)").execute(tx.sqlite()?).await?;
    /// # orders.insert(&mut tx, Order { no: "1".into(), note: String::new() }).await?;
    /// # tx.commit().await?;
    /// # let no = String::from("1");
    /// let saved = orders.update(&no).also(|tx, order| Box::pin(async move {
    ///     let row = sqlx::query("insert into outbox (no, version) values (?, ?)").bind(&order.no).bind(order.version().number());
    ///     row.execute(tx.sqlite()?).await.map_err(tenure::error::DatabaseError::other)?;
    ///     Ok(())
    /// }));
    /// saved.run(|order| { order.note = "ring twice".into(); Ok::<_, std::convert::Infallible>(()) }).await.expect("nobody else is here");
    /// # let rows: i64 = sqlx::query_scalar("select version from outbox").fetch_one(db.sqlite()?).await?;
    /// # assert_eq!(rows, 2);
    /// # Ok(()) }
    /// ```
    pub fn also(
        mut self,
        step: impl for<'t> Fn(&'t mut Transaction, &'t Loaded<A>) -> StepFuture<'t> + Send + Sync + 'static,
    ) -> Self {
        self.step = Some(Box::new(step));
        self
    }

    /// Lets the update be run again: see [`RepeatableUpdate::retrying`].
    pub fn retrying(self, retry: Retry) -> RepeatableUpdate<'a, A> {
        RepeatableUpdate::new(self).retrying(retry)
    }

    /// Lets the update go on where it meets somebody else's changes: see [`RepeatableUpdate::merging`].
    pub fn merging(self, merge: Merge) -> RepeatableUpdate<'a, A> {
        RepeatableUpdate::new(self).merging(merge)
    }

    /// Does it. The command is synchronous, because the domain does no I/O.
    ///
    /// When the version is not the expected one, the command is not run on the aggregate. If the state as it was opened
    /// is still kept, it is run on a copy of that, so that the conflict can show what it would have changed; so a
    /// command must not do anything but change the aggregate it is given.
    ///
    /// # Errors
    /// [`UpdateError::Refused`] with the domain's refusal, untouched; [`UpdateError::Failed`] with [`Error::NotFound`],
    /// [`Error::VersionConflict`], [`Error::VersionTokenMismatch`], [`Error::AlreadyLocked`], [`Error::NoLock`],
    /// [`Error::OptimisticLockingFailure`], [`Error::InvalidOwner`], [`Error::InvalidCommand`], [`Error::InvalidKey`] where a lock is to
    /// be held or respected, or [`Error::Database`].
    ///
    /// # Cancel safety
    /// Dropping the future rolls back; only when it is dropped during the commit itself the change may have been saved.
    pub async fn run<E>(self, command: impl FnOnce(&mut A) -> Result<(), E>) -> Result<Loaded<A>, UpdateError<E>> {
        let key = LockKey::of::<A>(&self.id);
        let (mut tx, mut loaded) = self.load(&key).await?;
        if let Some(seen) = self.outdated(&loaded) {
            return Err(refuse(&mut tx, &key, seen, &loaded, command).await?.into());
        }
        command(&mut loaded).map_err(UpdateError::Refused)?;
        self.save(tx, &mut loaded).await?;
        Ok(loaded)
    }

    /// What [`run`](Self::run) would answer now, without saving anything: `Ok` with the aggregate as the command would leave
    /// it, or the same refusal. It reads in a transaction that is rolled back; on SQLite that one waits for who writes. What
    /// is true when it is answered may not be true a moment later: only `run` decides.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn dry_run<E>(self, command: impl FnOnce(&mut A) -> Result<(), E>) -> Result<Loaded<A>, UpdateError<E>> {
        let key = LockKey::of::<A>(&self.id);
        let (mut tx, mut loaded) = self.load(&key).await?;
        let done = match self.outdated(&loaded) {
            Some(seen) => Err(refuse(&mut tx, &key, seen, &loaded, command).await?.into()),
            None => command(&mut loaded).map_err(UpdateError::Refused),
        };
        tx.rollback().await.map_err(Error::from)?;
        done.map(|()| loaded)
    }

    /// Begins: the offline lock is checked, the aggregate is loaded.
    pub(crate) async fn load(&self, key: &LockKey) -> Result<(Transaction, Loaded<A>), Error> {
        self.author.check()?;
        if let Some(expected) = &self.expecting {
            check_token(key, expected)?;
        }
        if let (Some(problem), Lock::Held { .. } | Lock::RefusedIfHeld { .. }) = (key.problem(), &self.lock) {
            return Err(Error::InvalidKey { key: key.to_string().chars().take(60).collect(), problem });
        }
        let mut tx = self.repository.database.begin_for(self.wait, self.author.clone()).await?;
        self.check_lock(&mut tx, key).await?;
        let found = self.repository.find(&mut tx, &self.id, self.mode).await?;
        Ok((tx, found.ok_or_else(|| not_found(key))?))
    }

    /// The version that the person saw, if it is not the one that was loaded.
    pub(crate) fn outdated(&self, loaded: &Loaded<A>) -> Option<Version> {
        self.expecting.map(|expected| expected.version).filter(|seen| !loaded.matches_version(*seen))
    }

    /// Ends: the aggregate is saved, the offline lock is freed if that was asked for, all of it is committed.
    pub(crate) async fn save(&self, mut tx: Transaction, loaded: &mut Loaded<A>) -> Result<(), Error> {
        self.repository.save(&mut tx, loaded).await?;
        if let Some(step) = &self.step {
            step(&mut tx, loaded).await?;
        }
        if let Lock::Held { id, release: true } = &self.lock {
            let release = async {
                let proof = self.proof(id);
                let released = tx.database.run(async |tx| tx.release_lock(&proof).await).await?;
                released.map_err(|no_lock| Error::NoLock(Box::new(no_lock.seen_by(self.author_id()))))
            };
            let metrics = self.database().batch().metrics();
            let released = seen(metrics, "release_within", Some(&A::mapping().name), release).await?;
            metrics.forget(|| id.hash());
            tx.news.touched(&released.key);
        }
        tx.commit().await
    }

    /// The aggregate's lock key.
    pub(crate) fn key(&self) -> LockKey {
        LockKey::of::<A>(&self.id)
    }

    pub(crate) fn database(&self) -> &Database {
        &self.repository.database
    }

    async fn check_lock(&self, tx: &mut Transaction, key: &LockKey) -> Result<(), Error> {
        match &self.lock {
            Lock::Ignored => Ok(()),
            Lock::RefusedIfHeld { but } => match self.key_state(tx, key).await? {
                KeyState::Held(holder) if Some(holder.generation) != *but => {
                    Err(Error::AlreadyLocked(Box::new(holder.seen_by(self.author_id()))))
                }
                _ => Ok(()),
            },
            Lock::Held { id, .. } => {
                let guard = async {
                    let proof = self.proof(id);
                    let guarded = tx.database.run(async |tx| tx.guard(&proof).await).await?;
                    match guarded.and_then(Holder::may_save) {
                        Ok(holder) if holder.key == *key => Ok(holder),
                        Ok(holder) => {
                            let no_lock =
                                NoLock { key: Some(holder.key), why: LeaseLossReason::OtherAggregate, held_now: None };
                            Err(Error::NoLock(Box::new(no_lock)))
                        }
                        Err(no_lock) => Err(Error::NoLock(Box::new(no_lock.seen_by(self.author_id())))),
                    }
                };
                seen(self.database().batch().metrics(), "save", Some(key.kind()), guard).await.map(drop)
            }
        }
    }

    /// Whether somebody holds the key. One that was never locked gets a row first, by a transaction of its own: in this one
    /// it would keep everybody's questions to the lock table waiting.
    async fn key_state(&self, tx: &mut Transaction, key: &LockKey) -> Result<KeyState, DatabaseError> {
        for _ in 0..3 {
            match tx.database.run(async |tx| tx.key_state(key).await).await? {
                KeyState::NoRow => {
                    patience::within(self.wait.budget(), self.database().backend().make_row(key)).await?;
                }
                state => return Ok(state),
            }
        }
        Err(DatabaseError::Busy("the row of the lock was swept each time that it was made"))
    }

    fn proof(&self, id: &LockId) -> Proof {
        Proof { lock: id.hash(), owner: self.author_id().map(str::to_owned) }
    }

    fn author_id(&self) -> Option<&str> {
        self.author.by.as_ref().map(|by| &*by.id)
    }
}

impl<A: Aggregate> fmt::Debug for Update<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Update");
        shown.field("key", &self.key()).field("expecting", &self.expecting).field("mode", &self.mode);
        shown.field("wait", &self.wait).field("lock", &self.lock).field("author", &self.author).finish_non_exhaustive()
    }
}

/// The conflict between what the person saw and what is there now.
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

/// The state after the command; `None` where the domain refuses it.
pub(crate) fn after<A: Aggregate, E>(rows: &Rows, command: impl FnOnce(&mut A) -> Result<(), E>) -> Option<Rows> {
    let mut copy = A::from_rows(rows).ok()?;
    command(&mut copy).ok()?;
    Some(copy.to_rows())
}
