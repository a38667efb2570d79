//! Transfer requests to the holder of a lock.

use std::sync::Arc;
use std::time::Duration;

use tenure::{
    LockId, LockKey, Owner,
    error::{AnswerError, LeaseError, RequestError},
    lease::{Holder, LeaseLossReason, TransferReply, TransferRequest},
};
use tokio::sync::Barrier;

use super::support::{MINUTE, TTL, TestDb, key, kim, lee, random};

fn park() -> Owner {
    Owner::new("park", "Park")
}

fn held_now(answer: Result<TransferRequest, RequestError>) -> Vec<Holder> {
    match answer {
        Err(RequestError::HolderChanged { held_now }) => held_now,
        other => panic!("expected HolderChanged, found {other:?}"),
    }
}

pub async fn holder_sees_requests_with_notes_oldest_first(t: &TestDb) {
    let key = key();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    assert_eq!(t.locks.requests(lease.id()).await.unwrap(), []);
    let asked = t.locks.request(&key, 1, &park(), " may I? 택배 ").await.unwrap();
    t.clock.advance(Duration::from_secs(1));
    let second = t.locks.request(&key, 1, &lee(), "").await.unwrap();
    let requests = t.locks.requests(lease.id()).await.unwrap();
    let first = TransferRequest { remaining: TransferRequest::TTL - Duration::from_secs(1), ..asked.clone() };
    assert_eq!(requests, [first, second]);
    assert_eq!((asked.key, asked.generation, asked.by, asked.answer), (key, 1, park(), None));
    assert_eq!((asked.note.as_str(), asked.remaining), ("may I? 택배", TransferRequest::TTL));
}

pub async fn repeated_request_keeps_its_position_and_reply(t: &TestDb) {
    let key = key();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let asked = t.locks.request(&key, 1, &lee(), "please").await.unwrap();
    t.locks.answer_request(lease.id(), "lee", TransferReply::Later(5 * MINUTE)).await.unwrap();
    t.clock.advance(MINUTE);
    let again = t.locks.request(&key, 1, &lee(), "please").await.unwrap();
    assert_eq!(
        (again.since, again.remaining, again.answer),
        (asked.since, TransferRequest::TTL, Some(TransferReply::Later(4 * MINUTE)))
    );
    assert_eq!(t.locks.requests(lease.id()).await.unwrap().len(), 1);
    // Another note is a new request.
    let other = t.locks.request(&key, 1, &lee(), "now, please").await.unwrap();
    assert_eq!((other.since, &other.answer, other.note.as_str()), (t.clock.now(), &None, "now, please"));
    assert_eq!(t.locks.requests(lease.id()).await.unwrap(), [other]);
}

pub async fn latest_reply_counts_and_a_postponement_ends(t: &TestDb) {
    let key = key();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.locks.request(&key, 1, &lee(), "please").await.unwrap();
    let no = TransferReply::Declined { message: "it is urgent".into() };
    let declined = t.locks.answer_request(lease.id(), "lee", no.clone()).await.unwrap();
    assert_eq!(declined.answer, Some(no));
    t.locks.answer_request(lease.id(), "lee", TransferReply::Later(MINUTE)).await.unwrap();
    t.clock.advance(MINUTE - Duration::from_millis(1));
    let later = t.locks.requests(lease.id()).await.unwrap().remove(0).answer;
    assert_eq!(later, Some(TransferReply::Later(Duration::from_millis(1))));
    t.clock.advance(Duration::from_millis(1));
    assert_eq!(t.locks.requests(lease.id()).await.unwrap()[0].answer, None);
    t.locks.answer_request(lease.id(), "lee", TransferReply::Later(Duration::MAX)).await.unwrap();
}

pub async fn request_ends_when_its_requester_leaves(t: &TestDb) {
    let key = key();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.locks.request(&key, 1, &lee(), "please").await.unwrap();
    t.clock.advance(TransferRequest::TTL);
    assert_eq!(t.locks.requests(lease.id()).await.unwrap(), []);
    let answered = t.locks.answer_request(lease.id(), "lee", TransferReply::Later(MINUTE)).await;
    assert!(matches!(&answered, Err(AnswerError::NotAsked { asker }) if asker == "lee"), "{answered:?}");
    let handed = t.locks.hand_over(lease.id(), "lee").await;
    assert!(matches!(handed, Err(AnswerError::NotAsked { .. })), "{handed:?}");
    assert!(t.locks.check_lock(lease.id()).await.is_ok());
    let again = t.locks.request(&key, 1, &lee(), "please").await.unwrap();
    assert_eq!((again.since, again.answer), (t.clock.now(), None));
}

