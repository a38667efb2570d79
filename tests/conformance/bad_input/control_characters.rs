//! Texts that could forge lines of a log, or show one name as another. They are refused before any database access, so the
//! result is the same on all databases; a database that refuses a NUL would do it with an error of its own.

use std::convert::Infallible;

use tenure::{
    Error, LockId, LockKey, LockMode, Owner,
    error::{BreakError, LeaseError, ListError, LockError, TakeOverError, UpdateError},
    lease::{Holder, InvalidReason, LeaseLossReason},
};

use crate::conformance::order::Note;
use crate::conformance::support::{TTL, TestDb, key, kim, lee, random, version};

/// With a NUL, four kinds of line ends, an escape sequence in 7 and in 8 bits, and a direction override.
const BAD: [&str; 8] = ["a\0b", "a\nb", "a\rb", "a\tb", "\u{1b}[31mb", "a\u{9b}b", "a\u{2028}b", "a\u{202e}b"];

fn pin(note: &mut Note) -> Result<(), Infallible> {
    note.pinned = Some(true);
    Ok(())
}

pub async fn control_characters_are_in_no_key_owner_or_reason(t: &TestDb) {
    let locks = t.locks.clone().with_take_over_permission("Order", |_: &Owner, _: &Holder| true);
    let held = locks.try_lock(&key(), &kim()).await.unwrap();
    for bad in BAD {
        for key in [LockKey::new("Order", bad), LockKey::new(bad, "1")] {
            let refused = locks.try_lock(&key, &kim()).await;
            assert!(matches!(refused, Err(LockError::InvalidKey { .. })), "{bad:?}: {refused:?}");
            assert!(!refused.unwrap_err().to_string().contains(bad), "it is escaped where it is shown");
            let waited = locks.lock(&key, &kim()).await;
            assert!(matches!(waited, Err(LockError::InvalidKey { .. })), "{bad:?}: {waited:?}");
        }
        for owner in [Owner::new(bad, "Kim"), Owner::new("kim", bad), kim().in_role(bad)] {
            let refused = locks.try_lock(&key(), &owner).await;
            assert!(matches!(refused, Err(LockError::InvalidOwner(_))), "{bad:?}: {refused:?}");
            assert!(!refused.unwrap_err().to_string().contains(bad), "it is escaped where it is shown");
            let waited = locks.lock(&key(), &owner).await;
            assert!(matches!(waited, Err(LockError::InvalidOwner(_))), "{bad:?}: {waited:?}");
        }
        let broken = locks.break_lock(&held.holder().key, held.holder().generation, &lee(), bad).await;
        assert!(matches!(broken, Err(BreakError::InvalidReason(InvalidReason::NotPlain))), "{bad:?}: {broken:?}");
        assert_eq!(broken.unwrap_err().code(), tenure::error::ErrorCode::TextNotPlain);
        let taken = locks.take_over(&held.holder().key, held.holder().generation, &lee(), LockId::random(), bad).await;
        assert!(matches!(taken, Err(TakeOverError::InvalidReason(InvalidReason::NotPlain))), "{bad:?}: {taken:?}");
    }
    assert_eq!(locks.check_lock(held.id()).await.unwrap().holder().owner, kim());
    // The space around a reason is trimmed.
    locks.break_lock(&held.holder().key, held.holder().generation, &lee(), "  stuck\r\n").await.unwrap();
}

pub async fn control_characters_narrow_no_list_down(t: &TestDb) {
    for bad in BAD {
        for list in [t.locks.list().of_type(bad), t.locks.list().owned_by(bad)] {
            let listed = list.run().await;
            assert!(matches!(listed, Err(ListError::InvalidFilter { .. })), "{bad:?}: {listed:?}");
            assert_eq!(listed.unwrap_err().code(), tenure::error::ErrorCode::InvalidFilter);
        }
        let (by_id, by_type) = (LockKey::new("Order", bad), LockKey::new(bad, "1"));
        for key in [by_id, by_type] {
            let read = t.locks.history(&key).run().await;
            assert!(matches!(read, Err(ListError::InvalidFilter { .. })), "{bad:?}: {read:?}");
        }
    }
}

pub async fn invalid_owner_changes_nothing(t: &TestDb) {
    let id = t.note(&random(), "empty").await;
    let bad = BAD.map(|bad| Owner::new(bad, "Kim"));
    let bad =
        bad.into_iter().chain([Owner::new("", "Kim"), Owner::new("k".repeat(256), "Kim"), Owner::new("kim", "\0")]);
    for owner in bad {
        let refused = t.notes.update(&id).by(&owner).run(pin).await;
        assert!(matches!(refused, Err(UpdateError::Failed(Error::InvalidOwner(_)))), "{owner:?}: {refused:?}");
        let refused = t.notes.update(&id).by(&owner).dry_run(pin).await;
        assert!(matches!(refused, Err(UpdateError::Failed(Error::InvalidOwner(_)))), "{owner:?}: {refused:?}");
        changes_nothing(t, &id, |tx| _ = tx.by(&owner), |error| matches!(error, Error::InvalidOwner(_))).await;
    }
    for command in BAD {
        let refused = t.notes.update(&id).by(&kim()).command(command).run(pin).await;
        assert!(matches!(refused, Err(UpdateError::Failed(Error::InvalidCommand))), "{command:?}: {refused:?}");
        changes_nothing(t, &id, |tx| _ = tx.command(command), |error| matches!(error, Error::InvalidCommand)).await;
    }
    let note = t.notes.get(&id).await.unwrap().unwrap();
    assert_eq!((note.version(), note.pinned), (version(1), None));
}

