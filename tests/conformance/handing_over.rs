//! Handing a lock over to a requester.

use std::sync::Arc;
use std::time::Duration;

use tenure::{
    Lease, LockId, LockKey, Owner,
    error::{AnswerError, LeaseError, LockError},
    lease::{LeaseLossReason, TransferRequest},
};
use tokio::sync::Barrier;

use super::support::{MINUTE, TTL, TestDb, key, kim, lee};

/// A key that Kim holds and Lee requests.
async fn asked(t: &TestDb) -> (LockKey, Lease) {
    let key = key();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.locks.request(&key, 1, &lee(), "please").await.unwrap();
    (key, lease)
}

fn reserved(answer: Result<Lease, LockError>) -> (Owner, Duration) {
    match answer {
        Err(LockError::Reserved { owner, remaining, .. }) => (owner, remaining),
        other => panic!("expected Reserved, found {other:?}"),
    }
}

pub async fn handed_over_key_is_reserved_for_its_recipient(t: &TestDb) {
    let (key, lease) = asked(t).await;
    t.clock.advance(MINUTE);
    let kept = t.locks.hand_over(lease.id(), "lee").await.unwrap();
    assert_eq!((kept.owner, kept.remaining, kept.generation), (lee(), TransferRequest::RESERVATION, 2));
    let gone = t.locks.check_lock(lease.id()).await;
    let Err(LeaseError::NoLock(gone)) = gone else { panic!("{gone:?}") };
    assert_eq!(gone.why, LeaseLossReason::HandedOver { to: lee(), at: t.clock.now() });
    t.clock.advance(Duration::from_secs(10));
    let others = (lee(), Duration::from_secs(20));
    assert_eq!(reserved(t.locks.try_lock(&key, &kim()).await), others);
    assert_eq!(reserved(t.locks.try_lock(&key, &Owner::new("park", "Park")).await), others);
    let taken = t.locks.try_lock(&key, &lee()).await.unwrap();
    assert_eq!((taken.holder().generation, taken.holder().remaining, taken.holder().since), (3, TTL, t.clock.now()));
    // From here on it is an ordinary lease.
    for other in [kim(), lee()] {
        let refused = t.locks.try_lock(&key, &other).await;
        assert!(matches!(&refused, Err(LockError::AlreadyLocked(holder)) if holder.owner == lee()), "{refused:?}");
    }
    assert_eq!(t.locks.holders(&key).await.unwrap().len(), 1);
}

pub async fn unused_reservation_expires(t: &TestDb) {
    let (key, lease) = asked(t).await;
    t.locks.hand_over(lease.id(), "lee").await.unwrap();
    t.clock.advance(TransferRequest::RESERVATION - Duration::from_millis(1));
    assert_eq!(reserved(t.locks.try_lock(&key, &kim()).await), (lee(), Duration::from_millis(1)));
    t.clock.advance(Duration::from_millis(1));
    assert!(t.locks.holders(&key).await.unwrap().is_empty());
    let next = t.locks.try_lock(&key, &kim()).await.unwrap();
    assert_eq!((next.holder().generation, next.holder().remaining), (3, TTL));
    let late = t.locks.try_lock(&key, &lee()).await;
    assert!(matches!(&late, Err(LockError::AlreadyLocked(holder)) if holder.owner == kim()), "{late:?}");
    // Nor does a second tab of hers get the former reservation.
    let tab = t.locks.try_lock(&key, &kim()).await;
    assert!(matches!(tab, Err(LockError::AlreadyLocked(_))), "{tab:?}");
}

pub async fn hand_over_needs_the_holder_and_a_requester(t: &TestDb) {
    let (key, lease) = asked(t).await;
    let park = t.locks.hand_over(lease.id(), "park").await;
    assert!(matches!(&park, Err(AnswerError::NotAsked { asker }) if asker == "park"), "{park:?}");
    assert_eq!(t.locks.check_lock(lease.id()).await.unwrap().holder().generation, 1);
    t.locks.hand_over(lease.id(), "lee").await.unwrap();
    // A repeated request, and an ended lease.
    let twice = t.locks.hand_over(lease.id(), "lee").await;
    assert!(
        matches!(&twice, Err(AnswerError::NoLock(no)) if no.why == LeaseLossReason::HandedOver { to: lee(), at: t.clock.now() })
    );
    let back = t.locks.try_lock_as(&key, &kim(), lease.id().clone()).await;
    assert_eq!(reserved(back).0, lee());
}

