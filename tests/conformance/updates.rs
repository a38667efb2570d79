//! One unit of work: the lock, the version, the command, the save.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tenure::aggregate::value::Value;
use tenure::{
    Error, Loaded, LockId, LockKey, LockManager, LockMode, Repository, Version,
    error::{LockError, UpdateError},
    lease::LeaseLossReason,
    unit_of_work::Retry,
    version::{Merge, Side},
};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::order::{AlreadyShipped, Counter, Order, State};
use super::support::{TTL, TestDb, kim, lee, random, version};

type Outcome = Result<Loaded<Order>, UpdateError<AlreadyShipped>>;

fn failed(outcome: Outcome) -> Error {
    match outcome {
        Err(UpdateError::Failed(error)) => error,
        other => panic!("expected a failure, found {other:?}"),
    }
}

fn why(outcome: Outcome) -> LeaseLossReason {
    match failed(outcome) {
        Error::NoLock(no_lock) => no_lock.why,
        other => panic!("expected NoLock, found {other:?}"),
    }
}

pub async fn the_version_that_was_seen_is_saved_upon(t: &TestDb) {
    let no = t.order().await;
    let saved = t.orders.update(&no).expecting(Version::FIRST).run(Order::ship).await.unwrap();
    assert_eq!((saved.version(), saved.state), (version(2), State::Shipped));
    assert_eq!(t.stored(&no).await.1, version(2));
}

/// The parcel that went to the wrong house.
pub async fn stale_version_is_refused_before_the_command(t: &TestDb) {
    let no = t.order().await;
    let change = |line1: &'static str| move |order: &mut Order| order.send_to(line1);
    t.orders.update(&no).by(&lee()).command("send to").run(change("Sejong-daero 9")).await.unwrap();
    let changed_at = t.clock.now();
    let refused = t.orders.update(&no).expecting(Version::FIRST).by(&kim()).run(|order| {
        order.lines[0].quantity = 5;
        order.send_to("Hangang-daero 2")
    });
    let refused = failed(refused.await);
    assert!(refused.is_conflict() && !refused.is_retryable());
    let Error::VersionConflict(conflict) = refused else { panic!("{refused:?}") };
    assert_eq!((conflict.expected, conflict.actual), (version(1), Some(version(2))));
    let latest = conflict.changed.as_ref().unwrap();
    assert_eq!((latest.by.clone(), latest.at, latest.command.as_deref()), (Some(lee()), changed_at, Some("send to")));
    let text = |text: &str| Some(Value::Text(text.into()));
    let [address, quantity] = &conflict.fields[..] else { panic!("{:?}", conflict.fields) };
    assert_eq!((address.path.as_str(), address.side()), ("ship_to.line1", Side::Both));
    assert_eq!(
        (&address.opened, &address.now, &address.mine),
        (&text("Teheran-ro 1"), &text("Sejong-daero 9"), &text("Hangang-daero 2"))
    );
    assert_eq!((quantity.path.as_str(), quantity.side()), ("lines[1].quantity", Side::Mine));
    assert!(!conflict.auto_mergeable());
    let (stored, at) = t.stored(&no).await;
    assert_eq!((stored.ship_to.line1.as_str(), stored.lines[0].quantity, at), ("Sejong-daero 9", 1, version(2)));
}

pub async fn conflict_without_revisions_lacks_the_opened_state(t: &TestDb) {
    let name = t.counter(0).await;
    let add = |counter: &mut Counter| {
        counter.count += 1;
        Ok::<_, AlreadyShipped>(())
    };
    t.counters.update(&name).by(&lee()).run(add).await.unwrap();
    let refused = t.counters.update(&name).expecting(Version::FIRST).run(add).await;
    let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = refused else { panic!("{refused:?}") };
    assert!(!conflict.opened_known && !conflict.mine_known && conflict.changed.is_none());
    assert_eq!((conflict.expected, conflict.actual, conflict.fields), (version(1), Some(version(2)), vec![]));
}

pub async fn domain_refusal_passes_through_and_changes_nothing(t: &TestDb) {
    let no = t.order().await;
    t.orders.update(&no).run(Order::ship).await.unwrap();
    let refused = t.orders.update(&no).run(|order| {
        order.lines.clear();
        order.send_to("too late")
    });
    assert!(matches!(refused.await, Err(UpdateError::Refused(AlreadyShipped))));
    assert_eq!((t.stored(&no).await.0.lines.len(), t.stored(&no).await.1), (2, version(2)));
}

pub async fn an_update_of_nothing_is_not_found(t: &TestDb) {
    let refused = failed(t.orders.update(&random()).expecting(Version::FIRST).run(Order::ship).await);
    assert_eq!((refused.code(), matches!(refused, Error::NotFound { .. })), (tenure::error::ErrorCode::NotFound, true));
}

