//! Tables of cases. The time of every operation is [`NOW`]; times in the tables are relative to it, in milliseconds.

mod odd_rows;
mod refusals;
mod sweep;

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use crate::clock::{from_millis, millis};
use crate::lease::{LeaseLossReason, LockPolicy, ShowOwner};

const NOW: i64 = 1_800_000_000_000;
const TTL: i64 = 300_000;
const LIMIT: i64 = 12 * 3_600_000;
const KIMS: LockHash = [1; 32];
const LEES: LockHash = [2; 32];
const OTHER: LockHash = [3; 32];

fn key() -> LockKey {
    LockKey::new("Order", "1")
}

fn kim() -> Owner {
    Owner::new("kim", "Kim")
}

fn lee() -> Owner {
    Owner::new("lee", "Lee")
}

fn request(lock: LockHash, owner: Owner, policy: LockPolicy) -> LockRequest {
    LockRequest { key: key(), lock, owner, policy }
}

/// Lee requests the exclusive lease.
fn lees() -> LockRequest {
    request(LEES, lee(), LockPolicy::exclusive())
}

fn proof(lock: LockHash, owner: &str) -> Proof {
    Proof { lock, owner: Some(owner.into()) }
}

/// Kim's lease of generation 4, acquired 10 s ago, with this remaining time.
fn kims(expires_in: i64) -> LeaseRow {
    let mine = request(KIMS, kim(), LockPolicy::exclusive());
    LeaseRow { expires_at: NOW + expires_in, ..LeaseRow::granted(&mine, 4, NOW - 10_000) }
}

/// An advisory lease of Kim beside others, generation 5.
fn beside(expires_in: i64) -> LeaseRow {
    let place = Place { key: key(), slot: KIMS.to_vec() };
    LeaseRow { place, generation: 5, ..kims(expires_in) }
}

/// The row that carries the generation of the advisory leases.
fn anchor() -> LeaseRow {
    LeaseRow::anchor(&key(), 5, vec![9; 32], 0)
}

fn rows(leases: impl IntoIterator<Item = LeaseRow>) -> Rows {
    Rows { leases: leases.into_iter().map(|row| (row.place.clone(), row)).collect(), ..Rows::default() }
}

fn with_past(mut rows: Rows, past: Past) -> Rows {
    rows.past.insert(past.lock.clone(), past);
    rows
}

/// Decides an operation; returns the answer, and the rows and changes in a form that is easy to compare.
fn run(operation: Operation, rows: &Rows) -> (Answer, Rows) {
    let (answer, changes) = decide(&operation, rows, NOW).expect("there is a generation left");
    let mut after = rows.clone();
    changes.apply(&mut after);
    (answer, after)
}

/// An answer to a request for a lease in one word, with the generation.
fn word(attempt: &Attempt) -> String {
    match attempt {
        Attempt::Granted(holder) => format!("granted {}", holder.generation),
        Attempt::Held(holder) => format!("held {}", holder.generation),
        Attempt::Lost => "lost".into(),
        Attempt::Used(no_lock) => format!("used {:?}", no_lock.why),
    }
}

fn take(rows: &Rows, request: &LockRequest) -> (String, Rows) {
    match run(Operation::Take(request.clone()), rows) {
        (Answer::Taken(attempt), after) => (word(&attempt), after),
        other => panic!("{other:?}"),
    }
}

/// The history after an operation: the end, its time relative to now, and whether it was at its idle or absolute limit.
fn history(rows: &Rows) -> Vec<(How, i64, bool, bool)> {
    rows.past.values().map(|past| (past.how, past.ended_at - NOW, past.idle, past.limited)).collect()
}

#[test]
fn an_exclusive_lease_is_granted_on_a_free_key_only() {
    let ended = LeaseRow { ended: true, ..kims(TTL) };
    let cases = [
        ("no row", rows([]), "granted 1"),
        ("ended", rows([ended]), "granted 5"),
        ("ran out this millisecond", rows([kims(0)]), "granted 5"),
        ("a millisecond left", rows([kims(1)]), "held 4"),
        ("an advisory lease", rows([anchor(), beside(1)]), "granted 6"),
        (
            "another key",
            rows([LeaseRow { place: Place::exclusive(&LockKey::new("Order", "2")), ..kims(1) }]),
            "granted 1",
        ),
    ];
    for (case, rows, expected) in cases {
        let (answer, after) = take(&rows, &lees());
        assert_eq!(answer, expected, "{case}");
        let granted = after.exclusive(&key()).is_some_and(|row| row.lock == LEES);
        assert_eq!(granted, expected.starts_with("granted"), "{case}");
        assert!(granted || after == rows, "{case}: a refusal changes nothing");
    }
}

