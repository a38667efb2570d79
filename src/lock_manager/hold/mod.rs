//! A lease for a job: acquired, kept alive by a task of this process, and released with its guard.

mod belief;
mod guard;
mod state;

use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use belief::Belief;
pub(super) use belief::Moment;
pub use guard::LeaseGuard;
use state::State;

use crate::error::{DatabaseError, LeaseLost, LockError};
use crate::lease::{Lease, LockId, LockKey, Owner};
use crate::lock_manager::claim::IdFrom;
use crate::lock_manager::{Acquisition, LockManager};

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
    /// Waits for at most this long, see [`LockManager::lock`]. Without it, a held lock is refused at once.
    pub fn within(mut self, wait: Duration) -> Self {
        self.within = Some(wait);
        self
    }

    /// With a lock id that the caller created, as in [`try_lock_as`](LockManager::try_lock_as).
    pub fn with_id(mut self, id: LockId) -> Self {
        self.id = Some(id);
        self
    }

    /// Between the grant and the guard there is no wait: a dropped call releases the lease, a dropped guard does.
    async fn run(self) -> Result<LeaseGuard, LockError> {
        let Hold { locks, key, owner, id, within } = self;
        let (lease, sent) = match within {
            Some(within) => Acquisition::of(&locks, &key, &owner, id, within).timed().await?,
            None => {
                let sent = Moment::now();
                (locks.take(&key, &owner, IdFrom::or_own(id)).await?, sent)
            }
        };
        let belief = Belief::confirmed(sent, lease.holder.remaining);
        Ok(LeaseGuard::new(lease, locks, State::held(key, belief)))
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
