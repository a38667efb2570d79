//! The events between two polls, in a short form.

use std::time::SystemTime;

use super::*;
use crate::lease::{LeaseLossReason, Owner};

const MINUTE: Duration = Duration::from_secs(60);
const AT: SystemTime = SystemTime::UNIX_EPOCH;

fn key() -> LockKey {
    LockKey::new("Order", "1")
}

fn holder(generation: i64, remaining: Duration) -> Holder {
    let owner = Owner::new(format!("owner {generation}"), "Owner");
    Holder { owner, generation, remaining, ttl: MINUTE, heartbeat: MINUTE, ..Holder::to_be(key()) }
}

fn lease(generation: i64, remaining: Duration) -> Seen {
    let holder = holder(generation, remaining);
    let ran_out = LeaseLossReason::Expired { at: AT };
    Seen::Lease(SeenLease { holder, lock: Vec::new(), exclusive: true, ended: false, ran_out })
}

fn ended(generation: i64) -> Seen {
    let Seen::Lease(lease) = lease(generation, MINUTE) else { unreachable!() };
    Seen::Lease(SeenLease { ended: true, ..lease })
}

fn past(generation: i64) -> Seen {
    Seen::Past(PastLease { holder: holder(generation, Duration::ZERO), why: LeaseLossReason::Released { at: AT } })
}

fn state(seen: impl IntoIterator<Item = Seen>) -> State {
    let mut state = State::default();
    seen.into_iter().for_each(|seen| state.see(seen));
    state
}

fn changed(seen: Seen, change: impl FnOnce(&mut SeenLease)) -> Seen {
    let Seen::Lease(mut lease) = seen else { unreachable!() };
    change(&mut lease);
    Seen::Lease(lease)
}

fn version(number: i64) -> Version {
    Version::new(number).expect("a version")
}

/// The events: `+2` began, `-2` ended, `=2` resumed.
fn describe(before: &State, now: State) -> String {
    let (events, _) = before.until(&key(), now);
    let shown = events.into_iter().map(|event| match event.to(None) {
        LockEvent::Acquired(holder) => format!("+{}", holder.generation),
        LockEvent::Resumed(holder) => format!("={}", holder.generation),
        LockEvent::Ended { holder, .. } => format!("-{}", holder.generation),
        LockEvent::PresenceChanged(holder) => format!("{:?} {}", holder.presence(), holder.generation),
        LockEvent::Waiting { waiting, .. } => format!("{waiting} wait"),
        LockEvent::VersionChanged { version, .. } => format!("version {version}"),
        other => format!("{other:?}"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn unchanged_state_reports_no_event() {
    for same in [vec![], vec![lease(1, MINUTE)], vec![lease(1, Duration::ZERO)], vec![ended(1)]] {
        let before = state(same.clone());
        assert_eq!(describe(&before, state(same)), "");
    }
    // A heartbeat.
    assert_eq!(describe(&state([lease(1, MINUTE)]), state([lease(1, 2 * MINUTE)])), "");
}

#[test]
fn every_holder_change_is_reported_in_order() {
    let before = state([lease(3, MINUTE)]);
    assert_eq!(before.after(), 2);
    assert_eq!(describe(&before, state([past(3), past(4), past(5), lease(6, MINUTE)])), "-3 +4 -4 +5 -5 +6");
    assert_eq!(describe(&before, state([past(3), past(4), ended(4)])), "-3 +4 -4");
}

#[test]
fn expired_lease_is_reported_once() {
    let (_, out) = state([lease(3, MINUTE)]).until(&key(), state([lease(3, Duration::ZERO)]));
    assert_eq!(describe(&state([lease(3, MINUTE)]), out.clone()), "-3");
    assert_eq!((describe(&out, out.clone()), out.after()), (String::new(), 3));
    // Its history comes with the next one.
    assert_eq!(describe(&out, state([past(3), lease(4, MINUTE)])), "+4");
    assert_eq!(describe(&out, state([lease(3, MINUTE)])), "=3");
    // It began and ended between two polls.
    assert_eq!(describe(&State::default(), state([lease(1, Duration::ZERO)])), "+1 -1");
}

#[test]
fn advisory_leases_are_reported_one_by_one() {
    let before = state([lease(1, MINUTE), lease(2, MINUTE)]);
    assert_eq!(before.after(), 0);
    assert_eq!(describe(&before, state([past(1), lease(2, MINUTE), ended(3), lease(3, MINUTE)])), "-1 +3");
}

#[test]
fn a_changed_presence_is_reported_once() {
    let before = state([lease(1, MINUTE)]);
    let idle = || changed(lease(1, MINUTE), |lease| lease.holder.idle = 10 * MINUTE);
    assert_eq!(describe(&before, state([idle()])), "Idle 1");
    assert_eq!(describe(&state([idle()]), state([idle()])), "");
    let silent = || state([changed(lease(1, MINUTE), |lease| lease.holder.silent = 4 * MINUTE)]);
    assert_eq!(describe(&before, silent()), "Unreachable 1");
    let mut rare = silent();
    rare.expect_heartbeat(10 * MINUTE);
    assert_eq!(describe(&before, rare), "");
}

#[test]
fn waiters_and_versions_are_reported_when_they_change() {
    let line = |waiting| state([Seen::Line { first: 7, waiting }, Seen::Version(version(2))]);
    assert_eq!(describe(&State::default(), line(1)), "1 wait version 2");
    assert_eq!((describe(&line(1), line(1)), line(1).first), (String::new(), Some(7)));
    assert_eq!(describe(&line(1), line(3)), "3 wait");
    let (events, now) = line(1).until(&key(), state([Seen::Line { first: 7, waiting: 1 }]));
    assert_eq!((events.len(), now.version), (0, Some(version(2))), "it may be stored nowhere");
    assert_eq!(
        describe(&line(1), state([Seen::Line { first: 7, waiting: 1 }, Seen::Version(version(3))])),
        "version 3"
    );
}

#[test]
fn a_snapshot_has_holders_by_time() {
    let since = |generation, since| changed(lease(generation, MINUTE), |lease| lease.holder.since = AT + since);
    let seen = [
        since(3, 2 * MINUTE),
        since(4, MINUTE),
        lease(5, Duration::ZERO),
        Seen::Line { first: 7, waiting: 2 },
        Seen::Version(version(9)),
    ];
    let snapshot = state(seen).snapshot(&key(), None);
    assert_eq!(snapshot.holders.iter().map(|holder| holder.generation).collect::<Vec<_>>(), [4, 3]);
    assert_eq!((snapshot.generation, snapshot.waiting, snapshot.version), (5, 2, Some(version(9))));
}

#[test]
fn an_advisory_lease_blocks_nobody() {
    for exclusive in [true, false] {
        let state = state([changed(lease(1, MINUTE), |lease| lease.exclusive = exclusive)]);
        assert_eq!(state.holder().is_some(), exclusive);
    }
    assert!(state([lease(1, Duration::ZERO)]).holder().is_none());
}

#[test]
fn the_next_expiry_is_that_of_a_live_lease() {
    let two = state([lease(1, Duration::ZERO), lease(2, 3 * MINUTE), lease(3, MINUTE)]);
    assert_eq!(two.runs_out_in(), Some(MINUTE));
    assert_eq!(state([lease(1, Duration::ZERO)]).runs_out_in(), None);
}