/// All ways to change something in a transaction.
async fn changes_nothing(
    t: &TestDb,
    id: &String,
    author: impl Fn(&mut tenure::Transaction),
    expected: impl Fn(&Error) -> bool,
) {
    let mut tx = t.db.begin().await.unwrap();
    let mut note = t.notes.find(&mut tx, id, LockMode::PessimisticWrite).await.unwrap().unwrap();
    author(&mut tx);
    note.pinned = Some(true);
    let refused = |answer: Result<(), Error>| assert!(answer.as_ref().is_err_and(&expected), "{answer:?}");
    refused(t.notes.save(&mut tx, &mut note).await.map(drop));
    refused(t.notes.delete(&mut tx, note).await);
    let other = Note { id: random(), board: String::new(), text: String::new(), pinned: None };
    refused(t.notes.insert(&mut tx, other).await.map(drop));
    refused(tx.commit().await);
    // The version that is raised at the commit.
    let mut tx = t.db.begin().await.unwrap();
    t.notes.find(&mut tx, id, LockMode::OptimisticForceIncrement).await.unwrap().unwrap();
    author(&mut tx);
    refused(tx.commit().await);
}

pub async fn a_save_that_has_to_do_with_a_lock_needs_a_key(t: &TestDb) {
    let held = t.locks.try_lock(&key(), &kim()).await.unwrap();
    let order = || t.orders.update(&"a\nb".to_owned());
    for update in [order().holding(held.id()), order().releasing(held.id()), order().unless_locked()] {
        let refused = update.run(|_| Ok::<_, Infallible>(())).await;
        assert!(matches!(refused, Err(UpdateError::Failed(Error::InvalidKey { .. }))), "{refused:?}");
    }
}

/// The lease is live, expired, broken or released: another owner gets the same response.
pub async fn foreign_lock_id_reveals_nothing(t: &TestDb) {
    let stranger = t.locks.acting_for(&Owner::new("han", "Han"));
    for end in ["alive", "expired", "taken", "broken", "released"] {
        let no = t.order().await;
        let key = LockKey::of::<crate::conformance::order::Order>(&no);
        let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
        match end {
            "alive" => {}
            "expired" => t.clock.advance(TTL),
            "taken" => {
                t.clock.advance(TTL);
                t.locks.try_lock(&key, &lee()).await.unwrap();
            }
            "broken" => drop(t.locks.break_lock(&key, lease.holder().generation, &lee(), "stuck").await.unwrap()),
            _ => t.locks.release_lock(lease.id()).await.unwrap(),
        }
        let mut tx = t.db.begin().await.unwrap();
        let guarded = stranger.guard(&mut tx, lease.id()).await.map(drop).map_err(no_lock);
        let freed = stranger.release_within(&mut tx, lease.id()).await.map_err(no_lock);
        tx.rollback().await.unwrap();
        let beaten = stranger.keep_alive(&[lease.id().clone()]).await.unwrap().remove(0).map(drop);
        let han = Owner::new("han", "Han");
        let used = match t.locks.try_lock_as(&key, &han, lease.id().clone()).await {
            Err(LockError::LockIdUsed(no_lock)) => Err(*no_lock),
            // The holder of the key is visible to everybody.
            Err(LockError::AlreadyLocked(_)) => continue_as_not_yours(),
            other => panic!("{end}: {other:?}"),
        };
        let saved = t.orders.update(&no).by(&han).holding(lease.id()).run(|order| order.ship()).await;
        let saved = match saved {
            Err(UpdateError::Failed(Error::NoLock(no_lock))) => Err(*no_lock),
            other => panic!("{end}: {other:?}"),
        };
        let resumed = match stranger.resume(&t.orders, &no, lease.id(), version(1)).await {
            Err(Error::NoLock(no_lock)) => Err(*no_lock),
            other => panic!("{end}: {other:?}"),
        };
        let answers = [
            stranger.check_lock(lease.id()).await.map(drop).map_err(no_lock),
            stranger.release_lock(lease.id()).await.map_err(no_lock),
            stranger.extend_lock_expiration(lease.id(), TTL).await.map(drop).map_err(no_lock),
            guarded,
            freed,
            beaten,
            used,
            saved,
            resumed,
        ];
        for (at, answer) in answers.into_iter().enumerate() {
            let Err(no_lock) = answer else { panic!("{end}, {at}: it was done") };
            assert_eq!(
                (&no_lock.why, &no_lock.key, &no_lock.held_now),
                (&LeaseLossReason::NotYours, &None, &None),
                "{end}, {at}"
            );
            let text = no_lock.to_string();
            assert!([&no, "Kim", "Lee", "stuck"].iter().all(|told| !text.contains(told)), "{end}, {at}: {text}");
        }
    }
}

fn continue_as_not_yours() -> Result<(), tenure::lease::NoLock> {
    Err(tenure::lease::NoLock { key: None, why: LeaseLossReason::NotYours, held_now: None })
}

fn no_lock(error: LeaseError) -> tenure::lease::NoLock {
    match error {
        LeaseError::NoLock(no_lock) => no_lock,
        other => panic!("{other:?}"),
    }
}
