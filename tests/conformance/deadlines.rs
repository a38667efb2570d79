//! All waits of an operation count against its one deadline: for a connection, the writer of SQLite, rows.

use std::time::{Duration, Instant};

use tenure::{
    Database, Error, LockKey, LockManager, LockMode, Repository, Wait,
    error::{DatabaseError, LockError},
};

use super::order::Order;
use super::row_locks::{LIMIT, LockedRow, RELEASED, SHORTER, waiting, waiting_for};
use super::support::{MINUTE, TTL, TestDb, key, kim, lee, random};

/// Far more than required, for a busy machine, and less than the default of 5,000 ms.
const GENEROUS: Duration = Duration::from_secs(3);
/// The default deadline.
const UNLIMITED: Duration = Duration::from_secs(5);

/// A program that uses all its connections; on SQLite, the writer.
async fn busy(t: &TestDb) -> (Database, tenure::Transaction) {
    let db = t.another_process_with(1).await;
    let tx = db.begin().await.unwrap();
    (db, tx)
}

fn busy_or_locked(error: &DatabaseError) -> bool {
    matches!(error, DatabaseError::Busy(_) | DatabaseError::LockTimeout { .. })
}

pub async fn a_transaction_waits_for_a_connection_as_long_as_it_says(t: &TestDb) {
    let (db, tx) = busy(t).await;
    for wait in [Wait::Within(Duration::from_millis(20)), Wait::No] {
        let asked = Instant::now();
        let refused = db.begin_within(wait).await.unwrap_err();
        assert!(busy_or_locked(&refused) && asked.elapsed() < GENEROUS, "{:?}: {refused}", asked.elapsed());
    }
    let (orders, asked) = (Repository::<Order>::new(&db), Instant::now());
    let refused = orders.update(&random()).no_wait().run(Order::ship).await;
    assert!(refused.is_err() && asked.elapsed() < GENEROUS, "{:?}", asked.elapsed());
    tx.rollback().await.unwrap();
}

pub async fn operation_without_a_limit_waits_five_seconds(t: &TestDb) {
    let (db, tx) = busy(t).await;
    let (locks, asked) = (LockManager::new(&db), Instant::now());
    let waiting = async {
        match t.has_one_writer() {
            true => locks.try_lock(&key(), &kim()).await.map(drop).map_err(|error| match error {
                LockError::Database(error) => error,
                error => panic!("{error}"),
            }),
            false => db.begin().await.map(drop),
        }
    };
    let refused = waiting.await.unwrap_err();
    let took = asked.elapsed();
    assert!(busy_or_locked(&refused), "{refused:?}");
    assert!((Duration::from_millis(4_900)..UNLIMITED + GENEROUS).contains(&took), "{took:?}");
    tx.rollback().await.unwrap();
}

/// Transactions of the application use all connections; locks have their own.
pub async fn locks_do_not_wait_for_the_connections_of_the_application(t: &TestDb) {
    let held = key();
    t.locks.try_lock(&held, &kim()).await.unwrap();
    let (db, tx) = busy(t).await;
    let (locks, asked) = (LockManager::new(&db), Instant::now());
    locks.try_lock(&key(), &lee()).await.unwrap();
    let refused = locks.try_lock(&held, &lee()).await;
    assert!(matches!(&refused, Err(LockError::AlreadyLocked(holder)) if holder.owner == kim()), "{refused:?}");
    let waited = locks.lock(&held, &lee()).within(Duration::from_millis(300)).await;
    let told = matches!(&waited, Err(LockError::LockTimeout { holder: Some(holder), .. }) if holder.owner == kim());
    assert!(told, "{waited:?}");
    assert!(asked.elapsed() < GENEROUS, "{:?}", asked.elapsed());
    tx.rollback().await.unwrap();
}

pub async fn waiter_times_out_while_a_save_guards_an_expired_lease(t: &TestDb) {
    let key = LockKey::new("Order", t.order().await);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    t.locks.guard(&mut tx, lease.id()).await.unwrap();
    t.clock.advance(TTL);
    let asked = Instant::now();
    let refused = t.locks.lock(&key, &lee()).within(Duration::from_millis(300)).await;
    assert!(matches!(refused, Err(LockError::LockTimeout { .. })), "{refused:?}");
    assert!(asked.elapsed() < GENEROUS, "{:?} of 300 ms", asked.elapsed());
    tx.rollback().await.unwrap();
    assert_eq!(t.locks.try_lock(&key, &lee()).await.unwrap().holder().generation, 2);
}

fn timed_out(error: &Error) -> bool {
    matches!(error, Error::Database(DatabaseError::LockTimeout { .. }))
}