#[test]
fn a_granted_row_has_the_times_of_its_policy() {
    let second = Duration::from_secs(1);
    let policy = LockPolicy::exclusive().idle_limit(600 * second).expect("a valid policy").showing(ShowOwner::ByRole);
    let (_, after) = take(&rows([kims(0)]), &request(LEES, lee(), policy));
    let expected = LeaseRow {
        place: Place::exclusive(&key()),
        generation: 5,
        lock: LEES.to_vec(),
        owner: lee(),
        shown: ShowOwner::ByRole,
        since: NOW,
        last_active: NOW,
        active_at: NOW,
        expires_at: NOW + TTL,
        ttl: TTL,
        idle_limit: Some(600_000),
        hard_until: NOW + LIMIT,
        ended: false,
        unclaimed: 1,
    };
    assert_eq!(after.exclusive(&key()), Some(&expected));
    assert_eq!(history(&after), [(How::Expired, 0, false, false)]);
}

#[test]
fn an_expiry_is_recorded_with_its_cause() {
    let idle = LeaseRow { idle_limit: Some(5_000), active_at: NOW - 6_000, ..kims(-1_000) };
    let cases = [
        (kims(-7), (How::Expired, -7, false, false)),
        (idle.clone(), (How::Expired, -1_000, true, false)),
        (LeaseRow { hard_until: NOW - 1_000, ..idle }, (How::Expired, -1_000, true, true)),
        (LeaseRow { idle_limit: Some(i64::MAX), active_at: i64::MAX, ..kims(-1) }, (How::Expired, -1, false, false)),
    ];
    for (row, expected) in cases {
        assert_eq!(history(&take(&rows([row]), &lees()).1), [expected]);
    }
}

#[test]
fn a_lock_id_holds_one_lease_once() {
    let kims_request = request(KIMS, kim(), LockPolicy::exclusive());
    let mut ended = kims(1);
    ended.ended = true;
    let released = Past::ended(&kims(1), How::Released, None, None, NOW - 5);
    let elsewhere = LeaseRow { place: Place::exclusive(&LockKey::new("Order", "2")), ..kims(1) };
    let at = from_millis(NOW - 5);
    let cases = [
        ("alive", rows([kims(1)]), "granted 4".to_owned()),
        ("of somebody else", rows([LeaseRow { owner: lee(), ..kims(1) }]), "used NotYours".into()),
        ("ran out", rows([kims(-5)]), format!("used {:?}", LeaseLossReason::Expired { at })),
        (
            "released",
            with_past(rows([ended]), released.clone()),
            format!("used {:?}", LeaseLossReason::Released { at }),
        ),
        ("swept", with_past(rows([]), released), format!("used {:?}", LeaseLossReason::Released { at })),
        ("of another key", rows([elsewhere]), "used OtherAggregate".into()),
    ];
    for (case, rows, expected) in cases {
        assert_eq!(take(&rows, &kims_request).0, expected, "{case}");
    }
}

#[test]
fn asking_again_is_a_sign_of_life_within_the_limit() {
    let request = request(KIMS, kim(), LockPolicy::exclusive());
    for (hard_until, expires_in) in [(NOW + LIMIT, TTL), (NOW + 9, 9), (NOW + 1, 5)] {
        let (_, after) = take(&rows([LeaseRow { hard_until, ..kims(5) }]), &request);
        let row = after.exclusive(&key()).expect("the row stays");
        assert_eq!((row.expires_at, row.hard_until, row.generation), (NOW + expires_in, hard_until, 4));
        assert_eq!((row.since, row.last_active, row.active_at), (NOW - 10_000, NOW, NOW));
    }
}

