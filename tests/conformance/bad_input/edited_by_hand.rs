//! A lock table that was edited by hand. An invalid row is an error that says so, or expires or can be broken; other requests
//! of the same batch are not affected.

use std::time::Duration;

use tenure::{
    LockId, LockKey, LockManager, Owner,
    error::{LeaseError, LockError},
    lease::{Holder, LeaseLossReason},
};
use tokio::task::JoinSet;

use crate::conformance::support::{MINUTE, TTL, TestDb, key, kim, lee, random};

const LATEST: &str = "9223372036854775807";
const EARLIEST: &str = "(-9223372036854775807 - 1)";

async fn edit(t: &TestDb, key: &LockKey, set: &str) -> Result<u64, sqlx::Error> {
    t.by_hand(format!("update tenure_lock set {set} where kind = '{}' and id = '{}'", key.kind(), key.id())).await
}

/// Every operation on a lease. Whatever the result: nothing panics.
async fn everything(locks: &LockManager, lease: &tenure::Lease) {
    let (id, key) = (lease.id(), &lease.holder().key);
    let _ = locks.check_lock(id).await;
    let _ = locks.extend_lock_expiration(id, Duration::MAX).await;
    let _ = locks.keep_alive(std::slice::from_ref(id)).await;
    let _ = locks.keep_alive(&[id.clone(), id.clone(), LockId::random()]).await;
    let _ = locks.try_lock_as(key, &kim(), id.clone()).await;
    let _ = locks.try_lock(key, &lee()).await;
    let _ = locks.expire_within(id, Duration::MAX).await;
    let _ = locks.holders(key).await;
}

/// Heartbeats and acquisitions concurrent with the bad row. Returns the result of the request for the bad key.
async fn neighbours_go_on(t: &TestDb, bad: &tenure::Lease, edit: &str) -> Result<tenure::Lease, LockError> {
    const BESIDE: usize = 12;
    let mut good = Vec::new();
    for _ in 0..3 {
        good.push(t.locks.try_lock(&key(), &kim()).await.unwrap());
    }
    t.clock.advance(Duration::from_secs(1));
    let ids = [good[0].id(), bad.id(), good[1].id(), good[2].id()].map(Clone::clone);
    let kept = t.locks.keep_alive(&ids).await.unwrap_or_else(|error| panic!("{edit}: the heartbeat of all: {error}"));
    for at in [0, 2, 3] {
        assert_eq!(kept[at].as_ref().map(|lease| lease.holder().remaining), Ok(TTL), "{edit}");
    }
    let (mut beats, mut takes) = (JoinSet::new(), JoinSet::new());
    for id in ids {
        let (locks, bad) = (t.locks.clone(), id == *bad.id());
        beats.spawn(async move { (bad, locks.keep_alive(&[id]).await) });
    }
    for at in 0..BESIDE {
        let (locks, asked) = (t.locks.clone(), if at == BESIDE / 2 { bad.holder().key.clone() } else { key() });
        takes.spawn(async move { (at, locks.try_lock(&asked, &lee()).await) });
    }
    for (bad, beat) in beats.join_all().await {
        assert!(bad || beat.as_ref().is_ok_and(|beat| beat[0].is_ok()), "{edit}: {beat:?}");
    }
    let mut of_bad = None;
    for (at, taken) in takes.join_all().await {
        match taken {
            taken if at == BESIDE / 2 => of_bad = Some(taken),
            taken => {
                assert_eq!(
                    taken.map(|lease| lease.holder().generation).map_err(|error| error.to_string()),
                    Ok(1),
                    "{edit}"
                )
            }
        }
    }
    of_bad.unwrap()
}

