//! Offline locks that a transaction requires: the same checks for an update and for a hand-written transaction.

use std::time::Duration;

use crate::db::patience;
use crate::error::{DatabaseError, Error};
use crate::lease::operations::{KeyState, Proof};
use crate::lease::{Holder, LeaseLossReason, LockId, LockKey, NoLock};
use crate::store::leases;
use crate::telemetry::outcome::seen;
use crate::unit_of_work::transaction::Transaction;

/// Call these before the first load of the aggregate: the lock is checked first, then the row is read. After [`by`](Transaction::by), a
/// lock id must belong to that owner.
///
/// ```
/// # use tenure::{Aggregate, Database, LockKey, LockManager, LockMode, Owner, Repository, error::Error};
/// # #[derive(Aggregate)] #[aggregate(table = "orders")] struct Order { #[aggregate(id)] no: String }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
/// # let orders = Repository::<Order>::new(&db);
/// # let (kim, no) = (Owner::new("kim", "Kim Minji"), "1".to_owned());
/// # let mut tx = db.begin().await?;
/// # sqlx::raw_sql("create table orders (no text primary key, version integer)").execute(tx.sqlite()?).await?;
/// # orders.insert(&mut tx, Order { no: "1".into() }).await?;
/// # tx.commit().await?;
/// let delete = async |no: &String| {
///     let mut tx = db.begin().await?;
///     tx.by(&kim).unless_locked(&LockKey::of::<Order>(no)).await?;
///     if let Some(order) = orders.find(&mut tx, no, LockMode::PessimisticWrite).await? {
///         orders.delete(&mut tx, order).await?;
///     }
///     tx.commit().await
/// };
/// let lease = LockManager::new(&db).try_lock(&LockKey::of::<Order>(&no), &kim).await?;
/// assert!(matches!(delete(&no).await, Err(Error::AlreadyLocked(holder)) if holder.owner == kim));
/// LockManager::new(&db).release_lock(lease.id()).await?;
/// delete(&no).await?;
/// # Ok(()) }
/// ```
impl Transaction {
    /// Refuses if the key has an exclusive offline lock, also if this owner holds it: like
    /// [`Update::unless_locked`](crate::unit_of_work::Update::unless_locked). The lock cannot be acquired before the transaction ends.
    ///
    /// # Errors
    /// [`Error::AlreadyLocked`] with the holder: the transaction can continue, but do not save. [`Error::InvalidKey`];
    /// [`Error::InvalidOwner`]; [`Error::Database`].
    pub async fn unless_locked(&mut self, key: &LockKey) -> Result<(), Error> {
        self.refuse_if_held(key, None).await
    }

    /// As [`unless_locked`](Self::unless_locked), except for the lease of this generation: the person has seen its holder, and continues
    /// anyway.
    ///
    /// # Errors
    /// As [`unless_locked`](Self::unless_locked).
    pub async fn unless_locked_except(&mut self, key: &LockKey, generation: i64) -> Result<(), Error> {
        self.refuse_if_held(key, Some(generation)).await
    }

    /// Refuses unless this lock id holds the exclusive offline lock on the key: like
    /// [`Update::holding`](crate::unit_of_work::Update::holding). The lock is held to the end of the transaction, even if it expires
    /// meanwhile.
    ///
    /// # Errors
    /// [`Error::NoLock`] with the reason, also if the lock id belongs to another key: the transaction can continue, but do not save.
    /// [`Error::InvalidKey`]; [`Error::InvalidOwner`]; [`Error::Database`].
    pub async fn holding(&mut self, key: &LockKey, id: &LockId) -> Result<Holder, Error> {
        self.check(key)?;
        let (proof, metrics) = (self.proof(id), self.home.batch().metrics().clone());
        let guard = async {
            let guarded = self.database.guard(async |tx| leases::guard(tx, &proof).await).await?;
            match guarded {
                Ok(holder) if holder.key == *key => Ok(holder),
                Ok(holder) => {
                    let no_lock =
                        NoLock { key: Some(holder.key), why: LeaseLossReason::OtherAggregate, held_now: None };
                    Err(Error::NoLock(Box::new(no_lock)))
                }
                Err(no_lock) => Err(Error::NoLock(Box::new(no_lock.seen_by(self.author_id())))),
            }
        };
        seen(&metrics, "save", Some(key.kind()), guard).await
    }

