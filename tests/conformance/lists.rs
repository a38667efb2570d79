//! Held and ended leases, page by page.

use std::time::Duration;

use tenure::{
    LockKey, LockPolicy, Owner,
    error::ListError,
    lease::{Cursor, LeaseLossReason, LeaseState, Listed, Page, PastLease, Successor},
};

use super::support::{MINUTE, TTL, TestDb, kim, lee, random};

fn ids(page: &Page<Listed>) -> Vec<&str> {
    page.items.iter().map(|listed| listed.holder.key.id()).collect()
}

/// The entries of all pages, with each cursor converted to text and back.
async fn all_pages(t: &TestDb, kind: &str, size: u32, mut between: impl AsyncFnMut()) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), None::<String>);
    loop {
        let list = t.locks.list().of_type(kind).limit(size);
        let page = match &after {
            Some(cursor) => list.after(cursor.parse().unwrap()).run().await.unwrap(),
            None => list.run().await.unwrap(),
        };
        found.extend(page.items.iter().map(|listed| listed.holder.key.id().to_owned()));
        match page.next {
            Some(next) => after = Some(next.to_string()),
            None => return found,
        }
        between().await;
    }
}

pub async fn console_lists_held_locks_longest_first(t: &TestDb) {
    let kind = random();
    let (first, second) = (LockKey::new(&kind, "1"), LockKey::new(&kind, "2"));
    t.locks.try_lock(&first, &kim()).await.unwrap();
    t.clock.advance(MINUTE);
    let lease = t.locks.try_lock(&second, &lee()).await.unwrap();
    let page = t.locks.list().of_type(&kind).run().await.unwrap();
    assert_eq!((ids(&page), &page.next), (vec!["1", "2"], &None));
    assert_eq!(
        (&page.items[1].holder.owner, page.items[1].holder.remaining, page.items[1].state),
        (&lee(), TTL, LeaseState::Held)
    );
    t.locks.release_lock(lease.id()).await.unwrap();
    assert_eq!(ids(&t.locks.list().of_type(&kind).run().await.unwrap()), ["1"]);
    t.clock.advance(TTL);
    assert_eq!(t.locks.list().of_type(&kind).run().await.unwrap().items, []);
}

pub async fn the_list_is_of_a_type_an_owner_an_age_and_a_state(t: &TestDb) {
    let kind = random();
    let kim = Owner::new(random(), "Kim");
    let key = |id: &str| LockKey::new(&kind, id);
    let old = t.locks.try_lock(&key("old"), &kim).await.unwrap();
    t.locks.try_lock(&key("ran out"), &kim).await.unwrap();
    t.clock.advance(4 * MINUTE);
    t.locks.keep_alive(&[old.id().clone()]).await.unwrap();
    t.clock.advance(MINUTE);
    t.locks.try_lock(&key("young"), &kim).await.unwrap();
    let elsewhere = LockKey::new(random(), "elsewhere");
    t.locks.try_lock(&elsewhere, &kim).await.unwrap();
    t.locks.try_lock(&key("lee's"), &lee()).await.unwrap();
    let released = t.locks.try_lock(&key("released"), &kim).await.unwrap();
    t.locks.release_lock(released.id()).await.unwrap();

    let of_type = || t.locks.list().of_type(&kind);
    assert_eq!(ids(&of_type().run().await.unwrap()), ["old", "lee's", "young"]);
    assert_eq!(ids(&of_type().owned_by("lee").run().await.unwrap()), ["lee's"]);
    let kims = t.locks.list().owned_by(&kim.id).run().await.unwrap();
    assert_eq!(kims.items.iter().map(|listed| listed.holder.key.kind()).filter(|of| *of == kind).count(), 2);
    assert_eq!(kims.items.len(), 3);
    assert_eq!(ids(&of_type().held_for_at_least(5 * MINUTE).run().await.unwrap()), ["old"]);
    let longer = 5 * MINUTE + Duration::from_millis(1);
    assert_eq!(of_type().held_for_at_least(longer).run().await.unwrap().items, []);
    for (state, expected) in [(LeaseState::Held, vec!["old", "lee's", "young"]), (LeaseState::RanOut, vec!["ran out"])]
    {
        let page = of_type().in_state(state).run().await.unwrap();
        assert_eq!(ids(&page), expected, "{state:?}");
        assert!(page.items.iter().all(|listed| listed.state == state));
    }
}

