//! Subscribing to lock events.

use super::LockManager;
use crate::error::LockError;
use crate::lease::LockKey;
use crate::watch::Watch;

impl LockManager {
    /// The events of the locks on these keys, in this process and in others: first a snapshot of each key, then every change
    /// in order. Events of this process arrive at once; events of others arrive by notification or
    /// by polling ([`poll_interval`](crate::storage::ConnectOptions::poll_interval)). No change of the holder in between is lost.
    ///
    /// A slow subscriber loses events: at most 256 are queued, then it gets a new snapshot that says so.
    /// With any number of subscribers, each process polls with one statement (one per 500 keys), and only while there
    /// are any. Call it inside a Tokio runtime.
    ///
    /// Holders other than the person of [`acting_for`](Self::acting_for) are redacted by the policy; the note of a request
    /// is visible only to its recipient and its author. (A manager without an acting person sees all notes.)
    ///
    /// ```
    /// # use tenure::{Database, LockKey, LockManager, Owner, watch::LockEvent};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let (locks, kim, order) = (LockManager::new(&db), Owner::new("kim", "Kim"), LockKey::new("Order", "1234"));
    /// let mut events = locks.watch([order.clone()])?;
    /// let Some(LockEvent::Snapshot { keys, .. }) = events.next().await else { panic!("first comes the snapshot") };
    /// assert!(keys[0].holders.is_empty());
    ///
    /// locks.try_lock(&order, &kim).await?;
    /// assert!(matches!(events.next().await, Some(LockEvent::Acquired(holder)) if holder.owner == kim));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LockError::InvalidKey`].
    pub fn watch(&self, keys: impl IntoIterator<Item = LockKey>) -> Result<Watch, LockError> {
        let keys: Vec<LockKey> = keys.into_iter().collect();
        if let Some(invalid) = keys.iter().find_map(LockError::of_invalid) {
            return Err(invalid);
        }
        let heartbeat = |key: LockKey| (self.policy(key.kind()).heartbeat_interval(), key);
        let keys = keys.into_iter().map(heartbeat).map(|(heartbeat, key)| (key, heartbeat));
        Ok(Watch::new(&self.hub, keys, self.owner.clone()))
    }
}
