//! Clocks: the clock that counts, its precision, time zones, and clock steps.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure::{LockManager, LockPolicy, error::LockError};

use crate::conformance::support::{MINUTE, TTL, TestDb, key, kim, lee};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Row 15: clocks of programs differ, and one takes the lease of another before it has ended, or waits for a dead one.
/// Here a program's clock may be months off: only the database's clock counts.
pub async fn wrong_client_clock_neither_steals_nor_keeps_a_lock(t: &TestDb) {
    for ahead in [true, false] {
        let real = SystemTime::now();
        t.clock.set(if ahead { real + 300 * DAY } else { real - 300 * DAY });
        let (key, elsewhere) = (key(), LockManager::new(&t.another_process().await));
        let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
        assert_eq!((lease.holder().since, lease.holder().remaining), (t.clock.now(), TTL));
        t.clock.advance(TTL - Duration::from_millis(1));
        assert!(matches!(elsewhere.try_lock(&key, &lee()).await, Err(LockError::AlreadyLocked(_))));
        assert_eq!(elsewhere.holders(&key).await.unwrap().len(), 1);
        assert_eq!(
            t.locks.keep_alive(&[lease.id().clone()]).await.unwrap()[0].as_ref().unwrap().holder().remaining,
            TTL
        );
        t.clock.advance(TTL);
        assert!(t.locks.check_lock(lease.id()).await.is_err());
        assert_eq!(elsewhere.try_lock(&key, &lee()).await.unwrap().holder().generation, 2);
    }
}

/// Row 16: the expiry was computed, then came a pause, then it was written: the lock is created (nearly) expired. By the
/// database's own clock, because a manual clock would hide it.
pub async fn lease_after_a_wait_lasts_its_full_time(t: &TestDb) {
    let key = key();
    // Live by this clock, long expired by any other.
    t.clock.set(SystemTime::now() - TTL - MINUTE);
    let old = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    t.locks.guard(&mut tx, old.id()).await.unwrap();
    let locks = LockManager::new(&t.another_process_by_the_real_clock_in("+00:00").await);
    let (asking, place) = (locks.clone(), key.clone());
    let mut waiting = tokio::spawn(async move { asking.try_lock(&place, &lee()).await });
    let pause = Duration::from_secs(1);
    let early = tokio::time::timeout(pause, &mut waiting).await;
    assert!(early.is_err(), "it did not wait: {early:?}");
    let released = SystemTime::now();
    tx.commit().await.unwrap();
    let lease = waiting.await.unwrap().unwrap();
    // The database runs on this host. Both have millisecond precision, so one of them may be cut off.
    let millisecond = Duration::from_millis(1);
    assert!(
        lease.holder().since + millisecond >= released,
        "since {:?} before the wait was over",
        released.duration_since(lease.holder().since)
    );
    assert!(lease.holder().remaining > TTL - pause / 2, "{:?} left of {TTL:?}", lease.holder().remaining);
    assert!(locks.check_lock(lease.id()).await.unwrap().holder().remaining > TTL - pause / 2);
}

/// Row 17: times in whole seconds, which one server truncates and another rounds.
pub async fn lease_ends_for_holder_and_next_at_the_same_millisecond(t: &TestDb) {
    for fraction in [1, 499, 500, 999] {
        let whole = t.clock.now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 1;
        t.clock.set(UNIX_EPOCH + Duration::from_secs(whole) + Duration::from_millis(fraction));
        let key = key();
        let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
        for left in (1..=2).rev() {
            t.clock.set(lease.holder().since + TTL - Duration::from_millis(left));
            let check = t.locks.check_lock(lease.id()).await.unwrap();
            assert_eq!(check.holder().remaining, Duration::from_millis(left));
            assert!(matches!(t.locks.try_lock(&key, &lee()).await, Err(LockError::AlreadyLocked(_))));
        }
        t.clock.advance(Duration::from_millis(1));
        assert!(t.locks.check_lock(lease.id()).await.is_err());
        assert_eq!(t.locks.try_lock(&key, &lee()).await.unwrap().holder().since, lease.holder().since + TTL);
    }
    // The database's own clock has the same precision: of several consecutive times not all are whole seconds.
    let locks = LockManager::new(&t.another_process_by_the_real_clock_in("+00:00").await);
    let mut fractions = 0;
    for _ in 0..5 {
        let since = locks.try_lock(&key(), &kim()).await.unwrap().holder().since;
        fractions += since.duration_since(UNIX_EPOCH).unwrap().subsec_millis();
    }
    assert!(fractions > 0, "the database's clock shows whole seconds only");
}

