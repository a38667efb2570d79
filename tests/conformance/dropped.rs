//! Dropped calls: their leases are released, and results that others received stay true.

use std::future::IntoFuture;

use tenure::{LockId, LockKey, LockManager, LockPolicy, Owner, error::LockError};
use tokio::task::JoinSet;

use super::support::{MINUTE, TestDb, key, kim, lee, random};
use super::transactions::cancelled_after;
use super::watching::Events;

/// Far more awaits than any of these calls contains.
const MOST: usize = 60;

#[derive(Debug, Clone, Copy)]
enum Call {
    Try,
    TryAs,
    Share,
    Wait,
    WaitAs,
    Set,
    TakeOver,
}

/// The lock ids of granted leases.
async fn ask(call: Call, locks: &LockManager, keys: &[LockKey], id: LockId) -> Vec<LockId> {
    let (key, kim) = (&keys[0], || whose(keys));
    let lease = match call {
        Call::Try => locks.try_lock(key, &kim()).await.unwrap(),
        Call::TryAs => locks.try_lock_as(key, &kim(), id).await.unwrap(),
        Call::Share => locks.try_lock_shared_as(key, &kim(), id).await.unwrap(),
        Call::Wait => locks.lock(key, &kim()).await.unwrap(),
        Call::WaitAs => locks.lock(key, &kim()).with_id(id).await.unwrap(),
        Call::TakeOver => locks.take_over(key, 1, &kim(), id, "it is my other tab").await.unwrap(),
        Call::Set => {
            let held = locks.try_lock_all_as(keys.iter().cloned(), &kim(), id).await.unwrap();
            return held.leases().iter().map(|lease| lease.id().clone()).collect();
        }
    };
    vec![lease.id().clone()]
}

/// A separate owner for each case, because others share the server and there is a limit.
fn whose(keys: &[LockKey]) -> Owner {
    Owner::new(format!("of {}", keys[0].id()), "Kim")
}

/// The clock does not move, so no lease expires: a key is free only if it was released.
pub async fn request_dropped_at_any_moment_leaves_its_keys_free(t: &TestDb) {
    use Call::*;
    let locks = t.locks.clone().with_policy("PriceList", LockPolicy::shared());
    for call in [Try, TryAs, Share, Wait, WaitAs, Set, TakeOver] {
        for locks in [locks.clone(), locks.clone().one_by_one()] {
            let (mut done, mut waits) = (0, 0);
            while done < 2 {
                assert!(waits < MOST, "{call:?} has more than {MOST} waits");
                let kind = if matches!(call, Share) { "PriceList" } else { "Order" };
                let (id, keys) = (LockId::random(), [LockKey::new(kind, random()), LockKey::new(kind, random())]);
                let before = match call {
                    TakeOver => Some(locks.try_lock(&keys[0], &whose(&keys)).await.unwrap()),
                    _ => None,
                };
                let told = cancelled_after(waits, ask(call, &locks, &keys, id.clone())).await;
                done += usize::from(told.is_some());
                for id in told.into_iter().flatten() {
                    locks.release_lock(&id).await.unwrap();
                }
                if let Some(before) = before {
                    // Either it was not taken over, or the lock is free.
                    let _ended = locks.release_lock(before.id()).await;
                }
                for key in &keys {
                    let other = locks.lock(key, &Owner::new("other", "Other")).within(MINUTE).await;
                    assert!(other.is_ok(), "{call:?}, dropped after {waits} waits: {other:?}");
                    locks.release_lock(other.unwrap().id()).await.unwrap();
                }
                // The lock id can be used again.
                if done == 0 && !matches!(call, Try | Wait | TakeOver) {
                    ask(call, &locks, &keys, id).await;
                }
                waits += 1;
            }
        }
    }
}