pub async fn one_of_many_saves_on_one_version_wins(t: &TestDb) {
    const SAVES: usize = 8;
    let no = t.order().await;
    let barrier = Arc::new(Barrier::new(SAVES));
    let mut saves = JoinSet::new();
    for save in 0..SAVES {
        let (orders, no, barrier) = (t.orders.clone(), no.clone(), Arc::clone(&barrier));
        saves.spawn(async move {
            barrier.wait().await;
            orders.update(&no).expecting(Version::FIRST).run(|order| order.send_to(&save.to_string())).await
        });
    }
    let outcomes = saves.join_all().await;
    let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    // A loser that read after the winner's commit sees a conflict; one that read before lost the race at the same moment.
    let conflicts = outcomes.into_iter().filter_map(Result::err).filter(|error| match error {
        UpdateError::Failed(Error::VersionConflict(conflict) | Error::OptimisticLockingFailure(conflict)) => {
            conflict.actual == Some(version(2))
        }
        _ => false,
    });
    assert_eq!((won, conflicts.count()), (1, SAVES - 1));
    assert_eq!(t.stored(&no).await.1, version(2));
}

pub async fn no_increment_is_lost_among_many(t: &TestDb) {
    const WORKERS: i64 = 8;
    const EACH: i64 = 25;
    let name = t.counter(0).await;
    let elsewhere = Repository::<Counter>::new(&t.another_process().await);
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let counters = if worker % 2 == 0 { t.counters.clone() } else { elsewhere.clone() };
        let name = name.clone();
        workers.spawn(async move {
            for _ in 0..EACH {
                let add = |counter: &mut Counter| {
                    counter.count += 1;
                    Ok::<_, AlreadyShipped>(())
                };
                counters.update(&name).locking(LockMode::PessimisticWrite).run(add).await.unwrap();
            }
        });
    }
    workers.join_all().await;
    let counter = t.counters.get(&name).await.unwrap().unwrap();
    assert_eq!((counter.count, counter.version()), (WORKERS * EACH, version(WORKERS * EACH + 1)));
}

pub async fn successful_optimistic_increments_are_all_counted(t: &TestDb) {
    let name = t.counter(0).await;
    let elsewhere = Repository::<Counter>::new(&t.another_process().await);
    let mut workers = JoinSet::new();
    for worker in 0..8 {
        let counters = if worker % 2 == 0 { t.counters.clone() } else { elsewhere.clone() };
        let name = name.clone();
        workers.spawn(async move {
            let mut counted = 0;
            for _ in 0..20 {
                let add = |counter: &mut Counter| {
                    counter.count += 1;
                    Ok::<_, AlreadyShipped>(())
                };
                match counters.update(&name).run(add).await {
                    Ok(_) => counted += 1,
                    Err(UpdateError::Failed(Error::OptimisticLockingFailure(_))) => {}
                    Err(error) => panic!("{error:?}"),
                }
            }
            counted
        });
    }
    let counted: i64 = workers.join_all().await.into_iter().sum();
    let counter = t.counters.get(&name).await.unwrap().unwrap();
    assert_eq!((counter.count, counter.version()), (counted, version(counted + 1)));
}

pub async fn a_save_under_the_lease_keeps_it(t: &TestDb) {
    let no = t.order().await;
    let lease = t.locks.try_lock(&LockKey::of::<Order>(&no), &kim()).await.unwrap();
    t.orders.update(&no).by(&kim()).holding(lease.id()).run(Order::ship).await.unwrap();
    assert_eq!(t.locks.check_lock(lease.id()).await.unwrap().holder().generation, 1);
    assert_eq!(t.stored(&no).await.1, version(2));
}

pub async fn a_save_that_releases_frees_the_key_with_the_commit(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.orders.update(&no).by(&kim()).releasing(lease.id()).run(Order::ship).await.unwrap();
    assert_eq!(t.locks.try_lock(&key, &lee()).await.unwrap().holder().generation, 2);
}

pub async fn a_refused_save_keeps_the_lease(t: &TestDb) {
    let no = t.order().await;
    let lease = t.locks.try_lock(&LockKey::of::<Order>(&no), &kim()).await.unwrap();
    let save = || t.orders.update(&no).by(&kim()).releasing(lease.id());
    t.orders.update(&no).by(&kim()).holding(lease.id()).run(Order::ship).await.unwrap();
    assert!(matches!(save().run(Order::ship).await, Err(UpdateError::Refused(AlreadyShipped))));
    assert!(matches!(failed(save().expecting(Version::FIRST).run(Order::ship).await), Error::VersionConflict(_)));
    assert!(t.locks.check_lock(lease.id()).await.is_ok());
}

