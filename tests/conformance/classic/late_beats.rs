//! Late and concurrent heartbeats.

use std::sync::Arc;

use tenure::{LockManager, error::LockError, lease::LeaseLossReason};
use tokio::sync::Barrier;

use crate::conformance::support::{MINUTE, TTL, TestDb, key, kim, lee};

/// Row 3: an extension that read the old lease writes, by the key, into the new one, and shortens it.
pub async fn late_heartbeat_after_expiry_does_not_touch_the_next(t: &TestDb) {
    let elsewhere = LockManager::new(&t.another_process().await);
    for _ in 0..8 {
        let (key, barrier) = (key(), Arc::new(Barrier::new(3)));
        let late = t.locks.try_lock(&key, &kim()).await.unwrap();
        t.clock.advance(TTL - MINUTE);
        let other = t.locks.try_lock(&super::super::support::key(), &kim()).await.unwrap();
        t.clock.advance(MINUTE);
        let (locks, ids, meet) = (t.locks.clone(), [late.id().clone(), other.id().clone()], barrier.clone());
        let beating = tokio::spawn(async move {
            meet.wait().await;
            let both = locks.keep_alive(&ids).await.unwrap();
            (both, locks.keep_alive(&ids[..1]).await.unwrap())
        });
        let (locks, id, meet) = (t.locks.clone(), late.id().clone(), barrier.clone());
        let extending = tokio::spawn(async move {
            meet.wait().await;
            locks.extend_lock_expiration(&id, MINUTE).await
        });
        barrier.wait().await;
        let next = elsewhere.try_lock(&key, &lee()).await.unwrap();
        let (both, alone) = beating.await.unwrap();
        assert!(both[0].is_err() && both[1].is_ok() && alone[0].is_err(), "{both:?} {alone:?}");
        assert!(extending.await.unwrap().is_err());
        let kept = t.locks.check_lock(next.id()).await.unwrap();
        assert_eq!(
            (kept.holder().generation, kept.holder().remaining, kept.holder().last_active),
            (2, TTL, t.clock.now())
        );
    }
}

/// Row 4: the heartbeat was in flight when the lease was released, and arrives when another owner holds the key.
pub async fn late_heartbeat_after_release_does_not_touch_the_next(t: &TestDb) {
    for _ in 0..10 {
        let (key, barrier) = (key(), Arc::new(Barrier::new(3)));
        let first = t.locks.try_lock(&key, &kim()).await.unwrap();
        t.clock.advance(MINUTE);
        let (locks, id, meet) = (t.locks.clone(), first.id().clone(), barrier.clone());
        let beating = tokio::spawn(async move {
            meet.wait().await;
            let beat = locks.keep_alive(std::slice::from_ref(&id)).await.unwrap().remove(0);
            (beat, locks.extend_lock_expiration(&id, MINUTE).await)
        });
        let (locks, place, meet) = (t.locks.clone(), key.clone(), barrier.clone());
        let taking = tokio::spawn(async move {
            meet.wait().await;
            loop {
                match locks.try_lock(&place, &lee()).await {
                    Ok(lease) => break lease,
                    Err(LockError::AlreadyLocked(_) | LockError::LockingFailed { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        barrier.wait().await;
        t.locks.release_lock(first.id()).await.unwrap();
        let (_, next) = (beating.await.unwrap(), taking.await.unwrap());
        let late = t.locks.keep_alive(&[first.id().clone()]).await.unwrap().remove(0).unwrap_err();
        assert_eq!(late.why, LeaseLossReason::Released { at: t.clock.now() });
        let kept = t.locks.check_lock(next.id()).await.unwrap();
        assert_eq!((kept.holder().generation, kept.holder().remaining, &kept.holder().owner), (2, TTL, &lee()));
    }
}

/// Row 5: both read the same expiry and both write it plus a minute; one minute is lost.
pub async fn of_two_extensions_at_once_none_is_lost(t: &TestDb) {
    let elsewhere = LockManager::new(&t.another_process().await);
    for _ in 0..8 {
        let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
        t.clock.advance(3 * MINUTE);
        let barrier = Arc::new(Barrier::new(2));
        let extend = |locks: &LockManager| {
            let (locks, id, meet) = (locks.clone(), lease.id().clone(), barrier.clone());
            tokio::spawn(async move {
                meet.wait().await;
                locks.extend_lock_expiration(&id, MINUTE).await.unwrap().holder().remaining
            })
        };
        let (one, two) = (extend(&t.locks), extend(&elsewhere));
        // The first result may already include the effect of the second.
        for told in [one.await.unwrap(), two.await.unwrap()] {
            assert!([3 * MINUTE, 4 * MINUTE].contains(&told), "{told:?}");
        }
        assert_eq!(t.locks.check_lock(lease.id()).await.unwrap().holder().remaining, 4 * MINUTE);
    }
}
