//! Sweeping. Cases share a server, so each sweeps its own type.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tenure::{
    Lease, LockId, LockKey, LockPolicy, Owner,
    error::{LockError, SweepError},
    lease::{LeaseLossReason, LeaseState},
    lock_manager::Swept,
};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::support::{MINUTE, TTL, TestDb, kim, lee, random};

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn sweep(t: &TestDb, kind: &str) -> Swept {
    t.locks.sweep(30 * DAY).of_type(kind).run().await.unwrap()
}

pub async fn sweep_removes_old_ended_leases_only(t: &TestDb) {
    let kind = random();
    let key = |id: &str| LockKey::new(&kind, id);
    let released = t.locks.try_lock(&key("released"), &kim()).await.unwrap();
    t.locks.release_lock(released.id()).await.unwrap();
    let ran_out = t.locks.try_lock(&key("ran out"), &lee()).await.unwrap();
    // The rows must be older than their expiry.
    t.clock.advance(30 * DAY);
    assert_eq!(sweep(t, &kind).await, Swept { keys: 0, history: 1 });
    t.clock.advance(TTL);
    let held = t.locks.try_lock(&key("held"), &kim()).await.unwrap();
    let lately = t.locks.try_lock(&key("lately"), &lee()).await.unwrap();
    t.locks.release_lock(lately.id()).await.unwrap();
    assert_eq!(sweep(t, &kind).await, Swept { keys: 2, history: 1 });
    assert_eq!(t.locks.check_lock(held.id()).await.unwrap().holder().generation, 1);
    let lost = async |lease: &Lease| match t.locks.check_lock(lease.id()).await {
        Err(tenure::error::LeaseError::NoLock(lost)) => lost.why,
        other => panic!("{other:?}"),
    };
    assert_eq!(lost(&lately).await, LeaseLossReason::Released { at: t.clock.now() });
    assert_eq!((lost(&released).await, lost(&ran_out).await), (LeaseLossReason::Unknown, LeaseLossReason::Unknown));
    let page = t.locks.list().of_type(&kind).run().await.unwrap();
    assert_eq!(page.items.iter().map(|listed| listed.holder.key.id()).collect::<Vec<_>>(), ["held"]);
    assert_eq!(t.locks.history(&key("lately")).run().await.unwrap().items.len(), 1);
}

pub async fn swept_key_continues_above_all_earlier_generations(t: &TestDb) {
    let kind = random();
    let (busy, quiet, never) =
        (LockKey::new(&kind, "busy"), LockKey::new(&kind, "quiet"), LockKey::new(&kind, "never"));
    for _ in 0..5 {
        let lease = t.locks.try_lock(&busy, &kim()).await.unwrap();
        t.locks.release_lock(lease.id()).await.unwrap();
    }
    t.locks.try_lock(&quiet, &kim()).await.unwrap();
    t.clock.advance(40 * DAY);
    assert_eq!(sweep(t, &kind).await.keys, 2);
    // By all ways of inserting a row: alone, beside others, and from another process.
    assert_eq!(t.locks.try_lock(&busy, &lee()).await.unwrap().holder().generation, 6);
    for key in [&quiet, &never] {
        assert_eq!(t.locks.try_lock(key, &lee()).await.unwrap().holder().generation, 6);
    }
    t.clock.advance(40 * DAY);
    assert_eq!(sweep(t, &kind).await.keys, 3);
    let advisory = t.locks.clone().with_policy(&kind, LockPolicy::advisory());
    assert_eq!(advisory.try_lock(&quiet, &kim()).await.unwrap().holder().generation, 7);
    assert_eq!(advisory.try_lock(&quiet, &lee()).await.unwrap().holder().generation, 8);
    let other = tenure::LockManager::new(&t.another_process().await);
    let keys: Vec<_> = (0..4).map(|at| LockKey::new(&kind, format!("together {at}"))).collect();
    let together: Vec<_> = keys
        .into_iter()
        .map(|key| {
            let other = other.clone();
            tokio::spawn(async move { other.try_lock(&key, &kim()).await.unwrap().holder().generation })
        })
        .collect();
    for generation in together {
        assert_eq!(generation.await.unwrap(), 7);
    }
}

pub async fn sweeping_advisory_slots_keeps_live_leases(t: &TestDb) {
    let key = LockKey::new(random(), "1");
    let long = LockPolicy::advisory().absolute_limit(30 * DAY).unwrap().ttl(DAY).unwrap();
    let short = t.locks.clone().with_policy(key.kind(), LockPolicy::advisory());
    let stays = t.locks.clone().with_policy(key.kind(), long).try_lock(&key, &kim()).await.unwrap();
    for generation in 2..=4 {
        let lease = short.try_lock(&key, &lee()).await.unwrap();
        assert_eq!(lease.holder().generation, generation);
        short.release_lock(lease.id()).await.unwrap();
    }
    for _ in 0..2 {
        t.clock.advance(DAY - MINUTE);
        short.keep_alive(&[stays.id().clone()]).await.unwrap().remove(0).unwrap();
    }
    // The row that carries the generation, and two slots: the last one swept the first, and was then the highest ended one.
    assert_eq!(short.sweep(DAY).of_type(key.kind()).run().await.unwrap().keys, 3);
    assert_eq!(short.check_lock(stays.id()).await.unwrap().holder().generation, 1);
    assert_eq!(short.try_lock(&key, &lee()).await.unwrap().holder().generation, 5);
}

