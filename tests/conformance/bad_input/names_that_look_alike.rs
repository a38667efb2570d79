//! Keys and owners that some databases treat as equal: by case, accents, trailing spaces, or truncation.

use std::time::Duration;

use tenure::{
    LockKey, LockManager, Owner,
    error::{LeaseError, LockError, TakeOverError},
    lease::LeaseLossReason,
};
use tokio::task::JoinSet;

use crate::conformance::support::{MINUTE, TTL, TestDb, key, kim, random};

fn lookalikes() -> Vec<String> {
    let mut all: Vec<String> = [
        "a1",
        "A1",
        "a1 ",
        "a1  ",
        " a1",
        "a1\u{a0}",
        "á1",
        "a\u{301}1",
        "ａ1",
        "ß",
        "ss",
        "SS",
        "ﬁ",
        "fi",
        "İ",
        "i",
        "ı",
        "Σ",
        "ς",
        "σ",
        "1",
        "01",
        "1.0",
        "'",
        "''",
        "\\",
        "\\\\",
        "%",
        "_",
        "\"",
        "`",
        " ",
        "  ",
        "\u{2003}",
        "\u{3000}",
        "\u{feff}a1",
        "a1\u{200b}",
        "\u{200e}1a",
        "null",
        "NULL",
        "x'00'",
        "💐",
        "💐💐",
        "가",
        "\u{1100}\u{1161}",
    ]
    .map(str::to_owned)
    .into();
    all.extend([format!("{}y", "x".repeat(1_023)), format!("{}Y", "x".repeat(1_023)), "x".repeat(1_023)]);
    all
}

/// Row 26 of the classic flaws.
pub async fn similar_looking_keys_are_different_locks(t: &TestDb) {
    let run = random();
    let kinds = [format!("Order{run}"), format!("order{run}"), format!("Order{run} ")];
    let mut taking = JoinSet::new();
    for id in lookalikes() {
        for kind in &kinds {
            let (locks, key) = (t.locks.clone(), LockKey::new(kind, &id));
            taking.spawn(async move { (key.clone(), locks.try_lock(&key, &kim()).await.unwrap()) });
        }
    }
    let taken = taking.join_all().await;
    for (key, lease) in &taken {
        assert_eq!((&lease.holder().key, lease.holder().generation), (key, 1));
    }
    for kind in &kinds {
        assert_eq!(t.locks.list().of_type(kind).limit(1_000).run().await.unwrap().items.len(), lookalikes().len());
    }
    // An operation on one affects no other.
    let (ended, kept) = taken.split_at(taken.len() / 2);
    t.clock.advance(MINUTE);
    for (_, lease) in ended {
        t.locks.release_lock(lease.id()).await.unwrap();
    }
    let ids: Vec<_> = kept.iter().map(|(_, lease)| lease.id().clone()).collect();
    for lease in t.locks.keep_alive(&ids).await.unwrap() {
        assert_eq!(lease.unwrap().holder().remaining, TTL);
    }
    for (key, _) in ended {
        assert_eq!(t.locks.holders(key).await.unwrap(), [], "{key:?}");
    }
    for (key, lease) in kept {
        let holders = t.locks.holders(key).await.unwrap();
        assert_eq!((holders.len(), &holders[0].key, holders[0].generation), (1, key, lease.holder().generation));
    }
}

fn not_yours<T: std::fmt::Debug>(answer: Result<T, LeaseError>) {
    assert!(matches!(&answer, Err(LeaseError::NoLock(no)) if no.why == LeaseLossReason::NotYours), "{answer:?}");
}

async fn may_do_nothing_with(theirs: &LockManager, lease: &tenure::Lease) {
    not_yours(theirs.check_lock(lease.id()).await);
    not_yours(theirs.extend_lock_expiration(lease.id(), MINUTE).await);
    not_yours(theirs.expire_within(lease.id(), Duration::ZERO).await);
    not_yours(theirs.release_lock(lease.id()).await);
    let (id, other) = (lease.id().clone(), tenure::LockId::random());
    for beat in [theirs.keep_alive(std::slice::from_ref(&id)).await, theirs.keep_alive(&[id, other]).await] {
        assert_eq!(beat.unwrap().remove(0).unwrap_err().why, LeaseLossReason::NotYours);
    }
}

pub async fn similar_looking_ids_are_different_people(t: &TestDb) {
    let run = random();
    let kim = Owner::new(format!("{run}kim"), "Kim Minji");
    let lease = t.locks.try_lock(&key(), &kim).await.unwrap();
    t.clock.advance(MINUTE);
    for other in ["KIM", "kim ", "kím", "ki\u{301}m", "kim\u{200b}", "ｋim", "ki"] {
        let other = Owner::new(format!("{run}{other}"), "Kim Minji");
        may_do_nothing_with(&t.locks.acting_for(&other), &lease).await;
        assert_eq!(t.locks.release_all(&other.id).await.unwrap(), []);
        let used = t.locks.try_lock_as(&lease.holder().key, &other, lease.id().clone()).await;
        assert!(matches!(&used, Err(LockError::LockIdUsed(no)) if no.why == LeaseLossReason::NotYours), "{used:?}");
        let taken = t.locks.take_over(&lease.holder().key, 1, &other, tenure::LockId::random(), "mine").await;
        assert!(matches!(taken, Err(TakeOverError::NotPermitted(_))), "{taken:?}");
    }
    assert_eq!(t.locks.acting_for(&kim).check_lock(lease.id()).await.unwrap().holder().remaining, TTL - MINUTE);
}