pub async fn a_reservation_can_be_ended_like_a_lease(t: &TestDb) {
    let (key, lease) = asked(t).await;
    t.locks.hand_over(lease.id(), "lee").await.unwrap();
    t.locks.break_lock(&key, 2, &kim(), "lee has left").await.unwrap();
    assert_eq!(t.locks.try_lock(&key, &kim()).await.unwrap().holder().generation, 3);
    // No save can bypass it either.
    let no = t.order().await;
    let lease = t.locks.try_lock(&LockKey::of::<super::order::Order>(&no), &kim()).await.unwrap();
    t.locks.request(&lease.holder().key, 1, &lee(), "").await.unwrap();
    t.locks.hand_over(lease.id(), "lee").await.unwrap();
    let save = t.orders.update(&no).by(&kim()).unless_locked().run(super::order::Order::ship).await;
    assert!(
        matches!(save, Err(tenure::error::UpdateError::Failed(tenure::Error::AlreadyLocked(holder))) if holder.owner == lee())
    );
    assert!(matches!(t.locks.requests(lease.id()).await, Err(LeaseError::NoLock(_))));
}

pub async fn reserved_key_is_granted_once_and_only_to_its_owner(t: &TestDb) {
    for _ in 0..5 {
        let (key, lease) = asked(t).await;
        t.locks.hand_over(lease.id(), "lee").await.unwrap();
        let barrier = Arc::new(Barrier::new(8));
        let askers = ["lee", "one", "two", "three", "lee", "five", "six", "seven"];
        let take = |asker: &'static str| {
            let (locks, key, meet) = (t.locks.clone(), key.clone(), barrier.clone());
            let owner = Owner::new(asker, lee().name);
            tokio::spawn(async move {
                meet.wait().await;
                locks.try_lock(&key, &owner).await
            })
        };
        let mut won = Vec::new();
        for (asker, taking) in askers.into_iter().zip(askers.map(take)) {
            match taking.await.unwrap() {
                Ok(lease) => won.push((asker, lease.holder().generation)),
                Err(LockError::Reserved { owner, .. }) => assert_eq!(owner, lee()),
                Err(LockError::AlreadyLocked(holder)) => assert_eq!((holder.owner, holder.generation), (lee(), 3)),
                Err(LockError::LockingFailed { .. }) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        assert_eq!(won, [("lee", 3)]);
    }
}

pub async fn a_handover_and_a_takeover_at_once_end_the_lease_once(t: &TestDb) {
    for _ in 0..10 {
        let (key, lease) = asked(t).await;
        let barrier = Arc::new(Barrier::new(2));
        let (meet, place) = (barrier.clone(), key.clone());
        let locks = t.locks.clone().with_take_over_permission("Order", |_: &Owner, _: &tenure::lease::Holder| true);
        let taking = tokio::spawn(async move {
            meet.wait().await;
            locks.take_over(&place, 1, &Owner::new("park", "Park"), LockId::random(), "now").await
        });
        barrier.wait().await;
        let handed = t.locks.hand_over(lease.id(), "lee").await;
        let taken = taking.await.unwrap();
        let holders = t.locks.holders(&key).await.unwrap();
        let [holder] = &holders[..] else { panic!("{holders:?}") };
        match (&handed, &taken) {
            (Ok(kept), Err(_)) => assert_eq!((&holder.owner, holder.generation), (&kept.owner, 2)),
            (Err(AnswerError::NoLock(_)), Ok(taken)) => {
                assert_eq!((&holder.owner, holder.generation), (&taken.holder().owner, taken.holder().generation));
            }
            both => panic!("{both:?}"),
        }
    }
}