pub async fn a_late_duplicate_is_refused_until_the_history_is_swept(t: &TestDb) {
    let (key, id) = (LockKey::new(random(), "1"), LockId::random());
    let lease = t.locks.try_lock_as(&key, &kim(), id.clone()).await.unwrap();
    t.locks.release_lock(lease.id()).await.unwrap();
    t.clock.advance(31 * DAY);
    let swept = t.locks.sweep(30 * DAY).keeping_history_for(60 * DAY).of_type(key.kind()).run().await.unwrap();
    assert_eq!(swept, Swept { keys: 1, history: 0 });
    // The row is deleted, and the history still has it.
    assert!(matches!(t.locks.try_lock_as(&key, &kim(), id.clone()).await, Err(LockError::LockIdUsed(_))));
    let again = t.locks.try_lock(&key, &kim()).await.unwrap();
    assert_eq!(again.holder().generation, 2);
    t.locks.release_lock(again.id()).await.unwrap();
    t.clock.advance(31 * DAY);
    let swept = t.locks.sweep(60 * DAY).keeping_history_for(60 * DAY).of_type(key.kind()).run().await.unwrap();
    assert_eq!(swept, Swept { keys: 0, history: 1 });
    // The horizon: a forgotten key cannot be distinguished from an unknown one. The generation still rises.
    assert_eq!(t.locks.try_lock_as(&key, &kim(), id).await.unwrap().holder().generation, 3);
}

pub async fn expired_lease_enters_history_when_swept(t: &TestDb) {
    let key = LockKey::new(random(), "1");
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(TTL);
    let at = t.clock.now();
    let listed = t.locks.list().of_type(key.kind()).in_state(LeaseState::RanOut).run().await.unwrap();
    assert_eq!(listed.items.len(), 1);
    t.clock.advance(31 * DAY);
    t.locks.sweep(30 * DAY).keeping_history_for(60 * DAY).of_type(key.kind()).run().await.unwrap();
    let past = t.locks.history(&key).run().await.unwrap().items.remove(0);
    assert_eq!((past.owner, past.why, past.generation), (kim(), LeaseLossReason::Expired { at }, 1));
    assert!(matches!(
        t.locks.check_lock(lease.id()).await,
        Err(tenure::error::LeaseError::NoLock(lost)) if lost.why == LeaseLossReason::Expired { at }
    ));
}

pub async fn sweep_of_resumable_leases_is_refused(t: &TestDb) {
    let kind = random();
    let lease = t.locks.try_lock(&LockKey::new(&kind, "1"), &kim()).await.unwrap();
    t.locks.release_lock(lease.id()).await.unwrap();
    t.clock.advance(10 * DAY);
    let young = Duration::from_secs(24 * 3600 - 1);
    for sweep in [t.locks.sweep(young), t.locks.sweep(Duration::ZERO), t.locks.sweep(DAY).keeping_history_for(young)] {
        let refused = sweep.of_type(&kind).run().await.unwrap_err();
        assert!(matches!(refused, SweepError::TooYoung { shortest: DAY, .. }), "{refused:?}");
        assert!(refused.to_string().contains("24 h"), "{refused}");
    }
    // A type with longer leases can be resumed for longer.
    let long = LockPolicy::exclusive().absolute_limit(5 * DAY).unwrap();
    let locks = t.locks.clone().with_policy(&kind, long);
    for sweep in [locks.sweep(4 * DAY), locks.sweep(4 * DAY).of_type(&kind)] {
        assert!(matches!(sweep.run().await, Err(SweepError::TooYoung { shortest, .. }) if shortest == 5 * DAY));
    }
    assert_eq!(t.locks.history(&LockKey::new(&kind, "1")).run().await.unwrap().items.len(), 1);
    let swept = t.locks.sweep(DAY).of_type(&kind).run().await.unwrap();
    assert_eq!(swept, Swept { keys: 1, history: 1 });
}

pub async fn more_than_a_slice_is_swept_to_the_last_row(t: &TestDb) {
    let (kind, owner) = (random(), Owner::new(random(), "Kim"));
    for part in 0..9 {
        let mut taking = JoinSet::new();
        for at in 0..256 {
            let (locks, key, owner) = (t.locks.clone(), LockKey::new(&kind, format!("{part}-{at}")), owner.clone());
            taking.spawn(async move { locks.try_lock(&key, &owner).await.unwrap() });
        }
        taking.join_all().await;
        assert_eq!(t.locks.release_all(&owner.id).await.unwrap().len(), 256);
    }
    t.clock.advance(40 * DAY);
    assert_eq!(sweep(t, &kind).await, Swept { keys: 9 * 256, history: 9 * 256 });
    assert_eq!(sweep(t, &kind).await, Swept::default());
}