/// A waiter behind others waits for each of them.
pub async fn a_load_behind_a_queue_ends_at_its_deadline(t: &TestDb) {
    let no = t.order().await;
    let mut holder = t.db.begin().await.unwrap();
    t.orders.find(&mut holder, &no, LockMode::PessimisticWrite).await.unwrap().unwrap();
    let (orders, db, number) = (t.orders.clone(), t.db.clone(), no.clone());
    let next = waiting(async move {
        let mut tx = db.begin_within(Wait::Within(MINUTE)).await.unwrap();
        orders.find(&mut tx, &number, LockMode::PessimisticWrite).await.unwrap().unwrap();
        tx
    })
    .await;
    let (orders, db, number) = (t.orders.clone(), t.db.clone(), no.clone());
    let waiter = tokio::spawn(async move {
        let asked = Instant::now();
        let mut tx = db.begin_within(Wait::Within(LIMIT)).await.unwrap();
        (orders.find(&mut tx, &number, LockMode::PessimisticWrite).await.map(drop), asked.elapsed())
    });
    let locked = LockedRow::new(t).await;
    tokio::time::sleep(RELEASED).await;
    holder.rollback().await.unwrap();
    // A deadline that restarts now lasts longer.
    let (ended, took) = locked.outlasts(t, SHORTER, waiter).await.unwrap();
    match ended {
        Err(refused) => {
            assert!(timed_out(&refused) && took >= LIMIT - Duration::from_millis(10), "{refused:?} {took:?}")
        }
        // On a busy machine it was in the queue first.
        Ok(()) => assert!(took < LIMIT + SHORTER, "{took:?}"),
    }
    next.await.unwrap().rollback().await.unwrap();
}

/// A program that was stopped, or disconnected, in the middle of a save.
pub async fn idle_transaction_is_ended_and_its_lease_freed(t: &TestDb) {
    let still = t.another_process_with_idle_limit(Duration::from_secs(2)).await;
    let no = t.order().await;
    let (locks, key) = (LockManager::new(&still), LockKey::new("Order", no.clone()));
    let lease = locks.try_lock(&key, &kim()).await.unwrap();
    let mut tx = still.begin().await.unwrap();
    locks.guard(&mut tx, lease.id()).await.unwrap();
    t.orders.find(&mut tx, &no, LockMode::PessimisticWrite).await.unwrap().unwrap();
    t.clock.advance(TTL);
    // Only the server ends the transaction.
    let next = t.locks.lock(&key, &lee()).within(Duration::from_secs(30)).await.unwrap();
    assert_eq!(next.holder().generation, 2);
    t.orders.update(&no).locking(LockMode::PessimisticWrite).run(Order::ship).await.unwrap();
    let ended = t.orders.find(&mut tx, &no, LockMode::PessimisticWrite).await.unwrap_err();
    let Error::Database(ended @ DatabaseError::ConnectionLost(_)) = ended else { panic!("{ended:?}") };
    assert!(ended.to_string().contains("ConnectOptions::idle_in_transaction"), "{ended}");
    assert!(tx.commit().await.is_err());
}

/// Another transaction inserts the row of the key during the request, and holds it afterwards.
pub async fn narrowly_lost_lock_is_retryable(t: &TestDb) {
    let (key, mut tx) = (key(), t.db.begin().await.unwrap());
    let hash = tenure::LockId::random().reveal();
    let hash = match t.db.capabilities().database.starts_with("PostgreSQL") {
        true => format!("'\\x{hash}'"),
        false => format!("x'{hash}'"),
    };
    let make = format!(
        "insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, since, last_active, active_at, \
                                  expires_at, ttl, hard_until)
         values ('Order', '{}', '', 1, {hash}, 'kim', 'Kim', 0, 0, 0, 9000000000000000, 300000, 9000000000000000)",
        key.id()
    );
    assert_eq!(t.by_hand_in(&mut tx, make).await.unwrap(), 1);
    let (locks, wanted) = (t.locks.clone(), key.clone());
    // Longer than its part in a batch, which waits for nobody.
    let asking = waiting_for(Duration::from_millis(1_800), async move { locks.try_lock(&wanted, &lee()).await }).await;
    tx.commit().await.unwrap();
    let lost = asking.await.unwrap().unwrap_err();
    match &lost {
        LockError::LockingFailed { key: of } => assert!(*of == key && lost.is_retryable(), "{lost:?}"),
        // The commit became visible before the reason was read, as sometimes on MySQL 9.7.
        LockError::AlreadyLocked(holder) => assert_eq!((&*holder.owner.id, holder.generation), ("kim", 1)),
        other => panic!("{other:?}"),
    }
}
