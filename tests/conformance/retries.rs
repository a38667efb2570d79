//! Units of work that are retried, and those that are not.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tenure::{
    Error, LockMode, Version, Wait,
    error::{DatabaseError, UpdateError},
    unit_of_work::Retry,
};
use tokio::task::JoinSet;

use super::order::{AlreadyShipped, Counter, Order};
use super::support::{TestDb, version};

fn add(counter: &mut Counter) -> Result<(), std::convert::Infallible> {
    counter.count += 1;
    Ok(())
}

/// Saves a counter that another session saved after the load, in the first `races` runs.
async fn losing_races(t: &TestDb, name: &String, races: u32, run: u32) -> Result<i64, Error> {
    let mut counter = t.counters.get(name).await?.unwrap();
    if run <= races {
        t.counters.update(name).run(add).await.unwrap();
    }
    counter.count += 100;
    let mut tx = t.db.begin().await?;
    t.counters.save(&mut tx, &mut counter).await?;
    tx.commit().await?;
    Ok(counter.count)
}

pub async fn lost_race_retries_the_unit_on_a_fresh_load(t: &TestDb) {
    let (name, runs) = (t.counter(0).await, AtomicU32::new(0));
    let work = || losing_races(t, &name, 1, runs.fetch_add(1, Ordering::Relaxed) + 1);
    let done = t.db.retry(Retry::transient(3), work).await.unwrap();
    assert_eq!(done.value, 101);
    assert_eq!(t.counters.get(&name).await.unwrap().unwrap().count, 101);
}

pub async fn the_result_tells_the_attempts_and_their_reasons(t: &TestDb) {
    let (name, runs) = (t.counter(0).await, AtomicU32::new(0));
    let work = || losing_races(t, &name, 2, runs.fetch_add(1, Ordering::Relaxed) + 1);
    let done = t.db.retry(Retry::transient(3), work).await.unwrap();
    assert_eq!((done.attempts(), done.reasons), (3, vec![tenure::error::ErrorCode::LostRace; 2]));
}

pub async fn a_version_that_a_person_saw_is_never_retried(t: &TestDb) {
    let (no, runs) = (t.order().await, AtomicU32::new(0));
    t.orders.update(&no).run(|order| order.send_to("theirs")).await.unwrap();
    let update = t.orders.update(&no).expecting(Version::FIRST).retrying(Retry::transient(5));
    let refused = update.run(|order| {
        runs.fetch_add(1, Ordering::Relaxed);
        order.send_to("mine")
    });
    let refused = refused.await;
    assert!(matches!(refused, Err(UpdateError::Failed(Error::VersionConflict(_)))), "{refused:?}");
    // Once, on a copy of the opened state, so that the conflict can show it.
    assert_eq!(runs.into_inner(), 1);
    assert_eq!(t.stored(&no).await.1, version(2));
}

pub async fn domain_refusal_is_not_retried(t: &TestDb) {
    let (no, runs) = (t.order().await, AtomicU32::new(0));
    t.orders.update(&no).run(Order::ship).await.unwrap();
    let refused = t.orders.update(&no).retrying(Retry::transient(5)).run(|order| {
        runs.fetch_add(1, Ordering::Relaxed);
        order.ship()
    });
    let refused = refused.await;
    assert!(matches!(refused, Err(UpdateError::Refused(AlreadyShipped))), "{refused:?}");
    assert_eq!(runs.into_inner(), 1);
}

pub async fn attempts_and_time_are_bounded(t: &TestDb) {
    for (policy, expected) in
        [(Retry::transient(0), 1), (Retry::transient(4), 4), (Retry::transient(u32::MAX).within(Duration::ZERO), 1)]
    {
        let (name, runs) = (t.counter(0).await, AtomicU32::new(0));
        let work = || losing_races(t, &name, u32::MAX, runs.fetch_add(1, Ordering::Relaxed) + 1);
        let lost = t.db.retry(policy, work).await;
        assert!(matches!(lost, Err(Error::OptimisticLockingFailure(_))), "{lost:?}");
        assert_eq!(runs.into_inner(), expected, "{policy:?}");
    }
}

pub async fn a_lock_timeout_is_not_retried(t: &TestDb) {
    let name = t.counter(0).await;
    let mut tx = t.db.begin().await.unwrap();
    t.counters.find(&mut tx, &name, LockMode::PessimisticWrite).await.unwrap().unwrap();
    let runs = AtomicU32::new(0);
    let work = || async {
        runs.fetch_add(1, Ordering::Relaxed);
        let mut tx = t.db.begin_within(Wait::No).await?;
        t.counters.find(&mut tx, &name, LockMode::PessimisticWrite).await?;
        Ok::<_, Error>(())
    };
    let refused = t.db.retry(Retry::transient(3), work).await;
    assert!(matches!(refused, Err(Error::Database(DatabaseError::LockTimeout { .. }))), "{refused:?}");
    assert_eq!(runs.into_inner(), 1);
    tx.rollback().await.unwrap();
}

pub async fn no_increment_is_lost_among_many_that_retry(t: &TestDb) {
    let name = t.counter(0).await;
    let mut clerks = JoinSet::new();
    for _ in 0..8 {
        let (counters, name) = (t.counters.clone(), name.clone());
        clerks.spawn(async move {
            let mut attempts = 0;
            for _ in 0..5 {
                let policy = Retry::transient(1_000).within(Duration::from_secs(60));
                attempts += counters.update(&name).retrying(policy).run(add).await.unwrap().attempts();
            }
            attempts
        });
    }
    let (begun, attempts) = (Instant::now(), clerks.join_all().await.into_iter().sum::<usize>());
    let counter = t.counters.get(&name).await.unwrap().unwrap();
    assert_eq!((counter.count, counter.version()), (40, version(41)), "{attempts} attempts, {:?}", begun.elapsed());
}

pub async fn a_commit_that_can_be_found_out_about_leaves_its_operation_id(t: &TestDb) {
    let db = t.db.clone().resolving_commits();
    let name = t.counter(0).await;
    let counters = tenure::Repository::<Counter>::new(&db);
    assert_eq!(counters.update(&name).run(add).await.unwrap().count, 1);
    // Other tests may have left operation ids as well, and forget them concurrently. None is a day old.
    assert_eq!(db.forget_operations(Duration::from_secs(86_400)).await.unwrap(), 0);
}