#[test]
fn asking_again_sets_the_name_and_the_policy() {
    let second = Duration::from_secs(1);
    let policy = LockPolicy::exclusive().ttl(600 * second).and_then(|policy| policy.idle_limit(900 * second));
    let policy = policy.expect("a valid policy").showing(ShowOwner::ByRole);
    let owner = Owner::new("kim", "Kim Minji");
    let (_, after) = take(&rows([kims(5)]), &request(KIMS, owner.clone(), policy));
    let expected = LeaseRow {
        owner,
        shown: ShowOwner::ByRole,
        ttl: 600_000,
        idle_limit: Some(900_000),
        expires_at: NOW + 600_000,
        last_active: NOW,
        active_at: NOW,
        unclaimed: 2,
        ..kims(5)
    };
    assert_eq!(after.exclusive(&key()), Some(&expected));
}

#[test]
fn a_recorded_end_is_not_recorded_again() {
    let (answer, after) = take(&rows([LeaseRow { ended: true, ..kims(-5) }]), &lees());
    assert_eq!((&*answer, history(&after)), ("granted 5", vec![]));
}

#[test]
fn the_kind_of_an_end_is_stored_as_text() {
    for how in [How::Released, How::Expired, How::Broken, How::TakenOver] {
        assert_eq!(How::of(how.text()), how);
    }
    assert_eq!(How::of("of a later release"), How::Expired);
}

#[test]
fn hashes_of_nobody_differ_and_keep_their_time() {
    let hash = |lock: LockHash, id, generation| beside::nobodys("test", &lock, &LockKey::new("Order", id), generation);
    let hashes = BTreeSet::from([KIMS, hash(KIMS, "1", 4), hash(LEES, "1", 4), hash(KIMS, "2", 4), hash(KIMS, "1", 5)]);
    assert_eq!(hashes.len(), 5);
    assert_eq!(hash(KIMS, "1", 4)[..6], KIMS[..6]);
}

#[test]
fn generations_go_on_above_slots_and_floor() {
    let mut swept = rows([]);
    swept.floors.insert("Order".into(), 40);
    assert_eq!(take(&swept, &lees()).0, "granted 41");
    let mut slots = rows([beside(-1)]);
    slots.floors.insert("Order".into(), 2);
    assert_eq!(take(&slots, &lees()).0, "granted 6");
    let last = rows([LeaseRow { generation: i64::MAX, ended: true, ..kims(1) }]);
    assert_eq!(decide(&Operation::Take(lees()), &last, NOW).map(drop), Err(LastGeneration));
}

#[test]
fn leases_beside_each_other_note_their_generation() {
    let advisory = request(LEES, lee(), LockPolicy::advisory());
    // Rows, answer, and of the anchor: generation, ended.
    let cases = [
        (rows([]), "granted 1", (1, true)),
        (rows([anchor(), beside(1)]), "granted 6", (6, true)),
        (rows([kims(1)]), "granted 5", (4, false)),
        (rows([kims(0)]), "granted 5", (5, true)),
        (rows([kims(-5)]), "granted 5", (5, true)),
    ];
    for (rows, expected, of_anchor) in cases {
        let (answer, after) = take(&rows, &advisory);
        let anchor = after.exclusive(&key()).expect("there is an anchor");
        assert_eq!((&*answer, (anchor.generation, anchor.ended)), (expected, of_anchor), "{rows:?}");
        assert!(anchor.expires_at >= NOW, "it stays for as long as a row that ended now: {rows:?}");
    }
}

#[test]
fn slots_that_ended_are_swept_and_the_highest_stays() {
    let slot = |lock: u8, generation, expires_in| {
        let place = Place { key: key(), slot: vec![lock; 32] };
        LeaseRow { place, lock: vec![lock; 32], generation, ..beside(expires_in) }
    };
    let before = rows([anchor(), slot(10, 3, -5), slot(11, 5, -5), slot(12, 4, 5)]);
    let (answer, after) = take(&before, &request(LEES, lee(), LockPolicy::advisory()));
    assert_eq!(answer, "granted 6");
    let left: Vec<_> = after.of_key(&key()).map(|row| (row.place.slot.first().copied(), row.ended)).collect();
    assert_eq!(left, [(None, true), (Some(2), false), (Some(11), true), (Some(12), false)]);
    assert_eq!(history(&after).len(), 2);
}