    /// As [`holding`](Self::holding), and the commit releases the lock: both the save and the release happen, or neither.
    ///
    /// # Errors
    /// As [`holding`](Self::holding).
    pub async fn releasing(&mut self, key: &LockKey, id: &LockId) -> Result<Holder, Error> {
        let holder = self.holding(key, id).await?;
        if self.releases.iter().all(|(noted, _)| noted.hash() != id.hash()) {
            self.releases.push((id.clone(), key.kind().to_owned()));
        }
        Ok(holder)
    }

    /// Checks the lock of a form that was opened under a lease, or is saved without one: like
    /// [`Update::from_form`](crate::unit_of_work::Update::from_form). The commit releases a held lease.
    ///
    /// # Errors
    /// As [`Update::from_form`](crate::unit_of_work::Update::from_form).
    pub async fn from_form(&mut self, key: &LockKey, id: Option<&LockId>) -> Result<(), Error> {
        let Some(id) = id else { return self.unless_locked(key).await };
        let no_lock = match self.releasing(key, id).await {
            Err(Error::NoLock(no_lock)) if no_lock.why.permits_a_save_by_version() => no_lock,
            held => return held.map(drop),
        };
        let holder = match self.unless_locked(key).await {
            Err(Error::AlreadyLocked(holder)) => holder,
            free => return free,
        };
        // The form may have acquired its lease a moment ago, with a request that overtook this one.
        match self.releasing(key, id).await {
            Err(Error::NoLock(_)) => Err(match no_lock.why {
                LeaseLossReason::Unknown | LeaseLossReason::Released { .. } => Error::AlreadyLocked(holder),
                _ => Error::NoLock(no_lock),
            }),
            held => held.map(drop),
        }
    }

    async fn refuse_if_held(&mut self, key: &LockKey, but: Option<i64>) -> Result<(), Error> {
        self.check(key)?;
        match self.key_state(key).await? {
            KeyState::Held(holder) if Some(holder.generation) != but => {
                Err(Error::AlreadyLocked(Box::new(holder.seen_by(self.author_id()))))
            }
            _ => Ok(()),
        }
    }

    /// Releases the locks of [`releasing`](Self::releasing), just before the commit.
    pub(super) async fn release_noted(&mut self) -> Result<(), Error> {
        let metrics = self.home.batch().metrics().clone();
        for (id, kind) in std::mem::take(&mut self.releases) {
            let proof = self.proof(&id);
            let release = async {
                let released = self.database.guard(async |tx| leases::release_held(tx, &proof).await).await?;
                released.map_err(|no_lock| Error::NoLock(Box::new(no_lock.seen_by(self.author_id()))))
            };
            seen(&metrics, "release_within", Some(&kind), release).await?;
        }
        Ok(())
    }

    /// Whether the key is held. A key without a row gets one first, in a transaction of its own: in this one it would block requests of all
    /// sessions to the lock table.
    async fn key_state(&mut self, key: &LockKey) -> Result<KeyState, DatabaseError> {
        for _ in 0..3 {
            match self.database.guard(async |tx| leases::key_state(tx, key).await).await? {
                KeyState::NoRow => {
                    let budget: Duration = self.wait.budget();
                    patience::within(budget, self.home.backend().make_row(key)).await?;
                }
                state => return Ok(state),
            }
        }
        Err(DatabaseError::Busy("the row of the lock was swept after each insert"))
    }

    /// Refuses invalid owners and keys.
    fn check(&self, key: &LockKey) -> Result<(), Error> {
        self.author.check()?;
        match key.problem() {
            Some(problem) => Err(Error::InvalidKey { key: key.to_string().chars().take(60).collect(), problem }),
            None => Ok(()),
        }
    }

    fn proof(&self, id: &LockId) -> Proof {
        Proof { lock: id.hash(), owner: self.author_id().map(str::to_owned) }
    }

    fn author_id(&self) -> Option<&str> {
        self.author.by.as_ref().map(|by| &*by.id)
    }
}
