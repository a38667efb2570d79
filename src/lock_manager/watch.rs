//! Being told what happens to locks.

use super::LockManager;
use crate::error::LockError;
use crate::lease::LockKey;
use crate::watch::Watch;

impl LockManager {
    /// What happens to the locks on these keys, in this process and in others: first a snapshot of each, then every change
    /// in the order in which it happened. What this process does is told at once; what others do when it is heard of, or
    /// looked for ([`poll_interval`](crate::storage::ConnectOptions::poll_interval)). No change of hands in between is passed over.
    ///
    /// Whoever does not read for long loses events, but is told so, and gets a new snapshot: no more than 256 are kept.
    /// However many watch, each process looks with one statement (one for each 500 keys), and only while somebody watches.
    /// Call it inside of a Tokio runtime.
    ///
    /// Others than whom this [acts for](Self::acting_for) are shown as the policy says; the note of a request is only told to
    /// whom it is meant for, and to whoever wrote it. (To nobody in particular, all notes are told.)
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
