//! Leases, the offline pessimistic locks: key, owner, expiry, and the reason of a loss. No I/O
//! here; [`LockManager`](crate::LockManager) grants leases.
//!
//! The owner of a [`LockId`] holds the lease. The id is a secret of one tab of one person, created by the client and
//! stored only as a hash; everybody else sees the [`Holder`] and the generation, a number that rises with every new
//! holder and never falls (the fencing number).

pub(crate) mod cursor;
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
pub(crate) mod shown;
mod text;

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

pub use cursor::{Cursor, InvalidCursor};
pub use held_by_type::HeldByType;
pub use key::LockKey;
pub use limits::{Limit, Limits};
pub use listing::{LeaseState, Listed, Page, PastLease, Successor};
pub use lock_id::{InvalidLockId, LockId};
pub(crate) use no_lock::RanOut;
pub use no_lock::{LeaseLossReason, NoLock};
pub use owner::InvalidOwner;
pub(crate) use owner::askable;
pub use policy::{Acquire, InvalidPolicy, LockPolicy, ShowOwner};
pub use presence::{Heartbeat, Presence};
pub use text::{InvalidReason, LONGEST_REASON};
pub(crate) use text::{NOT_PLAIN, Printable, checked_reason, is_plain};

/// The owner of a lock, or the author of a change: a person or a job, with an id that the application knows and a display name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// The application's id: a login, an account number.
    pub id: String,
    /// The name that other people see.
    pub name: String,
    /// Their role: a department, a function. A policy that hides names may show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

impl Owner {
    /// The owner with this id and display name.
    pub fn new(id: impl Into<String>, name: impl Into<String>) -> Self {
        Owner { id: id.into(), name: name.into(), role: None }
    }

    /// Sets the role that others see where a policy says [`ShowOwner::ByRole`]: `Warehouse`.
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

/// A held lock: `try_lock` returns it and the other operations confirm it.
///
/// serde writes the [`Holder`], but neither a lease nor its [`LockId`], which is a secret: put
/// [`reveal`](LockId::reveal) into the one field that needs it.
///
/// ```compile_fail,E0277
/// fn json(lease: &tenure::Lease) -> String {
///     serde_json::to_string(lease).unwrap()
/// }
/// ```
///
/// ```compile_fail,E0277
/// fn json(id: &tenure::LockId) -> String {
///     serde_json::to_string(id).unwrap()
/// }
/// ```
///
/// ```
/// fn json(lease: &tenure::Lease) -> String {
///     serde_json::to_string(lease.holder()).unwrap()
/// }
/// ```
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

    /// Its holder, as visible to everybody: key, owner, generation and times.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }
}

/// The publicly visible state of a held lock.
///
/// serde writes these fields: a policy that redacts owners was applied before. Times are whole
/// milliseconds: `since_ms`, `last_active_ms` and `last_input_ms` since 1970 by the database's clock, `remaining_ms`,
/// `ttl_ms`, `idle_ms` and `silent_ms` are durations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// The key of the lock.
    pub key: LockKey,
    /// The owner.
    pub owner: Owner,
    /// The generation of the lease: the fencing number.
    pub generation: i64,
    /// When it was acquired, or resumed after it had expired, by the database's clock: it is held without interruption since.
    #[serde(rename = "since_ms", serialize_with = "crate::clock::ms::instant")]
    pub since: SystemTime,
    /// The last heartbeat, by the database's clock.
    #[serde(rename = "last_active_ms", serialize_with = "crate::clock::ms::instant")]
    pub last_active: SystemTime,
    /// The person's last input, by the database's clock, as far as heartbeats reported it.
    #[serde(rename = "last_input_ms", serialize_with = "crate::clock::ms::instant")]
    pub last_input: SystemTime,
    /// The time until it expires without another heartbeat. Count down from this; never compare `since` with a
    /// clock of your own.
    #[serde(rename = "remaining_ms", serialize_with = "crate::clock::ms::duration")]
    pub remaining: Duration,
    /// The time to live after a heartbeat.
    #[serde(rename = "ttl_ms", serialize_with = "crate::clock::ms::duration")]
    pub ttl: Duration,
    /// The time since the last input, at the time of this response.
    #[serde(rename = "idle_ms", serialize_with = "crate::clock::ms::duration")]
    pub idle: Duration,
    /// The time since the last heartbeat, at the time of this response.
    #[serde(rename = "silent_ms", serialize_with = "crate::clock::ms::duration")]
    pub silent: Duration,
    /// The visibility of the owner to others.
    #[serde(skip)]
    pub(crate) shown: ShowOwner,
}
