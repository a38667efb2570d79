//! Readers and concurrent requests on databases with row locks: the interleavings that could grant an exclusive lock
//! beside a reader.

use std::sync::Arc;

use tenure::{Lease, LockId, LockKey, LockManager, LockPolicy, Transaction, error::LockError};
use tokio::sync::Barrier;
use tokio::task::JoinHandle;

use super::order::Order;
use super::row_locks::waiting;
use super::support::{TTL, TestDb, key, kim, lee, version};

fn sharing(t: &TestDb) -> LockManager {
    t.locks.clone().with_policy("Order", LockPolicy::shared())
}

/// Performs another process's changes of the lock table.
async fn sql(t: &TestDb, tx: &mut Transaction, statement: String) {
    t.by_hand_in(tx, statement).await.unwrap();
}

async fn taking(locks: &LockManager, key: &LockKey) -> JoinHandle<Result<Lease, LockError>> {
    let (locks, key) = (locks.clone(), key.clone());
    waiting(async move { locks.try_lock(&key, &lee()).await }).await
}

pub async fn in_flight_heartbeat_protects_its_share(t: &TestDb) {
    let (locks, key) = (sharing(t), key());
    let share = locks.try_lock_shared(&key, &kim()).await.unwrap();
    t.clock.advance(TTL);
    // It came in time, and its commit takes a while.
    let mut tx = t.db.begin().await.unwrap();
    let beat = "update tenure_lock set expires_at = expires_at + 300000 where kind = 'Order' and slot <> ''";
    sql(t, &mut tx, format!("{beat} and id = '{}'", key.id())).await;
    let taking = taking(&locks, &key).await;
    tx.commit().await.unwrap();
    let refused = taking.await.unwrap();
    assert!(
        matches!(refused, Err(LockError::AlreadyLocked(_) | LockError::LockingFailed { .. })),
        "beside a reader: {refused:?}"
    );
    locks.check_lock(share.id()).await.unwrap();
}

pub async fn exclusive_acquisition_sees_a_concurrent_reader(t: &TestDb) {
    let (locks, key) = (sharing(t), key());
    locks.release_lock(locks.try_lock(&key, &kim()).await.unwrap().id()).await.unwrap();
    // A reader has locked the row, and takes a slot.
    let (mut tx, row) = (t.db.begin().await.unwrap(), format!("kind = 'Order' and id = '{}' and slot = ''", key.id()));
    sql(t, &mut tx, format!("update tenure_lock set shared = true, generation = generation + 1 where {row}")).await;
    let hash = match t.db.capabilities().database.starts_with("PostgreSQL") {
        true => format!("decode('{}', 'hex')", LockId::random().reveal()),
        false => format!("unhex('{}')", LockId::random().reveal()),
    };
    let columns = "generation, owner_id, owner_name, since, last_active, active_at, ttl, hard_until";
    let taken = format!(
        "insert into tenure_lock (kind, id, slot, lock_hash, {columns}, expires_at, shared)
         select kind, id, {hash}, {hash}, {columns}, hard_until, true from tenure_lock where {row}"
    );
    sql(t, &mut tx, taken).await;
    let taking = taking(&locks, &key).await;
    tx.commit().await.unwrap();
    let refused = taking.await.unwrap();
    assert!(
        matches!(refused, Err(LockError::AlreadyLocked(_) | LockError::LockingFailed { .. })),
        "beside a reader: {refused:?}"
    );
    let again = locks.try_lock(&key, &lee()).await;
    assert!(matches!(&again, Err(LockError::AlreadyLocked(reader)) if reader.shared), "{again:?}");
}

pub async fn a_reader_waits_for_a_save_that_relied_upon_there_being_none(t: &TestDb) {
    let (locks, no) = (sharing(t), t.order().await);
    let key = LockKey::of::<Order>(&no);
    locks.release_lock(locks.try_lock(&key, &kim()).await.unwrap().id()).await.unwrap();
    let (reached, go_on) = (Arc::new(Barrier::new(2)), tokio::sync::oneshot::channel::<()>());
    let (meet, orders, number) = (reached.clone(), t.orders.clone(), no.clone());
    let handle = tokio::runtime::Handle::current();
    let saving = tokio::spawn(async move {
        let command = |order: &mut Order| {
            tokio::task::block_in_place(|| handle.block_on(async { (meet.wait().await, go_on.1.await) })).1.unwrap();
            order.ship()
        };
        orders.update(&number).by(&lee()).unless_locked().run(command).await.map(|order| order.version())
    });
    reached.wait().await;
    let (sharing, orders, number) = (locks.clone(), t.orders.clone(), no.clone());
    let reading = waiting(async move {
        sharing.try_lock_shared(&key, &kim()).await.unwrap();
        orders.get(&number).await.unwrap().unwrap().version()
    })
    .await;
    go_on.0.send(()).unwrap();
    assert_eq!(saving.await.unwrap().unwrap(), version(2));
    assert_eq!(reading.await.unwrap(), version(2));
}
