//! A single request to the lock table uses another statement than a batch. The results must be equal.

use std::sync::Arc;
use std::time::Duration;

use tenure::{LockId, LockKey, LockManager, Owner, lease::Heartbeat};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::support::{MINUTE, TTL, TestDb, random};

/// More than the size of a batch.
const TOGETHER: usize = 24;

/// The earlier state of the key, and of the presented lock id.
#[derive(Debug, Clone, Copy)]
enum Before {
    NeverLocked,
    Held,
    HeldBySomebodyElse,
    Released,
    ReleasedAlsoBySomebodyElse,
    Broken,
    RanOut,
    TakenOver,
}

#[derive(Debug, Clone, Copy)]
enum Verb {
    Take,
    TakeWithTheSameLockId,
    Check,
    KeepAlive,
    Extend,
    ExpireWithin,
    Release,
}

/// Separate owners, because of the limit per owner.
#[derive(Clone)]
struct People {
    me: Owner,
    other: Owner,
}

pub async fn single_and_batched_requests_get_the_same_results(t: &TestDb) {
    use {Before::*, Verb::*};
    let people = People { me: Owner::new(random(), "Kim Minji"), other: Owner::new(random(), "Lee Junho") };
    for before in
        [NeverLocked, Held, HeldBySomebodyElse, Released, ReleasedAlsoBySomebodyElse, Broken, RanOut, TakenOver]
    {
        for verb in [Take, TakeWithTheSameLockId, Check, KeepAlive, Extend, ExpireWithin, Release] {
            let mut keys = JoinSet::new();
            for _ in 0..=TOGETHER {
                keys.spawn(prepare(t.locks.clone(), people.clone(), before));
            }
            let mut keys = keys.join_all().await;
            t.clock.advance(if let RanOut = before { TTL } else { MINUTE });
            let (key, id) = keys.pop().unwrap();
            let alone = ask(&t.locks, &people.me, verb, &key, id).await;
            let (mut asking, start) = (JoinSet::new(), Arc::new(Barrier::new(TOGETHER)));
            for (key, id) in keys {
                let (locks, me, start) = (t.locks.clone(), people.me.clone(), Arc::clone(&start));
                asking.spawn(async move {
                    start.wait().await;
                    ask(&locks, &me, verb, &key, id).await
                });
            }
            for among_many in asking.join_all().await {
                assert_eq!(among_many, alone, "{verb:?} of {before:?}");
            }
        }
    }
}

async fn prepare(locks: LockManager, People { me, other }: People, before: Before) -> (LockKey, LockId) {
    let (key, id) = (LockKey::new("Order", random()), LockId::random());
    if !matches!(before, Before::NeverLocked | Before::HeldBySomebodyElse) {
        locks.try_lock_as(&key, &me, id.clone()).await.unwrap();
    }
    match before {
        Before::NeverLocked | Before::Held | Before::RanOut => {}
        Before::HeldBySomebodyElse => drop(locks.try_lock(&key, &other).await.unwrap()),
        Before::Released => locks.release_lock(&id).await.unwrap(),
        Before::ReleasedAlsoBySomebodyElse => {
            locks.release_lock(&id).await.unwrap();
            let theirs = locks.try_lock(&key, &other).await.unwrap();
            locks.release_lock(theirs.id()).await.unwrap();
        }
        Before::Broken => drop(locks.break_lock(&key, 1, &other, "stuck").await.unwrap()),
        Before::TakenOver => drop(locks.take_over(&key, 1, &me, LockId::random(), "in another tab").await.unwrap()),
    }
    (key, id)
}

/// The result, and the state that others see afterwards, without the names that differ each time.
async fn ask(locks: &LockManager, me: &Owner, verb: Verb, key: &LockKey, id: LockId) -> String {
    let locks = locks.acting_for(me);
    let answer = match verb {
        Verb::Take => format!("{:?}", locks.try_lock_as(key, me, LockId::random()).await),
        Verb::TakeWithTheSameLockId => format!("{:?}", locks.try_lock_as(key, me, id).await),
        Verb::Check => format!("{:?}", locks.check_lock(&id).await),
        Verb::KeepAlive => {
            format!("{:?}", locks.keep_alive_with(&[Heartbeat::idle(id, Duration::from_secs(30))]).await)
        }
        Verb::Extend => format!("{:?}", locks.extend_lock_expiration(&id, Duration::from_secs(20)).await),
        Verb::ExpireWithin => format!("{:?}", locks.expire_within(&id, Duration::from_secs(10)).await),
        Verb::Release => format!("{:?}", locks.release_lock(&id).await),
    };
    format!("{answer}, then {:?}", locks.holders(key).await.unwrap()).replace(key.id(), "…")
}
