//! A process that stops in the middle of a short operation. On databases with row locks it blocks only its own key.

use std::time::{Duration, Instant};

use tenure::{
    LockId,
    error::{DatabaseError, LockError},
};
use tokio::task::JoinSet;

use super::support::{TestDb, key, kim, lee};

/// A process that inserts the row of a key holds it until the commit; a process that was stopped just then never commits.
pub async fn stopped_process_blocks_only_its_own_key(t: &TestDb) {
    let stuck = key();
    let held = t.locks.try_lock(&key(), &kim()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    let hash = LockId::random().reveal();
    let hash = match t.db.capabilities().database.starts_with("PostgreSQL") {
        true => format!("'\\x{hash}'"),
        false => format!("x'{hash}'"),
    };
    let make = format!(
        "insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, since, last_active, \
                                  expires_at, ttl, hard_until)
         values ('Order', '{}', '', 1, {hash}, 'kim', 'Kim', 0, 0, 0, 300000, 0)",
        stuck.id()
    );
    assert_eq!(t.by_hand_in(&mut tx, make).await.unwrap(), 1);
    let (mut asking, asked) = (JoinSet::new(), Instant::now());
    for at in 0..24 {
        let (locks, key) = (t.locks.clone(), if at % 6 == 3 { stuck.clone() } else { key() });
        asking.spawn(async move { (at % 6 == 3, locks.try_lock(&key, &lee()).await) });
    }
    let (locks, id) = (t.locks.clone(), held.id().clone());
    let beat = tokio::spawn(async move { locks.keep_alive(&[id]).await.unwrap().remove(0) });
    for (stuck, outcome) in asking.join_all().await {
        match (stuck, outcome) {
            (false, Ok(lease)) => assert_eq!(lease.holder().generation, 1),
            (true, Err(LockError::Database(DatabaseError::LockTimeout { .. }))) => {}
            (_, outcome) => panic!("{outcome:?}"),
        }
    }
    assert!(beat.await.unwrap().is_ok());
    // A try waits five seconds, after its part in a batch; the rest is generous.
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    tx.rollback().await.unwrap();
    assert_eq!(t.locks.try_lock(&stuck, &lee()).await.unwrap().holder().generation, 1);
}
