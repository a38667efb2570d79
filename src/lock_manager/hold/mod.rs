//! A lease for a job: acquired, kept alive by a task of this process, and released with its guard.

mod belief;
mod guard;
mod state;

use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use belief::{Belief, Moment};
pub use guard::LeaseGuard;
use state::State;

use crate::error::{DatabaseError, LeaseLost, LockError};
use crate::lease::{Lease, LockId, LockKey, Owner};
use crate::lock_manager::LockManager;
use crate::lock_manager::claim::Unclaimed;

impl LockManager {
    /// Acquires the exclusive lock for a job, and keeps it alive until the guard is released or dropped. Await it.
    ///
    /// A task sends heartbeats by the [policy](crate::LockPolicy) of the type: after a crash, others wait for the time to live, so choose a
    /// short one, such as `LockPolicy::exclusive().ttl(Duration::from_secs(30))`. The guard counts down from the time *before* each
    /// heartbeat was sent, by the clocks of this process, and gives up after nine tenths of the confirmed time. So when the database is
    /// unreachable, and after this process was paused, it reports the loss before another owner can acquire the lease.
    ///
    /// | event | reaction of the guard |
    /// |---|---|
    /// | the work ends | [`release`](LeaseGuard::release), or dropping it, frees the lock |
    /// | the work panics | the guard is dropped: the lock is released in the background |
    /// | the process is killed | nothing: the lease expires by itself |
    /// | the lease is broken or taken over | [`lost`](LeaseGuard::lost) at the next heartbeat, with the owner and the reason |
    /// | the database does not answer | `lost` before the time to live ends |
    /// | the process or the machine is paused | `lost` as soon as it continues, before [`run`](LeaseGuard::run) continues the work |
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tenure::{Aggregate, Database, LockKey, LockManager, LockPolicy, Owner, Repository};
    /// # #[derive(Aggregate)] #[aggregate(table = "catalogue")] struct Catalogue { #[aggregate(id)] name: String, items: i64 }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let catalogues = Repository::<Catalogue>::new(&db);
    /// # let mut tx = db.begin().await?;
    /// # sqlx::raw_sql("create table catalogue (name text primary key, items integer, version integer)").execute(tx.sqlite()?).await?;
    /// # catalogues.insert(&mut tx, Catalogue { name: "spring".into(), items: 0 }).await?;
    /// # tx.commit().await?;
    /// # async fn next_batch() -> Option<i64> { None }
    /// let policy = LockPolicy::exclusive().ttl(Duration::from_secs(30))?;
    /// let locks = LockManager::new(&db).with_policy("Catalogue", policy);
    /// let importer = Owner::new("importer", "Nightly import");
    ///
    /// let guard = locks.hold(&LockKey::new("Catalogue", "spring"), &importer).within(Duration::from_secs(60)).await?;
    /// let imported = guard.run(async {
    ///     while let Some(items) = next_batch().await {
    ///         let save = catalogues.update(&"spring".into()).by(&importer).holding(guard.lock_id());
    ///         save.run(|catalogue| { catalogue.items += items; Ok::<_, std::convert::Infallible>(()) }).await?;
    ///     }
    ///     Ok::<_, tenure::error::UpdateError<std::convert::Infallible>>(())
    /// }).await;
    /// match imported {
    ///     Ok(done) => done.expect("nothing was refused"),
    ///     Err(lost) => println!("stopped: {lost}"),
    /// }
    /// guard.release().await?;
    /// # Ok(()) }
    /// ```
    pub fn hold(&self, key: &LockKey, owner: &Owner) -> Hold {
        Hold { locks: self.clone(), key: key.clone(), owner: owner.clone(), id: None, within: None }
    }
}

/// The future of [`LockManager::hold`]: await it.
///
/// # Errors
/// As [`LockManager::try_lock`]; with [`within`](Hold::within) as [`LockManager::lock`].
///
/// # Panics
/// Outside a Tokio runtime with its time enabled.
#[must_use = "nothing is acquired until it is awaited"]
#[derive(Debug)]
pub struct Hold {
    locks: LockManager,
    key: LockKey,
    owner: Owner,
    id: Option<LockId>,
    within: Option<Duration>,
}

impl Hold {
    /// Waits in the queue for at most this long. Without it, a held lock is refused at once.
    pub fn within(mut self, wait: Duration) -> Self {
        self.within = Some(wait);
        self
    }

    /// With a lock id that the caller created, as in [`try_lock_as`](LockManager::try_lock_as).
    pub fn with_id(mut self, id: LockId) -> Self {
        self.id = Some(id);
        self
    }

    async fn run(self) -> Result<LeaseGuard, LockError> {
        let id = self.id.unwrap_or_else(LockId::random);
        let Some(within) = self.within else {
            let sent = Moment::now();
            let lease = self.locks.try_lock_as(&self.key, &self.owner, id).await?;
            let belief = Belief::confirmed(sent, lease.holder.remaining);
            return Ok(LeaseGuard::new(lease, self.locks, State::held(self.key, belief)));
        };
        let lease = self.locks.lock(&self.key, &self.owner).with_id(id).within(within).await?;
        // The time of the grant is not known here. Until it is confirmed, dropping this releases it.
        let unclaimed = Unclaimed::new(lease, self.locks.clone());
        let sent = Moment::now();
        let confirmed = self.locks.keep_alive(std::slice::from_ref(unclaimed.first().id())).await?.pop();
        let lease = unclaimed.claim();
        let state = match confirmed {
            Some(Err(no_lock)) => State::ended(self.key, LeaseLost::Ended(no_lock)),
            Some(Ok(kept)) => State::held(self.key, Belief::confirmed(sent, kept.holder.remaining)),
            None => return Err(DatabaseError::Cancelled.into()),
        };
        Ok(LeaseGuard::new(lease, self.locks, state))
    }
}

impl IntoFuture for Hold {
    type Output = Result<LeaseGuard, LockError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Keeps the lease alive until it is lost. The guard ends it.
async fn beat(locks: LockManager, lease: Lease, state: Arc<State>) {
    let interval = locks.policy(lease.holder.key.kind()).heartbeat_interval();
    while let Some(pause) = state.pause(interval) {
        tokio::time::sleep(pause).await;
        let sent = Moment::now();
        let Ok(left) = state.left(sent) else { return };
        // An answer after that would come too late.
        let Ok(kept) = tokio::time::timeout(left, locks.keep_alive(std::slice::from_ref(lease.id()))).await else {
            state.fail(DatabaseError::Busy("a heartbeat had no answer in time"));
            continue;
        };
        match kept.map(|mut kept| kept.pop()) {
            Ok(Some(Ok(kept))) => state.confirm(Belief::confirmed(sent, kept.holder.remaining)),
            Ok(Some(Err(no_lock))) => return state.end(LeaseLost::Ended(no_lock)),
            Ok(None) => {}
            Err(error) => {
                tracing::debug!(%error, lock = ?lease.holder.key, "a heartbeat of a held lease failed; trying again");
                state.fail(error);
            }
        }
    }
}
