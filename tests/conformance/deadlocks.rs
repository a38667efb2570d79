//! Operations that lock several rows are retried after a deadlock.

use std::time::Duration;

use tenure::{Error, LockId, LockMode, Transaction, Wait, error::DatabaseError, unit_of_work::Retry};

use super::order::Counter;
use super::row_locks::waiting;
use super::support::{MINUTE, TestDb, key, kim, random};

/// Far longer than a database takes to find a deadlock.
const LONG: Wait = Wait::Within(MINUTE);

/// Two counters. On MariaDB and MySQL the transaction that locks the second has written so much that it is not the victim.
async fn second_is_locked(t: &TestDb) -> ([String; 2], Transaction) {
    let prefix = random();
    let names = [format!("{prefix}a"), format!("{prefix}b")];
    let mut tx = t.db.begin().await.unwrap();
    for name in &names {
        t.counters.insert(&mut tx, Counter { name: name.clone(), count: 0 }).await.unwrap();
    }
    tx.commit().await.unwrap();
    let mut holder = t.db.begin_within(LONG).await.unwrap();
    for _ in 0..40 {
        t.counters.insert(&mut holder, Counter { name: random(), count: 0 }).await.unwrap();
    }
    t.counters.find(&mut holder, &names[1], LockMode::PessimisticWrite).await.unwrap().unwrap();
    (names, holder)
}

/// Closes the cycle, as soon as the other transaction has locked the first; its next step needs the second. Returns whether the other one
/// is the victim: PostgreSQL aborts the one that notices the cycle, which may be either.
async fn asks_for_the_first(t: &TestDb, first: &String, mut holder: Transaction) -> bool {
    loop {
        let mut tx = t.db.begin().await.unwrap();
        let found = t.counters.find_many_skip_locked(&mut tx, std::slice::from_ref(first)).await.unwrap();
        tx.rollback().await.unwrap();
        if found.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    match t.counters.find(&mut holder, first, LockMode::PessimisticWrite).await {
        Ok(_) => holder.commit().await.is_ok(),
        Err(Error::Database(DatabaseError::Deadlock)) => false,
        Err(other) => panic!("{other:?}"),
    }
}

async fn counts(t: &TestDb, names: &[String; 2]) -> Vec<i64> {
    let mut counts = Vec::new();
    for name in names {
        counts.push(t.counters.get(name).await.unwrap().unwrap().count);
    }
    counts
}

/// A statement of the application's own that changes a counter.
async fn count(tx: &mut Transaction, name: &str) -> Result<(), Error> {
    let statement = format!("update test_counter set count = count + 7, version = version + 1 where name = '{name}'");
    let statement = sqlx::raw_sql(sqlx::AssertSqlSafe(statement));
    #[cfg(feature = "postgres")]
    if let Ok(connection) = tx.postgres() {
        statement.execute(connection).await?;
        return Ok(());
    }
    #[cfg(feature = "mysql")]
    if let Ok(connection) = tx.mysql() {
        statement.execute(connection).await?;
        return Ok(());
    }
    drop((tx, statement));
    unreachable!("SQLite has no deadlocks")
}

/// The other transaction may still wait when the next attempt begins, so that attempt can lose the race too.
fn deadlocks_only(reasons: &[tenure::error::ErrorCode], is_victim: bool) {
    let all = reasons.iter().all(|reason| *reason == tenure::error::ErrorCode::Deadlock);
    assert!(reasons.is_empty() != is_victim && all, "{reasons:?}");
}

pub async fn own_statement_that_loses_a_deadlock_is_run_again(t: &TestDb) {
    let (names, holder) = second_is_locked(t).await;
    let both = || async {
        let mut tx = t.db.begin_within(LONG).await?;
        for name in &names {
            count(&mut tx, name).await?;
        }
        tx.commit().await
    };
    let own = t.db.retry(Retry::transient(10).within(MINUTE), both);
    let (own, is_victim) = tokio::join!(own, asks_for_the_first(t, &names[0], holder));
    deadlocks_only(&own.unwrap().reasons, is_victim);
    assert_eq!(counts(t, &names).await, [7, 7]);
}

pub async fn step_that_loses_a_deadlock_is_run_again(t: &TestDb) {
    let (names, holder) = second_is_locked(t).await;
    let second = &names[1];
    let update = t.counters.update(&names[0]).also(move |mut tx, _| async move { Ok(count(&mut tx, second).await?) });
    let up = |counter: &mut Counter| {
        counter.count += 7;
        Ok::<_, std::convert::Infallible>(())
    };
    let update = update.within(MINUTE).retrying(Retry::transient(10).within(MINUTE)).run(up);
    let (update, is_victim) = tokio::join!(update, asks_for_the_first(t, &names[0], holder));
    deadlocks_only(&update.unwrap().reasons, is_victim);
    assert_eq!(counts(t, &names).await, [7, 7]);
}

pub async fn saves_that_judge_the_key_and_then_hold_it_queue(t: &TestDb) {
    let key = key();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let (id, generation) = (lease.id().clone(), lease.holder().generation);
    let mut first = t.db.begin().await.unwrap();
    first.unless_locked_except(&key, generation).await.unwrap();
    let (db, same, presented) = (t.db.clone(), key.clone(), id.clone());
    let second = waiting(async move {
        let mut tx = db.begin().await?;
        tx.unless_locked_except(&same, generation).await?;
        tx.by(&kim()).holding(&same, &presented).await?;
        tx.commit().await
    })
    .await;
    first.by(&kim()).holding(&key, &id).await.unwrap();
    first.commit().await.unwrap();
    second.await.unwrap().unwrap();
}

pub async fn form_sent_twice_during_its_grant_does_not_deadlock(t: &TestDb) {
    let (key, id) = (key(), LockId::random());
    let mut before = t.db.begin().await.unwrap();
    before.unless_locked(&key).await.unwrap();
    let (locks, same, presented) = (t.locks.clone(), key.clone(), id.clone());
    let granted = waiting(async move { locks.try_lock_as(&same, &kim(), presented).await }).await;
    let mut sent = Vec::new();
    for _ in 0..2 {
        let (db, same, presented) = (t.db.clone(), key.clone(), id.clone());
        let save = waiting(async move {
            let mut tx = db.begin().await?;
            tx.by(&kim()).from_form(&same, Some(&presented)).await?;
            tx.commit().await
        });
        sent.push(save.await);
    }
    before.commit().await.unwrap();
    granted.await.unwrap().unwrap();
    for save in sent {
        save.await.unwrap().unwrap();
    }
}
