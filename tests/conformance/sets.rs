//! Sets of locks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tenure::{
    LockId, LockKey, LockManager, LockPolicy, Owner,
    error::{LeaseSetError, LockError, UpdateError},
    lease::{LeaseLossReason, Limit, Limits, NoLock},
    lock_manager::{HeldSet, LeaseSet},
};
use tokio::sync::Barrier;

use super::support::{MINUTE, TTL, TestDb, kim, lee, random};

/// Keys of one random type.
fn keys<const N: usize>() -> [LockKey; N] {
    let kind = random();
    std::array::from_fn(|at| LockKey::new(&kind, at.to_string()))
}

fn generations(held: &HeldSet) -> Vec<i64> {
    held.leases().iter().map(|lease| lease.holder().generation).collect()
}

fn ended(answer: Result<impl std::fmt::Debug, LeaseSetError>) -> Vec<NoLock> {
    match answer {
        Err(LeaseSetError::Ended { ended, .. }) => ended,
        other => panic!("expected Ended, found {other:?}"),
    }
}

/// Acquires each key briefly; returns the generation that it had before.
async fn generation_of(t: &TestDb, key: &LockKey) -> i64 {
    let lease = t.locks.try_lock(key, &kim()).await.unwrap();
    t.locks.release_lock(lease.id()).await.unwrap();
    lease.holder().generation - 1
}

pub async fn a_set_with_a_lease_that_was_broken_is_not_granted_again(t: &TestDb) {
    let [one, other] = keys();
    for broken in [&one, &other] {
        let (keys, id) = ([one.clone(), other.clone()], LockId::random());
        let held = t.locks.try_lock_all_as(keys.clone(), &kim(), id.clone()).await.unwrap();
        let generation = held.lease(broken).unwrap().holder().generation;
        t.locks.break_lock(broken, generation, &lee(), "stuck").await.unwrap();
        let again = t.locks.try_lock_all_as(keys, &kim(), id).await;
        assert!(matches!(&again, Err(LockError::LockIdUsed(used)) if used.key.as_ref() == Some(broken)), "{again:?}");
        assert!(t.locks.release_set(held.set()).await.is_err(), "one of them was broken, and the other is released");
    }
}

pub async fn set_is_granted_whole_in_key_order_without_duplicates(t: &TestDb) {
    let [one, two, three] = keys();
    let asked = [three.clone(), one.clone(), two.clone(), one.clone()];
    let held = t.locks.try_lock_all(asked, &kim()).await.unwrap();
    assert_eq!(held.set().keys(), [one.clone(), two.clone(), three.clone()]);
    assert_eq!(held.leases().iter().map(|lease| &lease.holder().key).collect::<Vec<_>>(), [&one, &two, &three]);
    assert_eq!((generations(&held), held.remaining()), (vec![1, 1, 1], TTL));
    for key in [&one, &two, &three] {
        let lease = t.locks.check_lock(&held.set().lock_id(key).unwrap()).await.unwrap();
        assert_eq!((&lease, &lease.holder().key), (held.lease(key).unwrap(), key));
    }
}

pub async fn refused_set_names_all_blockers_and_acquires_nothing(t: &TestDb) {
    let [one, two, three] = keys();
    t.locks.try_lock(&one, &lee()).await.unwrap();
    let park = Owner::new("park", "Park");
    t.locks.try_lock(&three, &park).await.unwrap();
    // A lease that expired in between: not even its end is recorded.
    let before = t.locks.clone().with_policy(two.kind(), LockPolicy::exclusive().ttl(3 * MINUTE).unwrap());
    let ran_out = before.try_lock(&two, &lee()).await.unwrap();
    t.clock.advance(4 * MINUTE);
    let refused = t.locks.try_lock_all([three, one.clone(), two.clone()], &kim()).await;
    let Err(LockError::SomeLocked { held }) = &refused else { panic!("{refused:?}") };
    assert_eq!(held.iter().map(|holder| &holder.owner).collect::<Vec<_>>(), [&lee(), &park]);
    let text = refused.unwrap_err().to_string();
    assert!(text.contains(&format!("{one} is locked by Lee Junho")) && text.contains("nothing was locked"), "{text}");
    assert_eq!(generation_of(t, &two).await, ran_out.holder().generation);
}