#[test]
fn a_heartbeat_sets_the_expiry_within_all_limits() {
    let hour = 3_600_000;
    let row = |idle_limit, hard_in: i64, ttl| LeaseRow {
        idle_limit,
        hard_until: NOW.saturating_add(hard_in),
        ttl,
        ..kims(5)
    };
    // Row, idle for, expires in.
    let cases = [
        (row(None, LIMIT, TTL), 0, TTL),
        (row(None, LIMIT, TTL), hour, TTL),
        (row(None, 9, TTL), 0, 9),
        (row(None, 1, TTL), 0, 5),
        (row(Some(hour), LIMIT, TTL), hour - 60_000, TTL),
        (row(Some(hour), LIMIT, TTL), hour, TTL),
        (row(Some(10_500), LIMIT, TTL), hour, 500),
        (row(Some(100), LIMIT, TTL), hour, 5),
        (row(Some(i64::MAX), LIMIT, TTL), 0, TTL),
        (row(None, LIMIT, -1), 0, 5),
        (row(None, i64::MAX, i64::MAX), 0, 100_000_000_000_000),
        (row(None, i64::MAX, i64::MAX), 8_000, 100_000_000_000_000),
        (row(Some(i64::MAX), i64::MAX, i64::MAX), 8_000, 99_999_999_992_000),
        (row(None, i64::MIN, TTL), 0, 5),
    ];
    for (row, idle, expires_in) in cases {
        let idle = Duration::from_millis(u64::try_from(idle).expect("not negative"));
        let before = rows([row]);
        let (answer, after) = run(Operation::Keep(proof(KIMS, "kim"), idle), &before);
        let row = after.exclusive(&key()).expect("the row stays");
        assert_eq!(row.expires_at - NOW, expires_in, "{before:?}");
        assert_eq!((row.last_active, row.active_at), (NOW, (NOW - millis(idle)).max(NOW - 10_000)));
        assert!(matches!(&answer, Answer::Lease(Ok(holder)) if millis(holder.remaining) == expires_in));
    }
}

#[test]
fn extending_adds_within_the_same_limits() {
    let row =
        |expires_in, hard_in: i64, idle_limit| LeaseRow { hard_until: NOW + hard_in, idle_limit, ..kims(expires_in) };
    let cases = [
        (row(5, LIMIT, None), 1_000, 1_005),
        (row(5, LIMIT, None), TTL, TTL),
        (row(TTL + 7, LIMIT, None), 1_000, TTL + 7),
        (row(5, 9, None), 1_000, 9),
        (row(5, LIMIT, Some(100)), 1_000, 100),
    ];
    for (row, by, expires_in) in cases {
        let by = Duration::from_millis(u64::try_from(by).expect("not negative"));
        let (_, after) = run(Operation::Extend(proof(KIMS, "kim"), by), &rows([row]));
        assert_eq!(after.exclusive(&key()).map(|row| (row.expires_at - NOW, row.active_at)), Some((expires_in, NOW)));
    }
    let (_, after) = run(Operation::Extend(proof(KIMS, "kim"), Duration::MAX), &rows([kims(5)]));
    assert_eq!(after.exclusive(&key()).map(|row| row.expires_at), Some(NOW + TTL));
}

#[test]
fn parting_only_shortens() {
    for (expires_in, within, expected) in [(TTL, 10_000, 10_000), (5, 10_000, 5), (5, 0, 0)] {
        let within = Duration::from_millis(within);
        let (_, after) = run(Operation::ExpireWithin(proof(KIMS, "kim"), within), &rows([kims(expires_in)]));
        let row = after.exclusive(&key()).expect("the row stays");
        assert_eq!((row.expires_at - NOW, row.last_active), (expected, NOW - 10_000), "expire_within is no heartbeat");
    }
}

