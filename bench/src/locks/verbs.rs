//! The verbs of an editor.

use async_trait::async_trait;

use crate::Outcome;

/// The verbs of a cycle, in their order.
pub(crate) const VERBS: [&str; 4] = ["try_lock", "check_lock", "extend", "release"];

/// A way to lock. Each verb is a transaction of its own.
#[async_trait]
pub(super) trait Locks: Send + Sync + 'static {
    /// The proof of the holder.
    type Ticket: Send + Sync;

    /// Acquires the lock.
    ///
    /// # Errors
    /// Also if it is held.
    async fn try_lock(&self, id: &str, owner: &str) -> Outcome<Self::Ticket>;

    /// Checks that it is still held.
    ///
    /// # Errors
    /// If it is not.
    async fn check_lock(&self, ticket: &Self::Ticket) -> Outcome<()>;

    /// Moves its expiry.
    ///
    /// # Errors
    /// If it is not held.
    async fn extend(&self, ticket: &Self::Ticket) -> Outcome<()>;

    /// Releases it.
    ///
    /// # Errors
    /// If it is not held.
    async fn release(&self, ticket: &Self::Ticket) -> Outcome<()>;
}

/// For algorithms that generate their lock ids themselves: 64 hexadecimal digits of 32 random bytes, like tenure's.
pub(super) fn random_id() -> String {
    tenure::LockId::random().reveal()
}

/// For algorithms that use this host's clock: milliseconds since 1970.
pub(super) fn now() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The time to live of a lock, in milliseconds.
pub(super) const TTL: i64 = 300_000;
/// The extension by a heartbeat, in milliseconds.
pub(super) const BY: i64 = 60_000;

/// The error about a lock that is not held.
pub(super) fn no_lock() -> Box<dyn std::error::Error + Send + Sync> {
    "the lock is not held".into()
}

/// Checks the number of changed rows.
pub(super) fn one(rows: u64) -> Outcome<()> {
    if rows == 1 { Ok(()) } else { Err(no_lock()) }
}
