//! Zero and infinite durations.

use std::time::Duration;

use tenure::{Lease, LockManager, LockPolicy, error::LeaseError, lease::LeaseLossReason};
use tokio::task::JoinSet;

use crate::conformance::support::{MINUTE, TTL, TestDb, key, kim, lee};

#[derive(Clone, Copy, Debug)]
enum What {
    Extend(Duration),
    ExpireWithin(Duration),
}

async fn done(locks: &LockManager, lease: &Lease, what: What) -> Result<Duration, LeaseError> {
    let done = match what {
        What::Extend(by) => locks.extend_lock_expiration(lease.id(), by).await,
        What::ExpireWithin(within) => locks.expire_within(lease.id(), within).await,
    };
    done.map(|lease| lease.holder().remaining)
}

/// For a single lease, and for several in one batch.
pub async fn absurd_durations_move_no_lease_beyond_its_limits(t: &TestDb) {
    let almost = Duration::MAX - Duration::from_nanos(1);
    let cases = [
        (What::Extend(Duration::ZERO), TTL - MINUTE),
        (What::Extend(Duration::from_nanos(1)), TTL - MINUTE),
        (What::Extend(Duration::MAX), TTL),
        (What::Extend(almost), TTL),
        (What::Extend(Duration::from_millis(u64::MAX)), TTL),
        (What::ExpireWithin(Duration::MAX), TTL - MINUTE),
        (What::ExpireWithin(Duration::from_millis(i64::MAX.unsigned_abs())), TTL - MINUTE),
        (What::ExpireWithin(Duration::ZERO), Duration::ZERO),
        (What::ExpireWithin(Duration::from_nanos(1)), Duration::ZERO),
    ];
    for (what, remaining) in cases {
        let mut leases = Vec::new();
        for _ in 0..7 {
            leases.push(t.locks.try_lock(&key(), &kim()).await.unwrap());
        }
        t.clock.advance(MINUTE);
        assert_eq!(done(&t.locks, &leases[0], what).await.unwrap(), remaining, "{what:?}");
        let mut together = JoinSet::new();
        for lease in &leases[1..] {
            let (locks, lease) = (t.locks.clone(), lease.clone());
            together.spawn(async move { done(&locks, &lease, what).await.unwrap() });
        }
        assert_eq!(together.join_all().await, [remaining; 6], "{what:?}");
        for lease in &leases {
            let next = t.locks.try_lock(&lease.holder().key, &lee()).await;
            assert_eq!(next.is_ok(), remaining.is_zero(), "{what:?} {next:?}");
        }
    }
}

pub async fn a_policy_is_bounded_and_its_longest_lease_ends(t: &TestDb) {
    for absurd in [Duration::ZERO, LockPolicy::LONGEST_TTL + Duration::from_nanos(1), Duration::MAX] {
        assert!(LockPolicy::exclusive().ttl(absurd).is_err(), "{absurd:?}");
    }
    for absurd in [Duration::ZERO, Duration::MAX] {
        assert!(LockPolicy::exclusive().absolute_limit(absurd).is_err(), "{absurd:?}");
    }
    let longest = LockPolicy::LONGEST_TTL;
    let policy = LockPolicy::exclusive().absolute_limit(longest).and_then(|policy| policy.ttl(longest));
    let (key, locks) = (key(), t.locks.clone().with_policy("Order", policy.unwrap()));
    let lease = locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(LockPolicy::LONGEST_TTL - Duration::from_millis(1));
    assert_eq!(
        locks.keep_alive(&[lease.id().clone()]).await.unwrap()[0].as_ref().unwrap().holder().remaining.as_millis(),
        1
    );
    t.clock.advance(Duration::from_millis(1));
    let over = locks.check_lock(lease.id()).await;
    assert!(
        matches!(&over, Err(LeaseError::NoLock(no)) if matches!(no.why, LeaseLossReason::LimitReached { .. })),
        "{over:?}"
    );
    assert_eq!(locks.try_lock(&key, &lee()).await.unwrap().holder().generation, 2);
}