#[test]
fn a_check_tells_why_there_is_no_lease() {
    let broken = Past::ended(&kims(1), How::Broken, Some(&lee()), Some("stuck"), NOW - 5);
    let hidden = Past { shown: ShowOwner::Anonymous, ..broken.clone() };
    let by_lee = |by: Owner| LeaseLossReason::Broken { by, at: from_millis(NOW - 5), reason: "stuck".into() };
    let idle = LeaseRow { idle_limit: Some(5_000), active_at: NOW - 6_000, ..kims(-1_000) };
    let limited = LeaseRow { hard_until: NOW - 1_000, ..kims(-1_000) };
    let at = from_millis(NOW - 1_000);
    let cases = [
        (rows([]), "kim", LeaseLossReason::Unknown),
        (rows([kims(5)]), "lee", LeaseLossReason::NotYours),
        (rows([kims(-5)]), "lee", LeaseLossReason::NotYours),
        (rows([kims(-1_000)]), "kim", LeaseLossReason::Expired { at }),
        (rows([idle]), "kim", LeaseLossReason::IdleLimitReached { at }),
        (rows([limited]), "kim", LeaseLossReason::LimitReached { at }),
        (with_past(rows([]), broken.clone()), "kim", by_lee(lee())),
        (with_past(rows([]), hidden), "kim", by_lee(Owner::new("", "somebody"))),
        (with_past(rows([]), broken), "lee", LeaseLossReason::NotYours),
    ];
    for (rows, owner, why) in cases {
        let (answer, after) = run(Operation::Check(proof(KIMS, owner)), &rows);
        assert!(matches!(&answer, Answer::Lease(Err(no_lock)) if no_lock.why == why), "{answer:?} for {why:?}");
        assert_eq!(after, rows);
    }
    let taken = with_past(rows([LeaseRow { lock: LEES.to_vec(), owner: lee(), ..kims(5) }]), Past::expired(&kims(-5)));
    let (answer, _) = run(Operation::Check(proof(KIMS, "kim")), &taken);
    assert!(matches!(answer, Answer::Lease(Err(NoLock { held_now: Some(holder), .. })) if holder.owner == lee()));
}

#[test]
fn a_lease_is_released_once() {
    let (answer, after) = run(Operation::Release(proof(KIMS, "kim")), &rows([kims(5)]));
    assert!(matches!(answer, Answer::Lease(Ok(_))));
    assert_eq!(after.exclusive(&key()).map(|row| (row.ended, row.expires_at)), Some((true, NOW + 5)));
    assert_eq!(history(&after), [(How::Released, 0, false, false)]);
    let (again, unchanged) = run(Operation::Release(proof(KIMS, "kim")), &after);
    assert!(matches!(again, Answer::Lease(Err(NoLock { why: LeaseLossReason::Released { .. }, .. }))));
    assert_eq!(unchanged, after);
    for (rows, shown_by) in [(rows([kims(5)]), "lee"), (rows([kims(0)]), "kim")] {
        assert_eq!(run(Operation::Release(proof(KIMS, shown_by)), &rows).1, rows);
    }
}

#[test]
fn a_lease_that_ran_out_while_a_transaction_held_it_is_released() {
    for remaining in [5, 0, -5] {
        let (answer, after) = run(Operation::ReleaseHeld(proof(KIMS, "kim")), &rows([kims(remaining)]));
        assert!(matches!(answer, Answer::Lease(Ok(_))), "{remaining}");
        assert_eq!(after.exclusive(&key()).map(|row| row.ended), Some(true));
        assert_eq!(history(&after), [(How::Released, 0, false, false)]);
        let (again, unchanged) = run(Operation::ReleaseHeld(proof(KIMS, "kim")), &after);
        assert!(matches!(again, Answer::Lease(Err(NoLock { why: LeaseLossReason::Released { .. }, .. }))));
        assert_eq!(unchanged, after);
    }
    for (rows, owner) in [(rows([kims(0)]), "lee"), (rows([]), "kim")] {
        assert_eq!(run(Operation::ReleaseHeld(proof(KIMS, owner)), &rows).1, rows);
    }
}