/// The clerk who came back from lunch.
pub async fn a_late_save_without_the_lease_changes_nothing(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let late = || t.orders.update(&no).by(&kim()).releasing(lease.id()).run(|order| order.send_to("late"));
    t.clock.advance(TTL);
    assert_eq!(why(late().await), LeaseLossReason::Expired { at: t.clock.now() });
    let next = t.locks.try_lock(&key, &lee()).await.unwrap();
    t.orders.update(&no).by(&lee()).releasing(next.id()).run(|order| order.send_to("in time")).await.unwrap();
    assert!(matches!(why(late().await), LeaseLossReason::Expired { .. }));
    let unknown = LockId::random();
    assert_eq!(why(t.orders.update(&no).holding(&unknown).run(Order::ship).await), LeaseLossReason::Unknown);
    let (stored, at) = t.stored(&no).await;
    assert_eq!((stored.ship_to.line1.as_str(), at), ("in time", version(2)));
}

pub async fn a_lease_of_another_aggregate_or_person_is_refused(t: &TestDb) {
    let (mine, other) = (t.order().await, t.order().await);
    let lease = t.locks.try_lock(&LockKey::of::<Order>(&mine), &kim()).await.unwrap();
    let on_other = t.orders.update(&other).by(&kim()).holding(lease.id()).run(Order::ship);
    assert_eq!(why(on_other.await), LeaseLossReason::OtherAggregate);
    let by_other = t.orders.update(&mine).by(&lee()).holding(lease.id()).run(Order::ship);
    assert_eq!(why(by_other.await), LeaseLossReason::NotYours);
    assert_eq!((t.stored(&mine).await.1, t.stored(&other).await.1), (Version::FIRST, Version::FIRST));
}

pub async fn lease_that_expires_during_the_save_that_releases_it_is_saved(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    tx.releasing(&key, lease.id()).await.unwrap();
    let mut order = t.find(&mut tx, &no).await;
    order.send_to("saved in time").unwrap();
    t.orders.save(&mut tx, &mut order).await.unwrap();
    t.clock.advance(TTL);
    tx.commit().await.unwrap();
    assert_eq!(t.orders.get(&no).await.unwrap().unwrap().version(), version(2));
    // It was released, so a clock that steps back does not revive it.
    t.clock.set(t.clock.now() - TTL);
    assert_eq!(
        why(t.orders.update(&no).by(&kim()).holding(lease.id()).run(Order::ship).await),
        LeaseLossReason::Released { at: t.clock.now() + TTL }
    );
    assert_eq!(t.locks.try_lock(&key, &lee()).await.unwrap().holder().generation, 2, "it is free");
}

pub async fn a_lease_that_expires_during_the_save_is_held_to_its_end(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    t.locks.guard(&mut tx, lease.id()).await.unwrap();
    t.clock.advance(TTL);
    // The successor, in another process, requests the lock while the save is in flight. It gets it after the commit, and
    // sees the saved state.
    let elsewhere = t.another_process().await;
    let (locks, orders) = (LockManager::new(&elsewhere), Repository::<Order>::new(&elsewhere));
    let successor_no = no.clone();
    let mut successor = tokio::spawn(async move {
        let lease = locks.try_lock(&LockKey::of::<Order>(&successor_no), &lee()).await;
        (lease.map(|lease| lease.holder().generation), orders.get(&successor_no).await.unwrap().unwrap().version())
    });
    let waits = tokio::time::timeout(Duration::from_millis(200), &mut successor).await;
    assert!(waits.is_err(), "the successor did not wait for the save: {waits:?}");
    let mut order = t.find(&mut tx, &no).await;
    order.send_to("saved in time").unwrap();
    t.orders.save(&mut tx, &mut order).await.unwrap();
    tx.commit().await.unwrap();
    let (generation, seen) = successor.await.unwrap();
    assert_eq!((generation.unwrap(), seen), (2, version(2)));
}

pub async fn update_unless_locked_is_refused_while_somebody_edits(t: &TestDb) {
    let no = t.order().await;
    let lease = t.locks.try_lock(&LockKey::of::<Order>(&no), &kim()).await.unwrap();
    let refused = failed(t.orders.update(&no).by(&lee()).unless_locked().run(Order::ship).await);
    assert!(matches!(&refused, Error::AlreadyLocked(holder) if holder.owner == kim()), "{refused:?}");
    t.locks.release_lock(lease.id()).await.unwrap();
    t.orders.update(&no).by(&lee()).unless_locked().run(Order::ship).await.unwrap();
}

