//! A transaction that holds a lease has a limit, busy or idle.

use std::time::{Duration, Instant};

use tenure::{Database, LockId, LockKey, LockManager, LockMode, Transaction, error::DatabaseError, error::Error};

use super::support::{TTL, TestDb, kim, lee, options};

const LIMIT: Duration = Duration::from_millis(400);
/// Far longer than the end of a session takes on a busy machine, and far shorter than the statements.
const GENEROUS: Duration = Duration::from_secs(20);

async fn limited(t: &TestDb) -> Database {
    let options = options().guarded_transaction(LIMIT).clock(t.clock.clone());
    Database::connect_with(t.url(), options).await.unwrap()
}

/// A transaction of another process under a lease that has expired meanwhile.
async fn guarding(t: &TestDb, db: &Database) -> (LockKey, LockId, Transaction) {
    let (locks, key) = (LockManager::new(db), LockKey::new("Order", t.order().await));
    let lease = locks.try_lock(&key, &kim()).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    tx.holding(&key, lease.id()).await.unwrap();
    t.clock.advance(TTL);
    (key, lease.id().clone(), tx)
}

/// A statement of the application that takes a minute, or for ever.
fn endless(t: &TestDb) -> String {
    match t.url().split(':').next() {
        Some("postgres") => "select pg_sleep(60)".into(),
        Some("mysql") => "do sleep(60)".into(),
        _ => counting(""),
    }
}

fn counting(limit: &str) -> String {
    format!("with recursive n (i) as (select 1 union all select i + 1 from n {limit}) select count(*) from n")
}

fn refused(ended: Result<(), Error>) {
    let Err(Error::Database(ended @ DatabaseError::GuardLimit { limit: LIMIT })) = ended else { panic!("{ended:?}") };
    for part in ["400 ms", "ConnectOptions::guarded_transaction", "LockManager::hold", "short transactions"] {
        assert!(ended.to_string().contains(part), "{ended}");
    }
}

pub async fn busy_guarded_transaction_ends_at_its_limit(t: &TestDb) {
    let db = limited(t).await;
    let (key, _, mut tx) = guarding(t, &db).await;
    let held = Instant::now();
    let busy = async {
        let ran = t.by_hand_in(&mut tx, endless(t)).await;
        assert!(ran.is_err(), "{ran:?}");
        let next = t.orders.find(&mut tx, &key.id().to_owned(), LockMode::PessimisticWrite).await;
        refused(next.map(drop));
        refused(tx.commit().await);
    };
    let next = async {
        let next = t.locks.lock(&key, &lee()).within(3 * GENEROUS).await.unwrap();
        (next, held.elapsed())
    };
    let ((), (next, took)) = tokio::join!(busy, next);
    println!("the key was free {:?} after the limit", took.saturating_sub(LIMIT));
    assert!(next.holder().generation == 2 && took < LIMIT + GENEROUS, "{took:?}");
    db.close().await;
}

/// On SQLite only its own process can end it: by its next operation.
pub async fn idle_guarded_transaction_ends_at_its_limit(t: &TestDb) {
    let db = limited(t).await;
    let (key, id, tx) = guarding(t, &db).await;
    if t.has_one_writer() {
        // The limit is a time of this process, so nothing else shows when it is over.
        tokio::time::sleep(LIMIT).await;
        refused(tx.commit().await);
        return drop(t.locks.lock(&key, &lee()).within(GENEROUS).await.unwrap());
    }
    let next = t.locks.lock(&key, &lee()).within(GENEROUS).await.unwrap();
    assert_eq!(next.holder().generation, 2);
    refused(tx.commit().await);
    let mut tx = db.begin().await.unwrap();
    assert!(matches!(tx.holding(&key, &id).await, Err(Error::NoLock(_))));
}

/// The limit belongs to one transaction, and not to its connection.
pub async fn transaction_after_a_guarded_one_has_no_limit(t: &TestDb) {
    let db = limited(t).await;
    for ends in ["committed", "rolled back", "dropped"] {
        let (_, _, tx) = guarding(t, &db).await;
        match ends {
            // On a busy machine the limit may have been first.
            "committed" => match tx.commit().await {
                Ok(()) | Err(Error::Database(DatabaseError::GuardLimit { .. })) => {}
                Err(other) => panic!("{other:?}"),
            },
            "rolled back" => tx.rollback().await.unwrap(),
            _ => drop(tx),
        }
        let mut tx = db.begin().await.unwrap();
        let longer_than_the_limit = match t.url().split(':').next() {
            Some("postgres") => "select pg_sleep(0.8)".into(),
            Some("mysql") => "do sleep(0.8)".into(),
            _ => counting("limit 4000000"),
        };
        t.by_hand_in(&mut tx, longer_than_the_limit).await.unwrap();
        t.orders.insert(&mut tx, super::order::Order::new(&super::support::random())).await.unwrap();
        tx.commit().await.unwrap();
    }
}