pub async fn repeated_set_request_with_the_same_secret_is_idempotent(t: &TestDb) {
    let (keys, id) = (keys::<3>(), LockId::random());
    let first = t.locks.try_lock_all_as(keys.clone(), &kim(), id.clone()).await.unwrap();
    t.clock.advance(MINUTE);
    let again = t.locks.try_lock_all_as(keys.clone(), &kim(), id.clone()).await.unwrap();
    assert_eq!((generations(&again), again.remaining()), (generations(&first), TTL));
    assert_eq!(again.leases()[0].holder().since, first.leases()[0].holder().since);
    // After a member was released, the repeated request is too late, and acquires nothing.
    t.locks.release_lock(&first.set().lock_id(&keys[1]).unwrap()).await.unwrap();
    let late = t.locks.try_lock_all_as(keys.clone(), &kim(), id.clone()).await;
    let Err(LockError::LockIdUsed(used)) = late else { panic!("{late:?}") };
    assert_eq!((used.key.as_ref(), used.why), (Some(&keys[1]), LeaseLossReason::Released { at: t.clock.now() }));
    // Nor with more keys: free keys are not acquired beside used ones.
    let more = LockKey::new(keys[0].kind(), "more");
    let late = t.locks.try_lock_all_as(keys.iter().chain([&more]).cloned(), &kim(), id.clone()).await;
    assert!(matches!(late, Err(LockError::LockIdUsed(_))), "{late:?}");
    assert_eq!(generation_of(t, &more).await, 0);
    // A lock id that holds another aggregate belongs to no member.
    let id_of_one = LeaseSet::of(LockId::random(), [more.clone()]).unwrap();
    let elsewhere = LockKey::new(random(), "elsewhere");
    t.locks.try_lock_as(&elsewhere, &kim(), id_of_one.lock_id(&more).unwrap()).await.unwrap();
    let used = t.locks.try_lock_all_as([more.clone()], &kim(), id_of_one.id().clone()).await;
    assert!(
        matches!(&used, Err(LockError::LockIdUsed(used)) if used.why == LeaseLossReason::OtherAggregate),
        "{used:?}"
    );
    // Another owner's secret does not work.
    assert!(matches!(
        t.locks.try_lock_all_as(keys, &lee(), id).await,
        Err(LockError::SomeLocked { .. } | LockError::LockIdUsed(_))
    ));
}

pub async fn released_set_is_free_and_generations_rise(t: &TestDb) {
    let keys = keys::<3>();
    for generation in 1..=3 {
        let held = t.locks.try_lock_all(keys.clone(), &kim()).await.unwrap();
        assert_eq!(generations(&held), [generation; 3]);
        t.locks.release_set(held.set()).await.unwrap();
        let released = ended(t.locks.release_set(held.set()).await);
        assert_eq!(released.len(), 3);
        assert!(released.iter().all(|no_lock| matches!(no_lock.why, LeaseLossReason::Released { .. })), "{released:?}");
    }
}

pub async fn expired_set_is_acquired_by_the_next_and_holder_learns(t: &TestDb) {
    let keys = keys::<2>();
    let first = t.locks.try_lock_all(keys.clone(), &kim()).await.unwrap();
    t.clock.advance(TTL);
    let at = t.clock.now();
    let second = t.locks.try_lock_all(keys.clone(), &lee()).await.unwrap();
    assert_eq!(generations(&second), [2, 2]);
    t.clock.advance(MINUTE);
    let lost = ended(t.locks.keep_set_alive(first.set()).await);
    assert_eq!(lost.iter().map(|no_lock| no_lock.key.as_ref().unwrap()).collect::<Vec<_>>(), [&keys[0], &keys[1]]);
    assert!(lost.iter().all(|no_lock| no_lock.why == LeaseLossReason::Expired { at }), "{lost:?}");
    assert_eq!(lost[0].held_now.as_ref().map(|holder| &holder.owner), Some(&lee()));
}