pub async fn acquisition_during_a_sweep_gets_a_higher_generation(t: &TestDb) {
    let kind = random();
    let keys: Vec<_> = (0..6).map(|at| LockKey::new(&kind, at.to_string())).collect();
    let mut highest: HashMap<LockKey, i64> = HashMap::new();
    for round in 0..15 {
        for key in &keys {
            let lease = t.locks.try_lock(key, &kim()).await.unwrap();
            assert!(lease.holder().generation > highest.get(key).copied().unwrap_or(0), "round {round}, {key}");
            highest.insert(key.clone(), lease.holder().generation);
            t.locks.release_lock(lease.id()).await.unwrap();
        }
        t.clock.advance(40 * DAY);
        let together = Arc::new(Barrier::new(keys.len() + 1));
        let sweeping = {
            let (locks, together, kind) = (t.locks.clone(), Arc::clone(&together), kind.clone());
            tokio::spawn(async move {
                together.wait().await;
                locks.sweep(30 * DAY).of_type(kind).run().await.unwrap()
            })
        };
        let taking: Vec<_> = keys
            .iter()
            .map(|key| {
                let (locks, together, key) = (t.locks.clone(), Arc::clone(&together), key.clone());
                tokio::spawn(async move {
                    together.wait().await;
                    locks.try_lock(&key, &lee()).await
                })
            })
            .collect();
        for (key, taken) in keys.iter().zip(taking) {
            let taken = taken.await.unwrap().unwrap();
            assert!(
                taken.holder().generation > highest[key],
                "round {round}, {key}: {} after {}",
                taken.holder().generation,
                highest[key]
            );
            highest.insert(key.clone(), taken.holder().generation);
            assert_eq!(t.locks.check_lock(taken.id()).await.unwrap().holder().generation, taken.holder().generation);
            t.locks.release_lock(taken.id()).await.unwrap();
        }
        sweeping.await.unwrap();
    }
}

/// Small random numbers from a seed that a failure prints (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound).unwrap()
    }
}

pub async fn generation_strictly_rises_through_takes_ends_and_sweeps(t: &TestDb) {
    for _ in 0..6 {
        let seed = u64::from_str_radix(&random(), 16).unwrap();
        let (mut dice, kind) = (Dice(seed), random());
        let keys: Vec<_> = (0..3).map(|at| LockKey::new(&kind, at.to_string())).collect();
        // Some are exclusive, and one is advisory.
        let shared = LockKey::new(&kind, "3");
        let advisory = t.locks.clone().with_policy(&kind, LockPolicy::advisory());
        let mut highest = [0; 4];
        let mut live: Vec<Lease> = Vec::new();
        for step in 0..60 {
            let at = dice.below(3);
            let mut granted = |lease: &Lease| {
                let at: usize = lease.holder().key.id().parse().unwrap();
                assert!(
                    lease.holder().generation > highest[at],
                    "seed {seed}, step {step}: {} after {}",
                    lease.holder().generation,
                    highest[at]
                );
                highest[at] = lease.holder().generation;
            };
            match dice.below(9) {
                0 | 1 => {
                    if let Ok(lease) = t.locks.try_lock(&keys[at], &kim()).await {
                        granted(&lease);
                        live.push(lease);
                    }
                }
                2 => {
                    let lease = advisory.try_lock(&shared, &lee()).await.unwrap();
                    granted(&lease);
                    live.push(lease);
                }
                3 => {
                    for key in &keys {
                        if let Ok(lease) = t.locks.try_lock(key, &kim()).await {
                            granted(&lease);
                            live.push(lease);
                        }
                    }
                }
                4 | 5 if !live.is_empty() => {
                    let lease = live.swap_remove(dice.below(live.len() as u64));
                    let _ = t.locks.release_lock(lease.id()).await;
                }
                6 => {
                    let by = Owner::new("park", "Park");
                    let _ = t.locks.break_lock(&keys[at], highest[at], &by, "at random").await;
                }
                7 => t.clock.advance([MINUTE, TTL, 2 * DAY, 40 * DAY][dice.below(4)]),
                _ => drop(sweep(t, &kind).await),
            }
        }
    }
}

pub async fn live_advisory_lease_is_not_swept(t: &TestDb) {
    let key = LockKey::new(random(), "1");
    let locks = t.locks.clone().with_policy(key.kind(), LockPolicy::advisory());
    let first = locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(MINUTE);
    // Nor is the row that carries the generation.
    let swept = locks.sweep(DAY).of_type(key.kind()).run().await.unwrap();
    assert_eq!((swept.keys, swept.history), (0, 0));
    assert_eq!(locks.check_lock(first.id()).await.unwrap().holder().generation, 1);
    assert_eq!(locks.try_lock(&key, &lee()).await.unwrap().holder().generation, 2);
    locks.release_lock(first.id()).await.unwrap();
    t.clock.advance(2 * DAY);
    let swept = locks.sweep(DAY).of_type(key.kind()).run().await.unwrap();
    assert_eq!((swept.keys, swept.history), (3, 2));
    assert_eq!(locks.try_lock(&key, &lee()).await.unwrap().holder().generation, 3);
}