#[test]
fn a_lease_that_was_requested_twice_is_given_back_when_both_callers_are_gone() {
    let undo = Operation::UndoGrant { lock: KIMS, generation: 1 };
    let kim = request(KIMS, kim(), LockPolicy::exclusive());
    let mut after = rows([]);
    for _ in 0..2 {
        let (answer, now) = take(&after, &kim);
        assert_eq!(answer, "granted 1");
        after = now;
    }
    // One of them may have received it.
    let (answer, one_left) = run(undo.clone(), &after);
    assert!(matches!(answer, Answer::GrantUndone(false)));
    assert!(one_left.exclusive(&key()).is_some_and(|row| row.alive(NOW)));
    let (answer, ended) = run(undo.clone(), &one_left);
    assert!(matches!(answer, Answer::GrantUndone(true)));
    assert_eq!(take(&ended, &lees()).0, "granted 2");
    // A heartbeat says that it was received, also for a caller that asks again later.
    let (_, kept) = run(Operation::Keep(proof(KIMS, "kim"), Duration::ZERO), &one_left);
    let (_, again) = take(&kept, &kim);
    for rows in [kept, again] {
        assert_eq!(run(undo.clone(), &rows).1, rows);
    }
}

#[test]
fn only_an_unseen_lease_is_given_back() {
    let unseen = kims(5);
    let cases = [
        (unseen.clone(), 4, true),
        (unseen.clone(), 5, false),
        (LeaseRow { unclaimed: 0, ..unseen.clone() }, 4, false),
        (LeaseRow { expires_at: NOW, ..unseen.clone() }, 4, false),
        (LeaseRow { ended: true, ..unseen }, 4, false),
    ];
    for (row, generation, expected) in cases {
        let rows = rows([row]);
        let (answer, after) = run(Operation::UndoGrant { lock: KIMS, generation }, &rows);
        assert!(matches!(answer, Answer::GrantUndone(given) if given == expected));
        assert_eq!(after == rows, !expected);
        if expected {
            assert!(after.exclusive(&key()).is_some_and(|row| row.ended && row.lock != KIMS));
            assert_eq!(take(&after, &request(KIMS, kim(), LockPolicy::exclusive())).0, "granted 5");
        }
    }
    let (_, after) = run(Operation::UndoGrant { lock: KIMS, generation: 5 }, &rows([anchor(), beside(5)]));
    assert!(after.of_lock(&KIMS).is_none());
    assert_eq!(take(&after, &request(KIMS, kim(), LockPolicy::advisory())).0, "granted 6");
}

#[test]
fn a_break_ends_the_named_generation_only() {
    let before = rows([anchor(), beside(5)]);
    let end = |generation| run(Operation::Break { key: key(), generation, by: lee(), reason: "stuck".into() }, &before);
    let (answer, after) = end(5);
    assert!(matches!(answer, Answer::Broken(Some(holder)) if holder.owner == kim()));
    let past = after.past.get(&KIMS[..]).expect("it is recorded");
    assert_eq!((past.how, &past.by, past.reason.as_deref()), (How::Broken, &Some(lee()), Some("stuck")));
    assert!(matches!(end(4), (Answer::Broken(None), after) if after == before));
}

#[test]
fn a_takeover_names_the_live_generation() {
    let elsewhere = LeaseRow { place: Place::exclusive(&LockKey::new("Order", "2")), lock: LEES.to_vec(), ..kims(5) };
    let used = Past { lock: LEES.to_vec(), owner: lee(), ..Past::ended(&kims(5), How::Released, None, None, NOW - 5) };
    let own = LeaseRow { lock: LEES.to_vec(), owner: lee(), ..kims(5) };
    let cases = [
        (rows([kims(5)]), 4, "granted 5"),
        (rows([kims(5)]), 3, "changed"),
        (rows([kims(0)]), 4, "changed"),
        (rows([anchor(), beside(5)]), 5, "changed"),
        (rows([own]), 4, "granted 4"),
        (rows([kims(5), elsewhere]), 4, "used"),
        (with_past(rows([kims(5)]), used), 4, "used"),
    ];
    for (rows, generation, expected) in cases {
        let request = lees();
        let (answer, after) =
            run(Operation::TakeOver { request: request.clone(), generation, reason: "ill".into() }, &rows);
        let (word, changed) = match answer {
            Answer::TakenOver(TakenOver::Granted(holder)) => {
                (format!("granted {}", holder.generation), holder.generation == 5)
            }
            Answer::TakenOver(TakenOver::Changed) => ("changed".into(), false),
            Answer::TakenOver(TakenOver::Used(_)) => ("used".into(), false),
            other => panic!("{other:?}"),
        };
        assert_eq!((&*word, after != rows), (expected, changed));
        if changed {
            let past = after.past.get(&KIMS[..]).expect("it is recorded");
            assert_eq!((past.how, &past.by, past.ended_at), (How::TakenOver, &Some(lee()), NOW));
        }
    }
}