pub async fn hand_edited_row_expires_or_breaks_without_side_effects(t: &TestDb) {
    // Of another length, if the column accepts it; and random, because the database is shared.
    let short = random();
    let hash = match t.db.capabilities().database.starts_with("PostgreSQL") {
        true => format!("'\\x{short}'"),
        false => format!("x'{short}'"),
    };
    let edits = [
        format!("expires_at = {LATEST}"),
        format!("expires_at = {EARLIEST}"),
        "expires_at = -1".into(),
        format!("since = {LATEST}, last_active = {LATEST}"),
        format!("since = {EARLIEST}, last_active = {EARLIEST}"),
        "ttl = -1".into(),
        "ttl = 0".into(),
        format!("ttl = {LATEST}"),
        format!("ttl = {EARLIEST}"),
        format!("hard_until = {LATEST}"),
        format!("hard_until = {EARLIEST}"),
        format!("ttl = {LATEST}, hard_until = {LATEST}, expires_at = {LATEST}"),
        format!("idle_limit = {LATEST}"),
        format!("idle_limit = {EARLIEST}"),
        format!("active_at = {LATEST}, idle_limit = 1"),
        format!("active_at = {EARLIEST}, idle_limit = {EARLIEST}"),
        "generation = -5".into(),
        "owner_id = '', owner_name = ''".into(),
        format!("lock_hash = {hash}"),
    ];
    let locks = t.locks.clone().with_take_over_permission("Order", |_: &Owner, _: &Holder| true);
    for set in &edits {
        let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
        assert_eq!(edit(t, &lease.holder().key, set).await.unwrap(), 1, "{set}");
        let _ = neighbours_go_on(t, &lease, set).await;
        let _ = edit(t, &lease.holder().key, set).await;
        everything(&t.locks, &lease).await;
        // The next request gets it, at the latest after a break, and with a generation that is not lower.
        t.clock.advance(Duration::from_secs(24 * 3600));
        let before = t.locks.holders(&lease.holder().key).await.unwrap();
        if let Some(stuck) = before.first() {
            assert!(
                set.contains(&format!("_until = {LATEST}")) || set.contains(&format!("expires_at = {LATEST}")),
                "{set} sticks"
            );
            locks.break_lock(&lease.holder().key, stuck.generation, &lee(), "edited by hand").await.unwrap();
        }
        let next =
            t.locks.try_lock(&lease.holder().key, &lee()).await.unwrap_or_else(|error| panic!("{set}: {error:?}"));
        assert_eq!(next.holder().remaining, TTL, "{set}");
        t.locks.release_lock(next.id()).await.unwrap();
    }
}

/// There is no generation after the last: the holder cannot change any more, and the error says so.
pub async fn a_generation_at_its_end_is_an_error_and_not_the_first_again(t: &TestDb) {
    let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
    edit(t, &lease.holder().key, &format!("generation = {LATEST}")).await.unwrap();
    assert_eq!(t.locks.check_lock(lease.id()).await.unwrap().holder().generation, i64::MAX);
    let moved = t.locks.take_over(&lease.holder().key, i64::MAX, &kim(), LockId::random(), "another tab").await;
    assert!(moved.is_err(), "{moved:?}");
    let refused = neighbours_go_on(t, &lease, "generation").await;
    assert!(matches!(refused, Err(LockError::AlreadyLocked(_))), "{refused:?}");
    t.locks.release_lock(lease.id()).await.unwrap();
    let refused = t.locks.try_lock(&lease.holder().key, &lee()).await;
    assert!(matches!(refused, Err(LockError::Database(_))), "{refused:?}");
    let refused = neighbours_go_on(t, &lease, "generation").await;
    assert!(matches!(refused, Err(LockError::Database(_))), "{refused:?}");
    assert_eq!(t.locks.holders(&lease.holder().key).await.unwrap(), []);
}

pub async fn history_without_names_still_records_the_end(t: &TestDb) {
    let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
    t.clock.advance(MINUTE);
    t.locks.break_lock(&lease.holder().key, 1, &lee(), "stuck").await.unwrap();
    let forget = "update tenure_lock_history set by_id = null, by_name = null, reason = null, ended_at";
    for ended_at in [LATEST, EARLIEST, "0"] {
        t.by_hand(format!("{forget} = {ended_at} where id = '{}'", lease.holder().key.id())).await.unwrap();
        let why = t.locks.check_lock(lease.id()).await;
        assert!(
            matches!(&why, Err(LeaseError::NoLock(no)) if matches!(no.why, LeaseLossReason::Expired { .. })),
            "{why:?}"
        );
    }
}