pub async fn held_lease_is_on_exactly_one_page(t: &TestDb) {
    let kind = random();
    let key = |id: usize| LockKey::new(&kind, format!("{id:02}"));
    let mut leases = Vec::new();
    for id in 0..20 {
        leases.push(t.locks.try_lock(&key(id), &kim()).await.unwrap());
        // Several at the same time, with page ends between them.
        t.clock.advance(Duration::from_millis(u64::from(id % 3 == 0)));
    }
    let mut round = 0;
    let found = all_pages(t, &kind, 4, async || {
        // A listed and an unlisted one are released; one is acquired again, as the latest; heartbeats move nothing.
        t.locks.release_lock(leases[round].id()).await.unwrap();
        t.locks.release_lock(leases[19 - round].id()).await.unwrap();
        t.clock.advance(Duration::from_millis(1));
        t.locks.try_lock(&key(round), &lee()).await.unwrap();
        let beating: Vec<_> = leases[8..12].iter().map(|lease| lease.id().clone()).collect();
        t.locks.keep_alive(&beating).await.unwrap();
        round += 1;
    })
    .await;
    let times = |id: usize| found.iter().filter(|found| **found == format!("{id:02}")).count();
    let all_the_time: Vec<_> = (round..20 - round).map(times).collect();
    assert_eq!(all_the_time, vec![1; 20 - 2 * round], "{found:?} after {round} rounds");
    assert!(round >= 4 && all_the_time.len() >= 4);
}

pub async fn a_page_has_a_bound_and_a_place_belongs_to_its_list(t: &TestDb) {
    for entries in [0, 1_001, u32::MAX] {
        let refused = t.locks.list().limit(entries).run().await;
        assert!(matches!(refused, Err(ListError::PageSize { asked, most: 1_000 }) if asked == entries), "{refused:?}");
        assert!(matches!(
            t.locks.history(&LockKey::new("Order", "1")).limit(entries).run().await,
            Err(ListError::PageSize { .. })
        ));
    }
    let past: Cursor = format!("p-1-{}", "0".repeat(64)).parse().unwrap();
    assert!(matches!(t.locks.list().after(past).run().await, Err(ListError::ForeignCursor)));
    let held: Cursor = "h-1-1-61-61".parse().unwrap();
    assert!(matches!(
        t.locks.history(&LockKey::new("Order", "1")).after(held).run().await,
        Err(ListError::ForeignCursor)
    ));
    assert!("back to the shop".parse::<Cursor>().unwrap_err().to_string().contains("first page"));
}

/// The owner, the generation, and the successor.
fn told(past: &PastLease) -> (&str, i64, Option<(&str, i64)>) {
    let next = past.next.as_ref().map(|next| (&*next.owner.id, next.generation));
    (&past.owner.id, past.generation, next)
}

pub async fn key_history_has_holder_end_and_successor(t: &TestDb) {
    let key = LockKey::new(random(), "1");
    let park = Owner::new("park", "Park");
    let everybody = |_: &Owner, _: &tenure::lease::Holder| true;
    let locks = t.locks.clone().with_take_over_permission(key.kind(), everybody);
    let first = locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(MINUTE);
    locks.take_over(&key, 1, &lee(), tenure::LockId::random(), "kim is on holiday").await.unwrap();
    let taken_over = t.clock.now();
    locks.break_lock(&key, 2, &park, "lee as well").await.unwrap();
    t.clock.advance(MINUTE);
    let third = locks.try_lock(&key, &kim()).await.unwrap();
    locks.release_lock(third.id()).await.unwrap();
    locks.try_lock(&key, &lee()).await.unwrap();
    t.clock.advance(TTL);
    let expired = t.clock.now();
    t.clock.advance(MINUTE);
    let fifth = locks.try_lock(&key, &park).await.unwrap();
    locks.release_lock(fifth.id()).await.unwrap();

    let page = locks.history(&key).run().await.unwrap();
    let expected = [
        ("park", 5, None),
        ("lee", 4, Some(("park", 5))),
        ("kim", 3, Some(("lee", 4))),
        ("lee", 2, Some(("kim", 3))),
        ("kim", 1, Some(("lee", 2))),
    ];
    assert_eq!(page.items.iter().map(told).collect::<Vec<_>>(), expected);
    assert_eq!(page.next, None);
    let [released, ran_out, also_released, broken, over] = &page.items[..] else { panic!() };
    assert!(matches!(released.why, LeaseLossReason::Released { .. }));
    assert_eq!((&ran_out.why, ran_out.ended_at), (&LeaseLossReason::Expired { at: expired }, expired));
    assert!(matches!(also_released.why, LeaseLossReason::Released { .. }));
    assert!(
        matches!(&broken.why, LeaseLossReason::Broken { by, reason, .. } if *by == park && reason == "lee as well")
    );
    assert_eq!(over.why, LeaseLossReason::TakenOver { by: lee(), at: taken_over, reason: "kim is on holiday".into() });
    assert_eq!((over.since, over.ended_at), (first.holder().since, taken_over));
    assert_eq!(over.next, Some(Successor { owner: lee(), generation: 2, since: taken_over }));
    // The present holder is the successor as well.
    locks.try_lock(&key, &kim()).await.unwrap();
    let page = locks.history(&key).limit(1).run().await.unwrap();
    assert_eq!(told(&page.items[0]), ("park", 5, Some(("kim", 6))));
}