pub async fn one_heartbeat_keeps_a_set_alive_and_names_ended_members(t: &TestDb) {
    let [one, two, three] = keys();
    let held = t.locks.try_lock_all([one.clone(), two.clone(), three.clone()], &kim()).await.unwrap();
    t.clock.advance(4 * MINUTE);
    // The next request has the secret and the keys.
    let set = LeaseSet::of(held.set().id().reveal().parse().unwrap(), [two.clone(), one, three]).unwrap();
    assert_eq!(t.locks.keep_set_alive(&set).await.unwrap().remaining(), TTL);
    t.locks.break_lock(&two, 1, &lee(), "the courier is waiting").await.unwrap();
    t.clock.advance(4 * MINUTE);
    let answer = t.locks.keep_set_alive(&set).await;
    let Err(LeaseSetError::Ended { ended, others }) = answer else { panic!("{answer:?}") };
    assert!(
        matches!(&ended[..], [NoLock { key: Some(key), why: LeaseLossReason::Broken { .. }, .. }] if *key == two),
        "{ended:?}"
    );
    assert!(others.iter().all(|lease| lease.holder().remaining == TTL) && others.len() == 2, "{others:?}");
}

pub async fn set_check_and_release_name_the_ended_member(t: &TestDb) {
    let [one, two, three] = keys();
    let held = t.locks.try_lock_all([one.clone(), two.clone(), three.clone()], &kim()).await.unwrap();
    assert_eq!(t.locks.check_set(held.set()).await.unwrap(), held);
    t.locks.release_lock(&held.set().lock_id(&two).unwrap()).await.unwrap();
    let by_somebody_else = ended(t.locks.acting_for(&lee()).check_set(held.set()).await);
    assert!(by_somebody_else.iter().all(|no_lock| no_lock.why == LeaseLossReason::NotYours), "{by_somebody_else:?}");
    for answer in [ended(t.locks.check_set(held.set()).await), ended(t.locks.release_set(held.set()).await)] {
        let [NoLock { key, why: LeaseLossReason::Released { .. }, .. }] = &answer[..] else { panic!("{answer:?}") };
        assert_eq!(key.as_ref(), Some(&two));
    }
    for key in [one, three] {
        assert_eq!(t.locks.holders(&key).await.unwrap(), []);
    }
    // A secret that was never used: the set knows the keys.
    let unknown = LeaseSet::of(LockId::random(), [two.clone()]).unwrap();
    assert_eq!(
        ended(t.locks.check_set(&unknown).await)[0],
        NoLock { key: Some(two), why: LeaseLossReason::Unknown, held_now: None }
    );
}

pub async fn a_set_may_have_types_of_different_policies(t: &TestDb) {
    let (order, note) = (LockKey::new(random(), "1"), LockKey::new(random(), "1"));
    let short = LockPolicy::exclusive().ttl(MINUTE).unwrap();
    let locks = t.locks.clone().with_policy(order.kind(), short).with_policy(note.kind(), LockPolicy::advisory());
    let beside = locks.try_lock(&note, &lee()).await.unwrap();
    let held = locks.try_lock_all([order.clone(), note.clone()], &kim()).await.unwrap();
    assert_eq!(
        (held.lease(&order).unwrap().holder().generation, held.lease(&note).unwrap().holder().generation),
        (1, 2)
    );
    assert_eq!((held.remaining(), held.lease(&note).unwrap().holder().remaining), (MINUTE, TTL));
    assert_eq!(locks.holders(&note).await.unwrap().len(), 2);
    // The exclusive lock blocks, and no slot is granted beside the advisory ones.
    assert!(matches!(
        locks.try_lock_all([order, note.clone()], &lee()).await,
        Err(LockError::SomeLocked { held, .. }) if held.len() == 1
    ));
    assert_eq!(locks.holders(&note).await.unwrap().len(), 2);
    locks.release_set(held.set()).await.unwrap();
    assert_eq!(locks.check_lock(beside.id()).await.unwrap().holder().generation, 1);
}