pub async fn concurrent_dropped_requests_leave_their_keys_free(t: &TestDb) {
    let mut asking = JoinSet::new();
    let keys: Vec<LockKey> = (0..120).map(|_| key()).collect();
    for (at, key) in keys.iter().cloned().enumerate() {
        let (locks, owner) = (t.locks.clone(), Owner::new(random(), "Kim"));
        asking.spawn(async move {
            let told = cancelled_after(at % 3, locks.try_lock(&key, &owner)).await;
            if let Some(told) = told {
                locks.release_lock(told.unwrap().id()).await.unwrap();
            }
        });
    }
    asking.join_all().await;
    for key in &keys {
        let free = t.locks.lock(key, &lee()).within(MINUTE).await;
        assert!(free.is_ok(), "{free:?}");
        t.locks.release_lock(free.unwrap().id()).await.unwrap();
    }
}

pub async fn dropped_wait_does_not_affect_another_with_its_lock_id(t: &TestDb) {
    let mut told = Vec::new();
    for waits in 0..24 {
        let (key, id) = (key(), LockId::random());
        let held = t.locks.try_lock(&key, &kim()).await.unwrap();
        let mut events = Events::of(&t.locks, &key).await;
        let ask = || t.locks.lock(&key, &lee()).with_id(id.clone()).within(MINUTE).into_future();
        let (mut first, second) = (ask(), tokio::spawn(ask()));
        assert!(cancelled_after(0, &mut first).await.is_none());
        events.until_waiting(1).await;
        let (_first, released) = tokio::join!(cancelled_after(waits % 4, first), t.locks.release_lock(held.id()));
        released.unwrap();
        told.push(second.await.unwrap().unwrap());
    }
    for lease in told {
        let held = t.locks.check_lock(lease.id()).await.unwrap();
        assert_eq!(held.holder().generation, lease.holder().generation);
        t.locks.release_lock(lease.id()).await.unwrap();
    }
}

pub async fn lease_survives_a_dropped_repeated_request(t: &TestDb) {
    let locks = t.locks.clone().with_policy("PriceList", LockPolicy::shared());
    for call in [Call::TryAs, Call::Share, Call::WaitAs, Call::Set] {
        let mut held = Vec::new();
        for waits in 0..MOST {
            let kind = if matches!(call, Call::Share) { "PriceList" } else { "Order" };
            let (id, keys) = (LockId::random(), [LockKey::new(kind, random()), LockKey::new(kind, random())]);
            let mine = ask(call, &locks, &keys, id.clone()).await;
            let again = cancelled_after(waits, ask(call, &locks, &keys, id.clone())).await;
            held.extend(mine);
            if again.is_some() {
                break;
            }
            // Also if two of them are dropped, and one is kept alive in between.
            locks.keep_alive(&held[held.len() - 1..]).await.unwrap();
            let _ = cancelled_after(waits, ask(call, &locks, &keys, id)).await;
        }
        for id in &held {
            assert_eq!(locks.check_lock(id).await.unwrap().holder().generation, 1, "{call:?}");
        }
    }
}

/// The caller who was granted it is gone; another with the same lock id received it in the same millisecond.
pub async fn repeated_request_keeps_the_lease_of_a_dropped_one(t: &TestDb) {
    for other_process in [false, true] {
        let process = t.another_process().await;
        let others = if other_process { LockManager::new(&process) } else { t.locks.clone() };
        let mut told = Vec::new();
        for waits in 0..30 {
            let (key, id) = (key(), LockId::random());
            let owner = Owner::new(random(), "Kim");
            let _first = cancelled_after(waits % 5, t.locks.try_lock_as(&key, &owner, id.clone())).await;
            match others.try_lock_as(&key, &owner, id.clone()).await {
                Ok(second) => told.push(second),
                // It was released during this request, under another lock id.
                Err(LockError::LockingFailed { .. } | LockError::AlreadyLocked(_)) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
        for lease in told {
            assert_eq!(t.locks.check_lock(lease.id()).await.unwrap().holder().generation, lease.holder().generation);
        }
        process.close().await;
    }
}