pub async fn a_request_ends_with_the_lease_it_was_made_to(t: &TestDb) {
    let key = key();
    let first = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.locks.request(&key, 1, &lee(), "please").await.unwrap();
    t.locks.release_lock(first.id()).await.unwrap();
    assert_eq!(held_now(t.locks.request(&key, 1, &lee(), "please").await), []);
    let second = t.locks.try_lock(&key, &kim()).await.unwrap();
    assert_eq!(t.locks.requests(second.id()).await.unwrap(), []);
    assert_eq!(held_now(t.locks.request(&key, 1, &lee(), "please").await)[0].generation, 2);
    t.locks.request(&key, 2, &lee(), "please").await.unwrap();
    // A request for a past or future generation fails, also for a requester of the present one.
    for generation in [1, 3] {
        assert_eq!(held_now(t.locks.request(&key, generation, &lee(), "please").await)[0].generation, 2);
    }
    assert_eq!(t.locks.requests(second.id()).await.unwrap().len(), 1);
    t.clock.advance(TTL);
    assert!(matches!(t.locks.requests(second.id()).await, Err(LeaseError::NoLock(no)) if no.key == Some(key)));
}

pub async fn only_the_holder_sees_and_answers_requests(t: &TestDb) {
    let key = key();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.locks.request(&key, 1, &lee(), "please").await.unwrap();
    let thief = t.locks.acting_for(&lee());
    assert!(
        matches!(thief.requests(lease.id()).await, Err(LeaseError::NoLock(no)) if no.why == LeaseLossReason::NotYours)
    );
    let answered = thief.answer_request(lease.id(), "lee", TransferReply::Later(MINUTE)).await;
    assert!(matches!(&answered, Err(AnswerError::NoLock(no)) if no.why == LeaseLossReason::NotYours), "{answered:?}");
    let handed = thief.hand_over(lease.id(), "lee").await;
    assert!(matches!(&handed, Err(AnswerError::NoLock(no)) if no.why == LeaseLossReason::NotYours), "{handed:?}");
    let nobody = t.locks.hand_over(&LockId::random(), "lee").await;
    assert!(matches!(&nobody, Err(AnswerError::NoLock(no)) if no.why == LeaseLossReason::Unknown), "{nobody:?}");
    assert_eq!(t.locks.requests(lease.id()).await.unwrap()[0].answer, None);
}

pub async fn notes_are_bounded_and_advisory_locks_take_no_requests(t: &TestDb) {
    let key = key();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let long = "가".repeat(TransferRequest::LONGEST_NOTE);
    assert_eq!(t.locks.request(&key, 1, &lee(), &long).await.unwrap().note, long);
    let longer = long + "가";
    assert!(matches!(t.locks.request(&key, 1, &lee(), &longer).await, Err(RequestError::NoteTooLong)));
    let no = TransferReply::Declined { message: longer };
    assert!(matches!(t.locks.answer_request(lease.id(), "lee", no).await, Err(AnswerError::MessageTooLong)));
    let note = LockKey::new("Note", random());
    let generation = t.locks.try_lock(&note, &kim()).await.unwrap().holder().generation;
    let advisory = t.locks.request(&note, generation, &lee(), "please").await;
    assert!(matches!(advisory, Err(RequestError::Advisory { .. })), "{advisory:?}");
}

pub async fn one_request_per_requester_is_open(t: &TestDb) {
    let (key, barrier) = (key(), Arc::new(Barrier::new(4)));
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let ask = |_| {
        let (locks, key, meet) = (t.locks.clone(), key.clone(), barrier.clone());
        tokio::spawn(async move {
            meet.wait().await;
            locks.request(&key, 1, &lee(), "please").await
        })
    };
    for asked in [0, 1, 2, 3].map(ask) {
        assert_eq!(asked.await.unwrap().unwrap().since, t.clock.now());
    }
    assert_eq!(t.locks.requests(lease.id()).await.unwrap().len(), 1);
}

pub async fn requests_that_lapsed_can_be_repeated_by_all_at_once(t: &TestDb) {
    let (key, askers) = (key(), ["a", "b", "c", "d", "e", "f"]);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    for _ in 0..10 {
        let barrier = Arc::new(Barrier::new(askers.len()));
        let ask = |asker: &str| {
            let (locks, key, meet, by) = (t.locks.clone(), key.clone(), barrier.clone(), Owner::new(asker, asker));
            tokio::spawn(async move {
                meet.wait().await;
                locks.request(&key, 1, &by, "please").await
            })
        };
        for asked in askers.map(ask) {
            asked.await.unwrap().unwrap();
        }
        assert_eq!(t.locks.requests(lease.id()).await.unwrap().len(), askers.len());
        t.clock.advance(TransferRequest::TTL);
        t.locks.keep_alive(&[lease.id().clone()]).await.unwrap().remove(0).unwrap();
    }
}