pub async fn hundreds_of_keys_are_one_set_and_more_are_refused_by_number(t: &TestDb) {
    // Others would use up the limit of an owner that all tests share.
    let (kind, kim, lee) = (random(), Owner::new(random(), "Kim"), Owner::new(random(), "Lee"));
    let keys = |count: usize| (0..count).map(|at| LockKey::new(&kind, format!("{at}-주문"))).collect::<Vec<_>>();
    let held = t.locks.try_lock_all(keys(LeaseSet::MOST_KEYS), &kim).await.unwrap();
    assert_eq!(generations(&held), vec![1; LeaseSet::MOST_KEYS]);
    t.clock.advance(MINUTE);
    assert_eq!(t.locks.keep_set_alive(held.set()).await.unwrap().remaining(), TTL);
    assert_eq!(t.locks.check_set(held.set()).await.unwrap().leases().len(), LeaseSet::MOST_KEYS);
    let refused = t.locks.try_lock_all(keys(3), &lee).await;
    assert!(matches!(refused, Err(LockError::SomeLocked { held, .. }) if held.len() == 3));
    t.locks.release_set(held.set()).await.unwrap();
    let again = t.locks.try_lock_all(keys(LeaseSet::MOST_KEYS), &lee).await.unwrap();
    assert_eq!(generations(&again), vec![2; LeaseSet::MOST_KEYS]);
    let too_many = t.locks.try_lock_all(keys(LeaseSet::MOST_KEYS + 1), &kim).await;
    assert!(matches!(too_many, Err(LockError::TooManyKeys { count: 257, most: 256 })), "{too_many:?}");
    assert!(matches!(t.locks.try_lock_all([], &kim).await, Err(LockError::NoKeys)));
    let bad = t.locks.try_lock_all([LockKey::new(&kind, "1"), LockKey::new("Invoice", "")], &kim).await;
    assert!(matches!(bad, Err(LockError::InvalidKey { key, .. }) if key.starts_with("Invoice")));
}

pub async fn a_save_is_guarded_by_its_member_and_several_saves_by_the_set(t: &TestDb) {
    let (no, counter) = (t.order().await, t.counter(1).await);
    let (order, count) = (LockKey::new("Order", &no), LockKey::of::<super::order::Counter>(&counter));
    let held = t.locks.try_lock_all([order.clone(), count.clone()], &kim()).await.unwrap();
    let (of_order, of_count) = (held.set().lock_id(&order).unwrap(), held.set().lock_id(&count).unwrap());
    t.orders.update(&no).by(&kim()).holding(&of_order).run(|order| order.send_to("her house")).await.unwrap();
    // Neither the other member nor the secret itself holds this one.
    for wrong in [&of_count, held.set().id()] {
        let refused = t.orders.update(&no).holding(wrong).run(|order| order.send_to("elsewhere")).await;
        assert!(matches!(refused, Err(UpdateError::Failed(tenure::Error::NoLock(_)))), "{refused:?}");
    }
    let both = async |to: &str| {
        let mut tx = t.db.begin().await?;
        t.locks.guard_set(&mut tx, held.set()).await?;
        let mut order = t.find(&mut tx, &no).await;
        order.send_to(to).unwrap();
        t.orders.save(&mut tx, &mut order).await?;
        let mut counted = t.counters.find(&mut tx, &counter, tenure::LockMode::Optimistic).await?.unwrap();
        counted.count += 1;
        t.counters.save(&mut tx, &mut counted).await?;
        tx.commit().await
    };
    both("both saved").await.unwrap();
    t.locks.break_lock(&count, 1, &lee(), "mine").await.unwrap();
    assert!(matches!(both("not any more").await, Err(tenure::Error::NoLock(no_lock)) if no_lock.key == Some(count)));
    assert_eq!(t.stored(&no).await.0.ship_to.line1, "both saved");
    assert_eq!(t.counters.get(&counter).await.unwrap().unwrap().count, 2);
}