#[test]
fn all_live_leases_of_an_owner_are_released() {
    let second = LeaseRow { place: Place::exclusive(&LockKey::new("Order", "2")), lock: vec![7; 32], ..kims(5) };
    let ran_out = LeaseRow { place: Place::exclusive(&LockKey::new("Order", "3")), lock: vec![8; 32], ..kims(0) };
    let lees =
        LeaseRow { place: Place::exclusive(&LockKey::new("Order", "4")), lock: LEES.to_vec(), owner: lee(), ..kims(5) };
    let (answer, after) = run(Operation::ReleaseAll { owner: "kim".into() }, &rows([kims(5), second, ran_out, lees]));
    assert!(matches!(answer, Answer::Released(released) if released.len() == 2));
    assert_eq!(history(&after), [(How::Released, 0, false, false); 2]);
    assert_eq!(after.leases.values().filter(|row| row.ended).count(), 2);
}

#[test]
fn a_row_that_another_session_has_locked_stays() {
    let advisory = request(LEES, lee(), LockPolicy::advisory());
    let expired = rows([anchor(), beside(0)]);
    let (answer, after) = take(&expired, &advisory);
    assert_eq!((&*answer, history(&after)), ("granted 6", vec![(How::Expired, 0, false, false)]));
    let busy = [beside(0).place].into();
    let (answer, after) = take(&Rows { busy, ..expired }, &advisory);
    assert_eq!((&*answer, history(&after)), ("granted 6", vec![]));
    assert_eq!(after.leases.get(&beside(0).place), Some(&beside(0)));
}

#[test]
fn a_lease_that_ran_out_is_resumed_while_it_is_in_its_row() {
    let limited = LeaseRow { hard_until: NOW, ..kims(-5) };
    let idle = LeaseRow { idle_limit: Some(5), active_at: NOW - 10, ..kims(-5) };
    let cases = [
        (rows([kims(-5)]), Some(TTL)),
        (rows([kims(5)]), Some(TTL)),
        (rows([idle]), Some(5)),
        (rows([limited]), None),
        (rows([LeaseRow { ended: true, ..kims(5) }]), None),
        (rows([LeaseRow { owner: lee(), ..kims(-5) }]), None),
        (rows([LeaseRow { place: Place::exclusive(&LockKey::new("Order", "2")), ..kims(-5) }]), None),
    ];
    for (rows, expected) in cases {
        let (answer, after) = run(Operation::Resume { proof: proof(KIMS, "kim"), key: key() }, &rows);
        let resumed = match answer {
            Answer::Resumed(Resumption::Resumed(holder)) => Some(millis(holder.remaining)),
            _ => None,
        };
        assert_eq!(resumed, expected, "{rows:?}");
        assert_eq!(after != rows, expected.is_some());
        // Nobody held it for a while.
        if let (Some(before), Some(after), true) = (rows.exclusive(&key()), after.exclusive(&key()), expected.is_some())
        {
            assert_eq!(after.since, if before.alive(NOW) { before.since } else { NOW });
        }
    }
}

#[test]
fn a_key_is_held_by_its_exclusive_lease() {
    let state = |rows: &Rows| match run(Operation::KeyState(key()), rows).0 {
        Answer::KeyState(KeyState::Held(holder)) => format!("held {}", holder.generation),
        Answer::KeyState(state) => format!("{state:?}"),
        other => panic!("{other:?}"),
    };
    assert_eq!(state(&rows([])), "NoRow");
    assert_eq!(state(&rows([kims(1)])), "held 4");
    assert_eq!(state(&rows([kims(0)])), "Free");
    assert_eq!(state(&rows([anchor(), beside(1)])), "Free");
    let both = rows([kims(1), LeaseRow { since: 0, lock: OTHER.to_vec(), ..beside(1) }]);
    let holders = match run(Operation::Holders(key()), &both).0 {
        Answer::Holders(holders) => holders,
        other => panic!("{other:?}"),
    };
    assert_eq!(holders.iter().map(|holder| holder.generation).collect::<Vec<_>>(), [5, 4]);
}