pub async fn history_of_a_key_comes_in_pages_latest_first(t: &TestDb) {
    let kind = random();
    let (one, two) = (LockKey::new(&kind, "1"), LockKey::new(&kind, "2"));
    for _ in 0..6 {
        for key in [&one, &two] {
            let lease = t.locks.try_lock(key, &kim()).await.unwrap();
            t.locks.release_lock(lease.id()).await.unwrap();
        }
    }
    let (mut found, mut after) = (Vec::<PastLease>::new(), None::<String>);
    loop {
        let history = t.locks.history(&one).limit(3);
        let page = match &after {
            Some(cursor) => history.after(cursor.parse().unwrap()).run().await.unwrap(),
            None => history.run().await.unwrap(),
        };
        found.extend(page.items);
        // Leases that end meanwhile come before the unread ones.
        let lease = t.locks.try_lock(&one, &lee()).await.unwrap();
        t.locks.release_lock(lease.id()).await.unwrap();
        match page.next {
            Some(next) => after = Some(next.to_string()),
            None => break,
        }
    }
    assert!(found.iter().all(|past| past.key == one), "{found:?}");
    assert_eq!(found.iter().map(|past| past.generation).collect::<Vec<_>>(), [6, 5, 4, 3, 2, 1]);
}

pub async fn advisory_lease_has_no_successor_in_the_history(t: &TestDb) {
    let key = LockKey::new(random(), "1");
    let locks = t.locks.clone().with_policy(key.kind(), LockPolicy::advisory());
    let first = locks.try_lock(&key, &kim()).await.unwrap();
    let second = locks.try_lock(&key, &lee()).await.unwrap();
    locks.release_lock(first.id()).await.unwrap();
    locks.release_lock(second.id()).await.unwrap();
    let page = locks.history(&key).run().await.unwrap();
    assert_eq!(page.items.iter().map(told).collect::<Vec<_>>(), [("lee", 2, None), ("kim", 1, None)]);
}

/// Byte by byte on every database: neither patterns nor the case of letters count.
pub async fn lists_of_one_tenant_compare_prefixes_exactly(t: &TestDb) {
    let kind = random();
    for id in ["a_m%/1", "a_m%/2", "a_m%", "A_M%/3", "aXm%/4", "a_mXX/5", "뚜/1", "뚝/1"] {
        t.clock.advance(Duration::from_secs(1));
        t.locks.try_lock(&LockKey::new(&kind, id), &kim()).await.unwrap();
    }
    for (prefix, expected) in [
        ("a_m%/", vec!["a_m%/1", "a_m%/2"]),
        ("a_m%", vec!["a_m%/1", "a_m%/2", "a_m%"]),
        ("A_M", vec!["A_M%/3"]),
        ("뚜", vec!["뚜/1"]),
        ("a_m%/12", vec![]),
    ] {
        let held = t.locks.list().of_type(&kind).ids_starting_with(prefix).run().await.unwrap();
        assert_eq!(ids(&held), expected, "{prefix}");
    }
    let nobody = t.locks.list().ids_starting_with("").run().await;
    assert!(matches!(&nobody, Err(ListError::InvalidFilter { .. })), "{nobody:?}");
}
