//! The operations on the lock table for watchers and for queued waiters.

use std::time::Duration;

use async_trait::async_trait;

use crate::error::DatabaseError;
use crate::lease::seen::Seen;
use crate::lease::{LockKey, Owner};
use crate::storage::LockHash;

/// How long a place in the queue is kept without heartbeats of its process. The waiters behind a process that died wait for this long, and
/// not until the end of its own wait.
pub(crate) const PLACE_TTL: Duration = Duration::from_secs(10);

/// How long after its expiry a place is swept. Not at once: a server whose clock was set forward must not empty the queue.
pub(crate) const SWEPT_AFTER: Duration = Duration::from_secs(3600);

/// A key to poll, and the generation after which its history is new.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub key: LockKey,
    /// Ended leases above this generation are returned. `i64::MAX`: none.
    pub after: i64,
}

/// A place in the queue.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    pub key: LockKey,
    pub lock: LockHash,
    pub owner: Owner,
    /// The process whose heartbeats keep it.
    pub process: i64,
    /// The waiter that may leave it: a repeated request with the same lock id replaces the earlier waiter.
    pub waiter: i64,
    /// The maximum wait.
    pub within: Duration,
    /// The maximum number of places of one owner.
    pub most: u32,
}

/// The operations. None of them waits for a row lock.
#[async_trait]
pub(crate) trait Watching {
    /// The state of these keys: one statement for any number of keys.
    async fn look(&self, looks: &[Look]) -> Result<Vec<(LockKey, Seen)>, DatabaseError>;
    /// Whether the queue of this key has a waiter.
    async fn in_line(&self, key: &LockKey) -> Result<bool, DatabaseError>;
    /// Returns a place at the end, or the existing place of this lock id: the number of its ticket, which rises with every arrival. `None`:
    /// the owner has the maximum number of places.
    async fn enter_line(&self, ticket: &Ticket) -> Result<Option<i64>, DatabaseError>;
    /// Removes a place.
    async fn leave_line(&self, lock: &LockHash, waiter: i64) -> Result<(), DatabaseError>;
    /// Keeps all places of a process alive, and sweeps expired ones. Returns the number of kept places.
    async fn keep_places(&self, process: i64) -> Result<u64, DatabaseError>;

    /// Whether it can notify other processes.
    fn announces(&self) -> bool {
        false
    }
    /// Notifies other processes, outside any transaction. Returns whether there are listeners.
    async fn announce(&self, _text: &str) -> Result<bool, DatabaseError> {
        Err(DatabaseError::Unsupported("this database has no notifications; it is polled instead"))
    }
    /// Listens to the notifications of other processes.
    async fn listen(&self) -> Result<Box<dyn Listener>, DatabaseError> {
        Err(DatabaseError::Unsupported("this database has no notifications; it is polled instead"))
    }
}

/// The notifications of other processes.
#[async_trait]
pub(crate) trait Listener: Send {
    /// Waits for the next notification. `None`: the connection was lost and restored; notifications may be missing.
    async fn heard(&mut self) -> Result<Option<String>, DatabaseError>;
}

/// A row of the statement that polls keys, the same on every database: the meaning of a column depends on `what`.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
#[derive(sqlx::FromRow)]
pub(super) struct WatchRow {
    what: i64,
    clock: i64,
    kind: String,
    id: String,
    /// The generation; for `VERSION` the version, for `LINE` the ticket.
    number: i64,
    lock_hash: Option<Vec<u8>>,
    exclusive: Option<i64>,
    owner_id: Option<String>,
    owner_name: Option<String>,
    owner_role: Option<String>,
    shown_as: Option<i64>,
    since: Option<i64>,
    last_active: Option<i64>,
    active_at: Option<i64>,
    /// For `PAST` its end.
    expires_at: Option<i64>,
    ttl: Option<i64>,
    /// For `PAST` whether it expired at its idle limit (1).
    idle_limit: Option<i64>,
    /// For `PAST` whether it expired at its absolute limit (1).
    hard_until: Option<i64>,
    /// For `LINE` the number of waiters.
    ended: Option<i64>,
    how: Option<String>,
    by_id: Option<String>,
    by_name: Option<String>,
    by_role: Option<String>,
    /// The reason of an end.
    words: Option<String>,
}

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
impl WatchRow {
    const LEASE: i64 = 0;
    const PAST: i64 = 1;
    const VERSION: i64 = 3;

    /// The fact that the row contains.
    pub(super) fn seen(self) -> (LockKey, Seen) {
        use crate::aggregate::version::Version;
        use crate::clock::from_millis;
        use crate::lease::engine::{LeaseRow, Place};
        use crate::lease::policy::ShowOwner;
        use crate::lease::seen::{PastLease, SeenLease};
        use crate::lease::{Holder, LeaseLossReason, RanOut};

        let key = LockKey::new(self.kind, self.id);
        let (id, name) = (self.owner_id.unwrap_or_default(), self.owner_name.unwrap_or_default());
        let owner = Owner { id, name, role: self.owner_role };
        let shown = ShowOwner::from_stored(self.shown_as.unwrap_or_default());
        let since = from_millis(self.since.unwrap_or_default());
        let expires_at = from_millis(self.expires_at.unwrap_or_default());
        let by = self.by_id.zip(self.by_name).map(|(id, name)| Owner { id, name, role: self.by_role });
        let seen = match self.what {
            Self::LEASE => {
                let exclusive = self.exclusive == Some(1);
                let lease = LeaseRow {
                    // A slot is the hash of its lock id.
                    place: Place {
                        key: key.clone(),
                        slot: self.lock_hash.clone().filter(|_| !exclusive).unwrap_or_default(),
                    },
                    generation: self.number,
                    lock: self.lock_hash.unwrap_or_default(),
                    owner,
                    shown,
                    since: self.since.unwrap_or_default(),
                    last_active: self.last_active.unwrap_or_default(),
                    active_at: self.active_at.unwrap_or_default(),
                    expires_at: self.expires_at.unwrap_or_default(),
                    ttl: self.ttl.unwrap_or_default(),
                    idle_limit: self.idle_limit,
                    hard_until: self.hard_until.unwrap_or_default(),
                    ended: self.ended == Some(1),
                };
                Seen::Lease(SeenLease {
                    holder: lease.holder(self.clock),
                    exclusive,
                    ended: lease.ended,
                    ran_out: LeaseLossReason::ran_out(expires_at, lease.ran_out()),
                    lock: lease.lock,
                })
            }
            Self::PAST => {
                let how = self.how.as_deref().unwrap_or_default();
                let ran_out = RanOut::of(self.idle_limit == Some(1), self.hard_until == Some(1));
                let why = LeaseLossReason::recorded(how, ran_out, expires_at, by, self.words);
                let holder = Holder { owner, generation: self.number, since, shown, ..Holder::to_be(key.clone()) };
                Seen::Past(PastLease { holder, why })
            }
            Self::VERSION => Seen::Version(Version::new(self.number).unwrap_or(Version::FIRST)),
            _ => Seen::Line {
                first: self.number,
                waiting: u32::try_from(self.ended.unwrap_or_default()).unwrap_or(u32::MAX),
            },
        };
        (key, seen)
    }
}