pub async fn update_may_proceed_after_the_holder_was_shown(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.orders.update(&no).by(&lee()).unless_locked_except(lease.holder().generation).run(Order::ship).await.unwrap();
    // The editor's save detects it by the version.
    let save = t.orders.update(&no).by(&kim()).expecting(Version::FIRST).releasing(lease.id());
    assert!(matches!(failed(save.run(|order| order.send_to("x")).await), Error::VersionConflict(_)));
    // A newer holder was not shown to the operator.
    t.locks.release_lock(lease.id()).await.unwrap();
    t.locks.try_lock(&key, &kim()).await.unwrap();
    let refused = t.orders.update(&no).unless_locked_except(lease.holder().generation).run(Order::ship).await;
    assert!(matches!(failed(refused), Error::AlreadyLocked(_)));
    assert!(matches!(t.locks.try_lock(&key, &lee()).await, Err(LockError::AlreadyLocked(_))));
}

pub async fn application_step_commits_with_the_save_or_not_at_all(t: &TestDb) {
    let (no, other) = (t.order().await, random());
    let shipping_with = |other: String| {
        let orders = t.orders.clone();
        let update = t.orders.update(&no).also(move |mut tx, saved| {
            let (orders, other) = (orders.clone(), Order::new(&other));
            assert_eq!(saved.version(), version(2));
            async move { Ok(orders.insert(&mut tx, other).await.map(drop)?) }
        });
        update.run(Order::ship)
    };
    // There is one with this number already: the step fails, and so does the save.
    let taken = t.order().await;
    assert!(matches!(failed(shipping_with(taken).await), Error::AlreadyExists { .. }));
    assert_eq!(t.stored(&no).await.1, Version::FIRST);
    shipping_with(other.clone()).await.unwrap();
    assert_eq!((t.stored(&no).await.1, t.stored(&other).await.1), (version(2), Version::FIRST));
}

pub async fn application_step_reruns_with_a_retried_update(t: &TestDb) {
    let no = t.order().await;
    t.orders.update(&no).run(|order| order.send_to("Sejong-daero 9")).await.unwrap();
    let (steps, counted) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let seen = (Arc::clone(&steps), Arc::clone(&counted));
    let update = t.orders.update(&no).expecting(Version::FIRST).also(move |_, saved| {
        let attempt = seen.0.fetch_add(1, Ordering::SeqCst);
        seen.1.store(u32::try_from(saved.version().number()).unwrap(), Ordering::SeqCst);
        async move { if attempt == 0 { Err(tenure::error::DatabaseError::Deadlock.into()) } else { Ok(()) } }
    });
    let merged = update.merging(Merge::Disjoint).retrying(Retry::transient(3)).run(|order| {
        order.lines[0].quantity = 5;
        Ok::<_, AlreadyShipped>(())
    });
    let merged = merged.await.unwrap();
    assert_eq!((merged.attempts(), steps.load(Ordering::SeqCst), counted.load(Ordering::SeqCst)), (2, 2, 3));
    let (order, now) = t.stored(&no).await;
    assert_eq!((order.lines[0].quantity, order.ship_to.line1.as_str(), now), (5, "Sejong-daero 9", version(3)));
}

pub async fn a_dry_run_answers_as_the_save_would_and_changes_nothing(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let asked = t.orders.update(&no).expecting(Version::FIRST).dry_run(Order::ship).await.unwrap();
    assert_eq!((asked.state, asked.version()), (State::Shipped, Version::FIRST));
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let refused = t.orders.update(&no).unless_locked().dry_run(Order::ship).await;
    assert!(matches!(failed(refused), Error::AlreadyLocked(_)));
    t.orders.update(&no).by(&kim()).releasing(lease.id()).dry_run(Order::ship).await.unwrap();
    assert_eq!(t.locks.check_lock(lease.id()).await.unwrap().holder().generation, lease.holder().generation);
    assert_eq!((t.stored(&no).await.0.state, t.stored(&no).await.1), (State::Preparing, Version::FIRST));
    t.orders.update(&no).by(&kim()).releasing(lease.id()).run(Order::ship).await.unwrap();
    let again = t.orders.update(&no).dry_run(Order::ship).await;
    assert!(matches!(again, Err(UpdateError::Refused(AlreadyShipped))));
    let late = failed(t.orders.update(&no).expecting(Version::FIRST).dry_run(|order| order.send_to("x")).await);
    let Error::VersionConflict(conflict) = late else { panic!("{late:?}") };
    assert!(conflict.fields.iter().any(|field| field.mine == Some(Value::Text("x".into()))));
    let gone = t.orders.update(&no).by(&kim()).holding(lease.id()).dry_run(Order::ship).await;
    assert!(matches!(why(gone), LeaseLossReason::Released { .. }));
    assert_eq!(t.stored(&no).await.1, version(2));
}
