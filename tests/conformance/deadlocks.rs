//! Operations that lock several rows are retried after a deadlock.

use tenure::{LockMode, Transaction, aggregate::Condition};
use tokio::task::JoinHandle;

use super::order::Counter;
use super::row_locks::waiting;
use super::support::{TestDb, random};

/// Two counters; a transaction that has written so much that it is not the victim holds the second.
async fn second_is_locked(t: &TestDb) -> ([String; 2], Transaction) {
    let prefix = random();
    let names = [format!("{prefix}a"), format!("{prefix}b")];
    let mut tx = t.db.begin().await.unwrap();
    for name in &names {
        t.counters.insert(&mut tx, Counter { name: name.clone(), count: 0 }).await.unwrap();
    }
    tx.commit().await.unwrap();
    let mut holder = t.db.begin().await.unwrap();
    for _ in 0..40 {
        t.counters.insert(&mut holder, Counter { name: random(), count: 0 }).await.unwrap();
    }
    t.counters.find(&mut holder, &names[1], LockMode::PessimisticWrite).await.unwrap().unwrap();
    (names, holder)
}

/// Closes the cycle: the waiter for the second holds the first.
async fn asks_for_the_first(t: &TestDb, first: &String, mut holder: Transaction) {
    t.counters.find(&mut holder, first, LockMode::PessimisticWrite).await.unwrap().unwrap();
    holder.commit().await.unwrap();
}

async fn counts(t: &TestDb, names: &[String; 2]) -> Vec<i64> {
    let mut counts = Vec::new();
    for name in names {
        counts.push(t.counters.get(name).await.unwrap().unwrap().count);
    }
    counts
}

pub async fn a_bulk_update_that_loses_a_deadlock_is_done_again(t: &TestDb) {
    let (names, holder) = second_is_locked(t).await;
    let (db, counters, [first, second]) = (t.db.clone(), t.counters.clone(), names.clone());
    let bulk: JoinHandle<u64> = waiting(async move {
        let mut tx = db.begin().await.unwrap();
        let ours = (!Condition::less("name", first)).and(Condition::at_most("name", second));
        let changed = counters.update_all(&mut tx).set("count", 7_i64).when(ours).run().await.unwrap();
        tx.commit().await.unwrap();
        changed
    })
    .await;
    asks_for_the_first(t, &names[0], holder).await;
    assert_eq!(bulk.await.unwrap(), 2);
    assert_eq!(counts(t, &names).await, [7, 7]);
}

pub async fn several_saves_that_lose_a_deadlock_are_done_again(t: &TestDb) {
    let (names, holder) = second_is_locked(t).await;
    let mut all = Vec::new();
    for name in &names {
        let mut counter = t.counters.get(name).await.unwrap().unwrap();
        counter.count = 7;
        all.push(counter);
    }
    let (db, counters) = (t.db.clone(), t.counters.clone());
    let saves = waiting(async move {
        let mut tx = db.begin().await.unwrap();
        let saved = counters.save_all(&mut tx, &mut all).await;
        assert!(saved.iter().all(Result::is_ok), "{saved:?}");
        tx.commit().await.unwrap();
    })
    .await;
    asks_for_the_first(t, &names[0], holder).await;
    saves.await.unwrap();
    assert_eq!(counts(t, &names).await, [7, 7]);
}
