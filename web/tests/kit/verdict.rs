//! The verdict for every combination of facts, and as a readable table.

use std::time::{Duration, SystemTime};

use tenure::{
    Database, LockId, LockKey, LockManager, LockPolicy, Owner, Version,
    lease::{Holder, LeaseLossReason, NoLock},
    version::Change,
};
use tenure_web::beat::HeartbeatResponse;
use tenure_web::leases::PARTING_GRACE;
use tenure_web::verdict::{Facts, Mine, Moved, Saving, Verdict, decide, free_at, free_in};

const AT: SystemTime = SystemTime::UNIX_EPOCH;

type Decided = Verdict<&'static str>;

fn kim() -> Owner {
    Owner::new("kim", "Kim Minji")
}

fn lee() -> Owner {
    Owner::new("lee", "Lee Junho")
}

/// A real holder, from which the others are derived.
async fn held_by_kim() -> Holder {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::connect(&format!("sqlite://{}/locks.db", directory.path().display())).await.unwrap();
    let lease = LockManager::new(&db).try_lock_as(&LockKey::new("Order", "1"), &kim(), LockId::random()).await.unwrap();
    Holder::clone(lease.holder())
}

fn of(holder: &Holder, owner: Owner, generation: i64) -> Holder {
    let mut holder = holder.clone();
    (holder.owner, holder.generation) = (owner, generation);
    holder
}

/// Of a page that was left a moment ago.
fn leaving(mut holder: Holder) -> Holder {
    holder.remaining = PARTING_GRACE;
    holder
}

fn is_leaving(holder: &Holder) -> bool {
    holder.owner.id == "kim" && holder.remaining == PARTING_GRACE
}

fn hidden() -> Owner {
    Owner::new("", "somebody")
}

fn ended(why: LeaseLossReason) -> Mine {
    Mine::Ended(Box::new(NoLock { key: Some(LockKey::new("Order", "1")), why, held_now: None }))
}

fn moved() -> Moved {
    Moved { change: Some(Change { version: Version::FIRST, by: Some(lee()), at: AT, command: None }) }
}

fn all_whys() -> Vec<LeaseLossReason> {
    let reason = String::from("Kim is on holiday");
    vec![
        LeaseLossReason::Unknown,
        LeaseLossReason::Expired { at: AT },
        LeaseLossReason::IdleLimitReached { at: AT },
        LeaseLossReason::LimitReached { at: AT },
        LeaseLossReason::Released { at: AT },
        LeaseLossReason::Broken { by: lee(), at: AT, reason: reason.clone() },
        LeaseLossReason::TakenOver { by: lee(), at: AT, reason },
        LeaseLossReason::NotYours,
        LeaseLossReason::OtherAggregate,
    ]
}

fn every_fact(own: &Holder) -> Vec<Facts<&'static str>> {
    let (here, elsewhere) = (of(own, kim(), 7), of(own, kim(), 8));
    let (somebody, nameless) = (of(own, lee(), 9), of(own, hidden(), 10));
    let mut mines = vec![Mine::None, Mine::Alive(here.clone()), Mine::Resumed(here)];
    mines.extend(all_whys().into_iter().map(ended));
    let (left, somebody_left) = (leaving(of(own, kim(), 11)), leaving(somebody.clone()));
    let others = [
        vec![],
        vec![elsewhere.clone()],
        vec![somebody.clone()],
        vec![nameless],
        vec![left.clone()],
        vec![somebody_left],
        vec![left.clone(), somebody.clone()],
        vec![left, elsewhere.clone()],
        vec![elsewhere.clone(), somebody.clone()],
        vec![somebody, elsewhere],
    ];
    let mut all = Vec::new();
    for frozen in [None, Some("shipped")] {
        for mine in &mines {
            for others in &others {
                for moved in [None, Some(Moved { change: None }), Some(moved())] {
                    for (saved, exclusive) in [(false, false), (false, true), (true, false), (true, true)] {
                        let (mine, others, moved) = (mine.clone(), others.clone(), moved.clone());
                        all.push(Facts { frozen, mine, others, moved, saved, exclusive });
                    }
                }
            }
        }
    }
    assert_eq!(all.len(), 2 * 12 * 10 * 3 * 4);
    all
}

/// Every combination, with its verdict.
async fn everything() -> Vec<(Facts<&'static str>, Decided)> {
    let all = every_fact(&held_by_kim().await);
    all.into_iter().map(|facts| (facts.clone(), decide(&kim(), facts))).collect()
}

fn open(facts: &Facts<&'static str>) -> bool {
    !facts.saved && facts.frozen.is_none()
}