/// Row 18: local times without their zone. Two programs in different time zones, by the database's own clock.
pub async fn programs_in_different_time_zones_agree_when_a_lease_ends(t: &TestDb) {
    let seoul = LockManager::new(&t.another_process_by_the_real_clock_in("+09:00").await);
    let new_york = LockManager::new(&t.another_process_by_the_real_clock_in("-05:00").await);
    for (mine, theirs) in [(&seoul, &new_york), (&new_york, &seoul)] {
        let (key, before) = (key(), SystemTime::now());
        let lease = mine.try_lock(&key, &kim()).await.unwrap();
        let off = lease.holder().since.duration_since(before).unwrap_or_else(|before| before.duration());
        assert!(off < MINUTE, "{off:?} away from the clock of this host");
        let refused = theirs.try_lock(&key, &lee()).await;
        let Err(LockError::AlreadyLocked(holder)) = refused else { panic!("{refused:?}") };
        assert!(holder.remaining > TTL - MINUTE && holder.remaining <= TTL, "{:?}", holder.remaining);
        assert!(theirs.keep_alive(&[lease.id().clone()]).await.unwrap()[0].is_ok());
        mine.expire_within(lease.id(), Duration::ZERO).await.unwrap();
        assert_eq!(theirs.try_lock(&key, &lee()).await.unwrap().holder().generation, 2);
    }
}

/// Row 18 as well: the hour that repeats in autumn, and the one that is skipped in spring.
pub async fn a_lease_lasts_as_long_across_the_change_of_summer_time(t: &TestDb) {
    // In Berlin and in New York, 2026, spring and autumn: seconds since 1970.
    for change in [1_774_746_000, 1_792_890_000, 1_772_953_200, 1_793_512_800] {
        let change = UNIX_EPOCH + Duration::from_secs(change);
        t.clock.set(change - 30 * MINUTE);
        let policy = LockPolicy::exclusive().ttl(60 * MINUTE).unwrap();
        let (key, locks) = (key(), t.locks.clone().with_policy("Order", policy));
        let lease = locks.try_lock(&key, &kim()).await.unwrap();
        t.clock.advance(40 * MINUTE);
        let check = locks.check_lock(lease.id()).await.unwrap();
        assert_eq!((check.holder().since, check.holder().remaining), (change - 30 * MINUTE, 20 * MINUTE));
        assert!(matches!(locks.try_lock(&key, &lee()).await, Err(LockError::AlreadyLocked(_))));
        t.clock.advance(20 * MINUTE);
        assert_eq!(locks.try_lock(&key, &lee()).await.unwrap().holder().generation, 2);
    }
}

/// The clock of the database's host is corrected by a day. Two people may then believe that they hold a lock; only one save
/// is accepted. A step back extends leases by exactly that step.
pub async fn clock_steps_cause_no_double_holder_and_no_stuck_lock(t: &TestDb) {
    let no = t.order().await;
    let order_key = tenure::LockKey::of::<crate::conformance::order::Order>(&no);
    let first = t.locks.try_lock(&order_key, &kim()).await.unwrap();
    t.clock.advance(DAY);
    // Forward: everything has expired. The former holder learns it, and cannot save.
    let second = t.locks.try_lock(&order_key, &lee()).await.unwrap();
    assert_eq!(second.holder().generation, 2);
    let late = t.orders.update(&no).by(&kim()).holding(first.id()).run(|order| order.send_to("late")).await;
    assert!(late.is_err(), "{late:?}");
    // Back again: by its expiry the first lease would be live. It is not.
    t.clock.set(t.clock.now() - DAY);
    assert!(t.locks.check_lock(first.id()).await.is_err());
    assert!(t.locks.keep_alive(&[first.id().clone()]).await.unwrap()[0].is_err());
    let late = t.orders.update(&no).by(&kim()).holding(first.id()).run(|order| order.send_to("late")).await;
    assert!(late.is_err(), "{late:?}");
    // The second lease lasts a day longer than its time to live, and heartbeats do not extend it further.
    let kept = t.locks.keep_alive(&[second.id().clone()]).await.unwrap().remove(0).unwrap();
    assert_eq!((kept.holder().generation, kept.holder().remaining), (2, DAY + TTL));
    t.clock.advance(DAY + TTL - Duration::from_millis(1));
    assert!(matches!(t.locks.try_lock(&order_key, &kim()).await, Err(LockError::AlreadyLocked(_))));
    t.clock.advance(Duration::from_millis(1));
    assert_eq!(t.locks.try_lock(&order_key, &kim()).await.unwrap().holder().generation, 3);
}
