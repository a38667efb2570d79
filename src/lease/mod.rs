//! Leases, the offline pessimistic locks: what is locked, by whom, until when, why a lock is gone, and who asks for it. No I/O
//! here; [`LockManager`](crate::LockManager) grants them.
//!
//! A lease is held by whoever knows its [`LockId`]. The id is a secret of one tab of one person, made by the client and
//! stored only as a hash; everybody else sees the [`Holder`] and the generation, a number that rises with every change
//! of hands and never falls (the fencing number).

pub(crate) mod cursor;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
#[allow(dead_code, reason = "so far only tests use it: the databases change over to it one after the other")]
pub(crate) mod engine;
mod held_by_type;
mod key;
pub(crate) mod limits;
pub(crate) mod listing;
mod lock_id;
mod no_lock;
pub(crate) mod operations;
mod owner;
pub(crate) mod policy;
pub(crate) mod presence;
pub(crate) mod seen;
pub(crate) mod shown;
mod text;
pub(crate) mod transfer;

use std::fmt;
use std::time::{Duration, SystemTime};

pub use cursor::{Cursor, InvalidCursor};
pub use held_by_type::HeldByType;
pub use key::LockKey;
pub use limits::{Limit, Limits};
pub use listing::{LeaseState, Listed, Page, PastLease, Successor};
pub use lock_id::{InvalidLockId, LockId};
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(crate) use no_lock::RanOut;
pub use no_lock::{LeaseLossReason, NoLock};
pub use owner::InvalidOwner;
pub(crate) use owner::askable;
pub use policy::{Acquire, InvalidPolicy, LockPolicy, ShowOwner};
pub use presence::{Heartbeat, Presence};
pub(crate) use text::{NOT_PLAIN, Printable, is_plain};
pub use transfer::{TransferReply, TransferRequest};

/// The person (or job) a lock belongs to, or who made a change: an id that the application knows, and a name to show.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The application's id: a login, an account number.
    pub id: String,
    /// What other people are shown.
    pub name: String,
    /// What they are here: a department, a function. Where a policy hides names, it may show this.
    pub role: Option<String>,
}

impl Owner {
    /// The owner with this id, shown by this name.
    pub fn new(id: impl Into<String>, name: impl Into<String>) -> Self {
        Owner { id: id.into(), name: name.into(), role: None }
    }

    /// As what others are shown them where a policy says [`ShowOwner::ByRole`]: `Warehouse`.
    pub fn in_role(mut self, role: impl Into<String>) -> Self {
        self.role = Some(role.into());
        self
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable(&self.name).fmt(f)
    }
}

/// A lock that is held: what `try_lock` gives and the other operations confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub(crate) id: LockId,
    pub(crate) holder: Holder,
}

impl Lease {
    /// The secret that holds it.
    pub fn id(&self) -> &LockId {
        &self.id
    }
}

/// A lease shows everything that the others see of its holder.
impl std::ops::Deref for Lease {
    type Target = Holder;

    fn deref(&self) -> &Holder {
        &self.holder
    }
}

/// Who holds a lock, as everybody may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// What is locked.
    pub key: LockKey,
    /// Who holds it.
    pub owner: Owner,
    /// Which change of hands this is: the fencing number.
    pub generation: i64,
    /// Since when, by the database's clock.
    pub since: SystemTime,
    /// The last sign of life, by the database's clock.
    pub last_active: SystemTime,
    /// The last time that the person did something, by the database's clock, as far as the signs of life told.
    pub last_input: SystemTime,
    /// How long it lasts from now without another sign of life. Count down from this; never compare `since` with a
    /// clock of your own.
    pub remaining: Duration,
    /// How long it lasts without a sign of life at all. Zero where the key is kept for somebody who has not come yet.
    pub ttl: Duration,
    /// How long ago the last input was, when this was answered.
    pub idle: Duration,
    /// How long ago the last sign of life was, when this was answered.
    pub silent: Duration,
    /// Whether others may hold it as well, to read: see [`LockManager::try_lock_shared`](crate::LockManager::try_lock_shared).
    pub shared: bool,
    /// How often there should be a sign of life.
    pub(crate) heartbeat: Duration,
    /// How its owner is shown to others.
    pub(crate) shown: ShowOwner,
}

impl Holder {
    /// Whoever holds it alone may save under it.
    pub(crate) fn may_save(self) -> Result<Self, NoLock> {
        match self.shared {
            true => Err(NoLock { key: Some(self.key), why: LeaseLossReason::SharedOnly, held_now: None }),
            false => Ok(self),
        }
    }

    /// Of this key, and nothing known yet.
    pub(crate) fn to_be(key: LockKey) -> Self {
        Holder {
            key,
            owner: Owner::new("", ""),
            generation: 0,
            since: SystemTime::UNIX_EPOCH,
            last_active: SystemTime::UNIX_EPOCH,
            last_input: SystemTime::UNIX_EPOCH,
            remaining: Duration::ZERO,
            ttl: Duration::ZERO,
            idle: Duration::ZERO,
            silent: Duration::ZERO,
            shared: false,
            heartbeat: Duration::ZERO,
            shown: ShowOwner::ByName,
        }
    }
}