pub async fn shared_key_refuses_a_set_until_released(t: &TestDb) {
    let keys = keys::<3>();
    let locks = t.locks.clone().with_policy(keys[0].kind(), LockPolicy::shared());
    let reader = locks.try_lock_shared(&keys[1], &lee()).await.unwrap();
    let refused = locks.try_lock_all(keys.clone(), &kim()).await;
    assert!(
        matches!(&refused, Err(LockError::SomeLocked { held, .. }) if held.len() == 1 && held[0].owner == lee()),
        "{refused:?}"
    );
    assert_eq!(locks.holders(&keys[0]).await.unwrap(), []);
    locks.release_lock(reader.id()).await.unwrap();
    let held = locks.try_lock_all(keys.clone(), &kim()).await.unwrap();
    assert_eq!(generations(&held), [1, 2, 1]);
    assert!(matches!(locks.try_lock_shared(&keys[1], &lee()).await, Err(LockError::AlreadyLocked(_))));
    // Also if this process does not know that the type is shared.
    locks.release_set(held.set()).await.unwrap();
    locks.try_lock_shared(&keys[2], &lee()).await.unwrap();
    let refused = t.locks.try_lock_all(keys.clone(), &kim()).await;
    assert!(matches!(refused, Err(LockError::SomeLocked { .. })), "{refused:?}");
    t.clock.advance(TTL);
    assert_eq!(generations(&t.locks.try_lock_all(keys, &kim()).await.unwrap()), [2, 3, 3]);
}

pub async fn holder_blocking_a_set_is_redacted_by_policy(t: &TestDb) {
    let keys = keys::<2>();
    let hidden = LockPolicy::exclusive().showing(tenure::lease::ShowOwner::Anonymous);
    let locks = t.locks.clone().with_policy(keys[0].kind(), hidden);
    let theirs = locks.try_lock(&keys[0], &lee()).await.unwrap();
    let refused = locks.try_lock_all(keys.clone(), &kim()).await;
    let Err(LockError::SomeLocked { held, .. }) = &refused else { panic!("{refused:?}") };
    assert!(held[0].owner.is_hidden() && !refused.unwrap_err().to_string().contains("Lee"));
    locks.release_lock(theirs.id()).await.unwrap();
    let held = locks.try_lock_all(keys.clone(), &kim()).await.unwrap();
    t.clock.advance(TTL);
    locks.try_lock(&keys[1], &lee()).await.unwrap();
    let lost = ended(locks.acting_for(&kim()).check_set(held.set()).await);
    assert!(lost[1].held_now.as_ref().unwrap().owner.is_hidden(), "{lost:?}");
}

pub async fn set_counts_toward_the_owner_limit_as_a_whole(t: &TestDb) {
    let (keys, owner) = (keys::<4>(), Owner::new(random(), "Busy"));
    let limits = Limits { locks_per_owner: 4, ..Limits::default() };
    let (locks, id) = (t.locks.clone().with_limits(limits), LockId::random());
    let three = locks.try_lock_all_as(keys[..3].to_vec(), &owner, id.clone()).await.unwrap();
    let beyond = locks.try_lock_all(self::keys::<2>(), &owner).await;
    assert!(matches!(beyond, Err(LockError::LimitReached { limit: Limit::LocksPerOwner, most: 4 })), "{beyond:?}");
    // A repeated request adds nothing.
    let again = locks.try_lock_all_as(keys[..3].to_vec(), &owner, id).await.unwrap();
    assert_eq!(generations(&again), generations(&three));
    locks.try_lock_all([keys[3].clone()], &owner).await.unwrap();
}

/// One try concurrent with others, all released at the same moment.
async fn race(
    locks: LockManager,
    together: Arc<Barrier>,
    keys: Vec<LockKey>,
    owner: Owner,
) -> Result<HeldSet, LockError> {
    together.wait().await;
    locks.try_lock_all(keys, &owner).await
}