fn lease(mine: &Mine) -> Option<&Holder> {
    match mine {
        Mine::Alive(lease) | Mine::Resumed(lease) => Some(lease),
        Mine::None | Mine::Ended(_) => None,
    }
}

#[tokio::test]
async fn saved_form_stays_saved_and_the_state_comes_second() {
    for (facts, verdict) in everything().await {
        assert_eq!(verdict == Verdict::Saved, facts.saved, "{facts:?}");
        let frozen = facts.frozen.filter(|_| !facts.saved);
        assert_eq!(matches!(verdict, Verdict::Frozen(_)), frozen.is_some(), "{facts:?}");
        if let Verdict::Frozen(reason) = verdict {
            assert_eq!(Some(reason), frozen);
        }
    }
}

#[tokio::test]
async fn form_with_a_live_lease_is_never_blocked() {
    for (facts, verdict) in everything().await {
        let Some(own) = lease(&facts.mine).filter(|_| open(&facts)) else { continue };
        match (&verdict, &facts.moved) {
            (Verdict::Editing { lease, resumed, others }, None) => {
                assert_eq!((lease, others), (own, &facts.others));
                assert_eq!(*resumed, matches!(facts.mine, Mine::Resumed(_)));
            }
            (Verdict::Outdated { moved, lease }, Some(since)) => {
                assert_eq!((moved, lease.as_ref()), (since, Some(own)));
            }
            _ => panic!("{facts:?}: {verdict:?}"),
        }
    }
}

