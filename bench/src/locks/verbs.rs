//! What an editor does with a lock.

use async_trait::async_trait;

use crate::Outcome;

/// The verbs of a cycle, in their order.
pub(crate) const VERBS: [&str; 4] = ["try_lock", "check_lock", "extend", "release"];

/// A way to lock. Each verb is a transaction of its own.
#[async_trait]
pub(super) trait Locks: Send + Sync + 'static {
    /// What the holder shows.
    type Ticket: Send + Sync;

    /// Takes the lock.
    ///
    /// # Errors
    /// Also when somebody else holds it.
    async fn try_lock(&self, id: &str, owner: &str) -> Outcome<Self::Ticket>;

    /// Whether it is still held.
    ///
    /// # Errors
    /// Also when it is not.
    async fn check_lock(&self, ticket: &Self::Ticket) -> Outcome<()>;

    /// Moves its expiry.
    ///
    /// # Errors
    /// Also when it is not held.
    async fn extend(&self, ticket: &Self::Ticket) -> Outcome<()>;

    /// Gives it back.
    ///
    /// # Errors
    /// Also when it is not held.
    async fn release(&self, ticket: &Self::Ticket) -> Outcome<()>;
}

/// For those who make their lock ids themselves: 64 hexadecimal digits of 32 random bytes, as tenure's.
pub(super) fn random_id() -> String {
    tenure::LockId::random().reveal()
}

/// For those who go by this host's clock: milliseconds since 1970.
pub(super) fn now() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// How long a lock lasts without a sign of life, in milliseconds.
pub(super) const TTL: i64 = 300_000;
/// How much is added to that by a sign of life, in milliseconds.
pub(super) const BY: i64 = 60_000;

/// What is said of a lock that is not held.
pub(super) fn no_lock() -> Box<dyn std::error::Error + Send + Sync> {
    "the lock is not held".into()
}

/// What a number of changed rows says.
pub(super) fn one(rows: u64) -> Outcome<()> {
    if rows == 1 { Ok(()) } else { Err(no_lock()) }
}