pub async fn one_of_overlapping_sets_wins_without_deadlock(t: &TestDb) {
    let all = keys::<6>();
    let mut expected = [0; 6];
    for round in 0..12 {
        // All share key 3, and overlap elsewhere; their orders differ.
        let sets = [vec![0, 1, 2, 3], vec![5, 3, 1, 4], vec![3, 2, 1, 0], vec![4, 3, 5]];
        let together = Arc::new(Barrier::new(sets.len()));
        let tries: Vec<_> = sets
            .iter()
            .enumerate()
            .map(|(at, set)| {
                let keys = set.iter().map(|&key: &usize| all[key].clone()).collect();
                tokio::spawn(race(t.locks.clone(), Arc::clone(&together), keys, Owner::new(at.to_string(), "Racer")))
            })
            .collect();
        let mut won = Vec::new();
        for (set, tried) in sets.iter().zip(tries) {
            match tried.await.unwrap() {
                Ok(held) => won.push((set, held)),
                Err(LockError::SomeLocked { .. } | LockError::LockingFailed { .. }) => {}
                Err(error) => panic!("round {round}: {error:?}"),
            }
        }
        let [(set, held)] = &won[..] else { panic!("round {round}: {} have won", won.len()) };
        let members: BTreeSet<usize> = set.iter().copied().collect();
        for &at in &members {
            expected[at] += 1;
        }
        assert_eq!(generations(held), members.iter().map(|&at| expected[at]).collect::<Vec<_>>(), "round {round}");
        // Odd iterations end by release, even ones by expiry.
        if round % 2 == 1 { t.locks.release_set(held.set()).await.unwrap() } else { t.clock.advance(TTL) }
    }
    for (key, generation) in all.iter().zip(expected) {
        assert_eq!(generation_of(t, key).await, generation, "{key}");
    }
}

pub async fn sets_and_single_tries_share_no_key_and_no_deadlock(t: &TestDb) {
    let all = keys::<4>();
    for round in 0..12 {
        let together = Arc::new(Barrier::new(3));
        let set = tokio::spawn(race(t.locks.clone(), Arc::clone(&together), all.to_vec(), kim()));
        let single = |at: usize| {
            let (locks, together, key) = (t.locks.clone(), Arc::clone(&together), all[at].clone());
            tokio::spawn(async move {
                together.wait().await;
                locks.try_lock(&key, &lee()).await
            })
        };
        let (first, last) = (single(0), single(3));
        let (set, first, last) = (set.await.unwrap(), first.await.unwrap(), last.await.unwrap());
        for lost in [set.as_ref().err(), first.as_ref().err(), last.as_ref().err()].into_iter().flatten() {
            let told = matches!(
                lost,
                LockError::SomeLocked { .. } | LockError::AlreadyLocked(_) | LockError::LockingFailed { .. }
            );
            assert!(told, "round {round}: {lost:?}");
        }
        assert_eq!(set.is_ok(), first.is_err() && last.is_err(), "round {round}: {set:?} {first:?} {last:?}");
        if round % 2 == 1 {
            t.clock.advance(TTL);
        }
        if let Ok(held) = set {
            let _ = t.locks.release_set(held.set()).await;
        }
        for lease in [first, last].into_iter().flatten() {
            let _ = t.locks.release_lock(lease.id()).await;
        }
        t.clock.advance(Duration::from_millis(1));
    }
}

pub async fn concurrent_duplicate_set_requests_get_one_lease_each(t: &TestDb) {
    for _ in 0..8 {
        let (keys, id, together) = (keys::<3>(), LockId::random(), Arc::new(Barrier::new(2)));
        let ask = async || {
            together.wait().await;
            t.locks.try_lock_all_as(keys.clone(), &kim(), id.clone()).await
        };
        let (one, other) = tokio::join!(ask(), ask());
        let mut granted = 0;
        for answer in [one, other] {
            match answer {
                Ok(held) => {
                    granted += 1;
                    assert_eq!(generations(&held), [1, 1, 1]);
                }
                Err(LockError::LockingFailed { .. }) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
        assert!(granted >= 1);
        assert_eq!(generations(&t.locks.try_lock_all_as(keys.clone(), &kim(), id).await.unwrap()), [1, 1, 1]);
    }
}