#[tokio::test]
async fn own_or_just_left_page_is_not_somebody_else() {
    for (facts, verdict) in everything().await {
        match verdict {
            Verdict::Taken { holder, .. } => assert!(holder.owner.id != "kim", "{facts:?}"),
            Verdict::Elsewhere { holder, .. } => {
                assert_eq!((&*holder.owner.id, is_leaving(&holder)), ("kim", false), "{facts:?}");
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn advisory_lock_never_blocks() {
    for (facts, verdict) in everything().await {
        let is_in_the_way = matches!(verdict, Verdict::Taken { .. } | Verdict::Elsewhere { .. });
        let is_held = facts.exclusive && !facts.others.iter().all(is_leaving) && lease(&facts.mine).is_none();
        assert_eq!(is_in_the_way, open(&facts) && is_held, "{facts:?}: {verdict:?}");
    }
}

#[tokio::test]
async fn ended_lease_reports_its_reason_when_held_again() {
    for (facts, verdict) in everything().await {
        let Mine::Ended(no_lock) = &facts.mine else { continue };
        if !open(&facts) {
            continue;
        }
        match verdict {
            Verdict::Taken { ended, .. } | Verdict::Elsewhere { ended, .. } => {
                assert_eq!(ended.as_ref(), Some(&no_lock.why))
            }
            Verdict::Ended { why, moved } => assert_eq!((&why, &moved), (&no_lock.why, &facts.moved)),
            other => panic!("{facts:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn save_outcome_matches_the_editable_state_of_the_form() {
    for (facts, verdict) in everything().await {
        let (saving, mode) = (verdict.saving(), verdict.mode());
        let expected = match mode {
            "held" | "free" => Saving::Goes,
            "moved" => Saving::Compares,
            "refused" | "lost" | "saved" => Saving::Refused,
            _ => panic!("{mode}"),
        };
        assert_eq!(saving, expected, "{facts:?}");
        if facts.moved.is_some() {
            assert!(saving != Saving::Goes, "{facts:?}");
        }
        // A form without a lease cannot lose one.
        if open(&facts) && facts.mine == Mine::None {
            assert!(mode != "lost", "{facts:?}");
        }
        if let Mine::Ended(_) = facts.mine {
            assert_eq!(saving, Saving::Refused, "{facts:?}");
        }
    }
}

#[tokio::test]
async fn script_sees_only_the_persons_own_leases() {
    for (facts, verdict) in everything().await {
        let told = HeartbeatResponse::new(&kim(), &verdict);
        let own = lease(&facts.mine).filter(|_| open(&facts));
        assert_eq!(told.expires_in_ms, own.map(|lease| lease.remaining.as_millis() as u64), "{facts:?}");
        let elsewhere = matches!(verdict, Verdict::Elsewhere { .. }).then_some(8);
        assert_eq!((told.generation, told.mode, &*told.person), (elsewhere, verdict.mode(), "kim"), "{facts:?}");
    }
}

#[test]
fn check_reports_state_then_holder() {
    assert_eq!(decide(&kim(), Facts::of_a_look(Some("shipped"), vec![])), Verdict::Frozen("shipped"));
    assert_eq!(decide(&kim(), Facts::<&str>::of_a_look(None, vec![])), Verdict::Free);
}

#[tokio::test]
async fn the_table() {
    let own = held_by_kim().await;
    let (here, elsewhere, lees, nameless) =
        (of(&own, kim(), 7), of(&own, kim(), 8), of(&own, lee(), 9), of(&own, hidden(), 10));
    let none = || Facts::<&str>::of_a_look(None, vec![]);
    let alive = || Facts { mine: Mine::Alive(here.clone()), ..none() };
    let resumed = || Facts { mine: Mine::Resumed(here.clone()), ..none() };
    let expired = || Facts { mine: ended(LeaseLossReason::Expired { at: AT }), ..none() };
    let broken = || LeaseLossReason::Broken { by: lee(), at: AT, reason: "please".into() };
    let over = || LeaseLossReason::TakenOver { by: kim(), at: AT, reason: "moved-here".into() };
    let (by_lee, myself) = (|| vec![lees.clone()], || vec![elsewhere.clone()]);
    let editing = |resumed, others| Verdict::Editing { lease: here.clone(), resumed, others };
    let outdated = |lease| Verdict::Outdated { moved: moved(), lease };
    let taken = |ended| Verdict::Taken { holder: lees.clone(), ended };
    let mine_elsewhere = |ended| Verdict::Elsewhere { holder: elsewhere.clone(), ended };
    let why = || LeaseLossReason::Expired { at: AT };
    let table = [
        ("nothing happened", none(), Verdict::Free, "free"),
        ("somebody saved", Facts { moved: Some(moved()), ..none() }, outdated(None), "moved"),
        ("somebody holds it", Facts { others: by_lee(), ..none() }, taken(None), "refused"),
        (
            "the policy hides the holder",
            Facts { others: vec![nameless.clone()], ..none() },
            Verdict::Taken { holder: nameless.clone(), ended: None },
            "refused",
        ),
        (
            "somebody saved, and holds it still",
            Facts { others: by_lee(), moved: Some(moved()), ..none() },
            taken(None),
            "refused",
        ),
        ("my other tab holds it", Facts { others: myself(), ..none() }, mine_elsewhere(None), "refused"),
        (
            "I left my other tab a moment ago",
            Facts { others: vec![leaving(elsewhere.clone())], ..none() },
            Verdict::Free,
            "free",
        ),
        (
            "I left my other tab a moment ago, and somebody saved",
            Facts { others: vec![leaving(elsewhere.clone())], moved: Some(moved()), ..none() },
            outdated(None),
            "moved",
        ),
        (
            "somebody left a moment ago",
            Facts { others: vec![leaving(lees.clone())], ..none() },
            Verdict::Taken { holder: leaving(lees.clone()), ended: None },
            "refused",
        ),
        (
            "everybody may edit, somebody does",
            Facts { others: by_lee(), exclusive: false, ..none() },
            Verdict::Free,
            "free",
        ),
        (
            "everybody may edit, somebody saved",
            Facts { others: by_lee(), moved: Some(moved()), exclusive: false, ..none() },
            outdated(None),
            "moved",
        ),
        ("I hold it", alive(), editing(false, vec![]), "held"),
        ("I hold it again", resumed(), editing(true, vec![]), "held"),
        (
            "I hold it, somebody saved all the same",
            Facts { moved: Some(moved()), ..alive() },
            outdated(Some(here.clone())),
            "moved",
        ),
        ("I read it, others do", Facts { others: by_lee(), ..alive() }, editing(false, by_lee()), "held"),
        (
            "everybody may edit, I and somebody do",
            Facts { others: by_lee(), exclusive: false, ..alive() },
            editing(false, by_lee()),
            "held",
        ),
        (
            "everybody may edit, I do in two tabs",
            Facts { others: myself(), exclusive: false, ..alive() },
            editing(false, myself()),
            "held",
        ),
        ("my lease ran out", expired(), Verdict::Ended { why: why(), moved: None }, "lost"),
        (
            "my lease ran out, and somebody saved",
            Facts { moved: Some(moved()), ..expired() },
            Verdict::Ended { why: why(), moved: Some(moved()) },
            "lost",
        ),
        ("my lease ran out, and somebody took it", Facts { others: by_lee(), ..expired() }, taken(Some(why())), "lost"),
        (
            "my lease ran out, somebody saved and holds it",
            Facts { others: by_lee(), moved: Some(moved()), ..expired() },
            taken(Some(why())),
            "lost",
        ),
        (
            "my lease ran out, my other tab holds it",
            Facts { others: myself(), ..expired() },
            mine_elsewhere(Some(why())),
            "lost",
        ),
        (
            "somebody ended my lease",
            Facts { mine: ended(broken()), ..none() },
            Verdict::Ended { why: broken(), moved: None },
            "lost",
        ),
        (
            "somebody ended my lease and has their own",
            Facts { mine: ended(broken()), others: by_lee(), ..none() },
            taken(Some(broken())),
            "lost",
        ),
        (
            "I went on in another tab",
            Facts { mine: ended(over()), others: myself(), ..none() },
            mine_elsewhere(Some(over())),
            "lost",
        ),
        (
            "it was shipped while I held it",
            Facts { frozen: Some("shipped"), ..alive() },
            Verdict::Frozen("shipped"),
            "lost",
        ),
        (
            "it was shipped, my lease ran out, somebody has it",
            Facts { frozen: Some("shipped"), others: by_lee(), moved: Some(moved()), ..expired() },
            Verdict::Frozen("shipped"),
            "lost",
        ),
        ("I saved it", Facts { saved: true, moved: Some(moved()), ..none() }, Verdict::Saved, "saved"),
        (
            "I saved it, then it was shipped, and somebody has it",
            Facts { saved: true, frozen: Some("shipped"), others: by_lee(), moved: Some(moved()), ..none() },
            Verdict::Saved,
            "saved",
        ),
    ];
    for (case, facts, expected, mode) in table {
        let verdict = decide(&kim(), facts);
        assert_eq!((&verdict, verdict.mode()), (&expected, mode), "{case}");
    }
}

#[tokio::test]
async fn held_lock_is_free_at_its_idle_limit_or_without_heartbeats() {
    let (minute, new) = (Duration::from_secs(60), held_by_kim().await);
    let mut holder = new.clone();
    (holder.last_active, holder.last_input) = (new.since + minute, new.since);
    let but = |change: &dyn Fn(&mut Holder)| {
        let mut holder = holder.clone();
        change(&mut holder);
        holder
    };
    let idle = |minutes: u32| but(&|holder| holder.idle = minutes * minute);
    let policy = LockPolicy::exclusive().absolute_limit(120 * minute).unwrap().idle_limit(15 * minute).unwrap();
    assert_eq!([0, 9, 20].map(|since| free_in(&idle(since), &policy)), [15 * minute, 6 * minute, Duration::ZERO]);
    let silent = but(&|holder| (holder.silent, holder.remaining) = (3 * minute, 2 * minute));
    assert_eq!(free_in(&silent, &policy), 2 * minute);
    let left = but(&|holder| holder.remaining = Duration::from_secs(9));
    assert_eq!(free_in(&left, &policy), Duration::from_secs(9), "its page was left");
    let long = but(&|holder| holder.last_active = holder.since + 118 * minute);
    assert_eq!(free_in(&long, &policy), 2 * minute);
    assert_eq!(free_in(&new, &policy), new.remaining, "it has sent no heartbeat: perhaps a form without scripts");
    assert_eq!(free_in(&holder, &LockPolicy::exclusive()), (12 * 60 - 1) * minute);
}

#[tokio::test]
async fn moment_in_which_a_held_lock_is_free_is_the_time_that_is_left() {
    let of = |seconds: u64| Duration::from_secs(seconds);
    let policy = LockPolicy::exclusive().absolute_limit(of(7_200)).unwrap().idle_limit(of(900)).unwrap();
    let begun = held_by_kim().await;
    for (active, input, silent, remaining, free) in [
        (600, 590, 30, 270, 860),    // Its idle limit,
        (7_100, 7_000, 40, 260, 60), // or its absolute one.
        (600, 590, 180, 120, 120),   // No heartbeats arrive.
        (600, 590, 1, 9, 9),         // Its page was left,
        (600, 590, 1, 10, 10),       // just now,
        (600, 590, 1, 11, 889),      // or was not.
        (0, 0, 30, 270, 270),        // No heartbeat yet.
        (600, 600, 30, 270, 270),    // Renewed by hand.
    ] {
        let mut holder = begun.clone();
        (holder.last_active, holder.last_input) = (holder.since + of(active), holder.since + of(input));
        (holder.idle, holder.silent, holder.remaining) = (of(active + silent - input), of(silent), of(remaining));
        let now = holder.last_active + holder.silent;
        assert_eq!((free_in(&holder, &policy), free_at(&holder, &policy)), (of(free), now + of(free)), "{holder:?}");
    }
}
