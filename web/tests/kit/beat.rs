//! The heartbeat of an open form, as its page's script sends it.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::sqlx::Connection;
use tenure::{LockId, LockPolicy, Version, lease::ShowOwner};

use super::support::{Form, Kit, MINUTE, heard, held, kim, lee, order_1, problem};

#[tokio::test]
async fn first_change_acquires_the_lock_idempotently() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open().await;
    let expected = json!({
        "mode": "held", "state": "", "said": "", "actions": [], "expires_in_ms": 300_000, "idle_in_ms": null, "generation": null,
        "person": "kim", "next": null
    });
    for want in ["take", "take", "keep", "look"] {
        assert_eq!(kit.tell(Some(kim()), &form, want, &[]).await, (200, expected.clone()), "{want}");
        assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
    }
    assert_eq!(kit.version("1").await.version(), Version::FIRST);
    assert_eq!(kit.orders.changes(&"1".to_owned(), 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn heartbeat_keeps_the_lease_and_a_check_does_not() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.clock.advance(4 * MINUTE);
    assert_eq!(kit.beat(&kim(), &form, "keep").await, held(""));
    kit.clock.advance(4 * MINUTE);
    assert_eq!(kit.beat(&kim(), &form, "look").await, (200, "held".into(), String::new(), Some(60_000)));
    kit.clock.advance(MINUTE);
    assert_eq!(kit.holders("1").await, []);
}

#[tokio::test]
async fn form_without_a_lease_is_free_unless_held_by_others() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open().await;
    for want in ["look", "keep"] {
        assert_eq!(kit.beat(&kim(), &form, want).await, heard("free", ""), "{want}");
        assert_eq!(kit.holders("1").await, []);
    }
    kit.locks.try_lock(&order_1(), &lee()).await.unwrap();
    for want in ["look", "keep", "take"] {
        assert_eq!(kit.beat(&kim(), &form, want).await, heard("refused", "held by Lee Junho"), "{want}");
    }
    assert_eq!(kit.holders("1").await, [("lee".into(), 1)]);
}

#[tokio::test]
async fn form_that_needs_a_lease_is_lost_without_one() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = Form { path: "/orders/1/lease".into(), ..kit.open().await };
    assert_eq!(kit.beat(&kim(), &form, "keep").await, heard("lost", "Unknown"));
    assert_eq!(kit.beat(&kim(), &form, "take").await, held(""));
}

#[tokio::test]
async fn a_refusal_names_the_holder_and_gives_no_generation_away() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let lees = kit.locks.try_lock(&order_1(), &lee()).await.unwrap();
    let (status, told) = kit.tell(Some(kim()), &kit.open().await, "take", &[]).await;
    let expected = json!({
        "mode": "refused", "state": "", "said": "held by Lee Junho", "actions": [], "expires_in_ms": null,
        "idle_in_ms": null, "generation": null, "person": "kim", "next": null
    });
    assert_eq!((status, &told), (200, &expected));
    assert!(!told.to_string().contains(&lees.id().reveal()));
    assert_eq!(kit.holders("1").await, [("lee".into(), 1)]);
}

#[tokio::test]
async fn hidden_holder_is_not_named_when_blocking_or_beside() {
    for (show, name) in
        [(ShowOwner::ByName, "Lee Junho"), (ShowOwner::ByRole, "Office"), (ShowOwner::Anonymous, "somebody")]
    {
        let kit = Kit::new(LockPolicy::exclusive().showing(show)).await;
        kit.locks.try_lock(&order_1(), &lee()).await.unwrap();
        let refused = kit.beat(&kim(), &kit.open().await, "take").await;
        assert_eq!(refused, heard("refused", &format!("held by {name}")));
        let kit = Kit::new(LockPolicy::advisory().showing(show)).await;
        kit.locks.try_lock(&order_1(), &lee()).await.unwrap();
        assert_eq!(kit.beat(&kim(), &kit.open().await, "take").await, held(name));
    }
}

#[tokio::test]
async fn an_anonymous_holder_meets_no_lock_of_their_own() {
    let kit = Kit::new(LockPolicy::exclusive().showing(ShowOwner::Anonymous)).await;
    let (there, here) = (kit.open().await, kit.open().await);
    kit.beat(&kim(), &there, "take").await;
    assert_eq!(kit.beat(&kim(), &here, "take").await, heard("refused", "elsewhere"));
}

#[tokio::test]
async fn expired_lease_resumes_if_nobody_took_it_or_saved() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.clock.advance(60 * MINUTE);
    assert_eq!(kit.holders("1").await, []);
    assert_eq!(kit.keep_idle(&form, 60 * MINUTE).await, held("goes on"));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
    assert_eq!(kit.beat(&kim(), &form, "keep").await, held(""));
}

#[tokio::test]
async fn expired_lease_after_a_save_is_lost_and_names_author() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.clock.advance(5 * MINUTE);
    kit.save(&lee()).await;
    for want in ["keep", "look", "take"] {
        assert_eq!(kit.beat(&kim(), &form, want).await, heard("lost", "Expired, changed by Lee Junho"), "{want}");
        assert_eq!(kit.holders("1").await, []);
    }
}

#[tokio::test]
async fn expired_and_taken_lease_reveals_no_secret_of_the_holder() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.clock.advance(5 * MINUTE);
    let lees = kit.locks.try_lock(&order_1(), &lee()).await.unwrap();
    for want in ["keep", "look", "take"] {
        let (status, told) = kit.tell(Some(kim()), &form, want, &[]).await;
        let heard = (status, &told["mode"], &told["said"], &told["generation"]);
        assert_eq!(heard, (200, &"lost".into(), &"Expired, held by Lee Junho".into(), &Value::Null), "{want}");
        assert!(!told.to_string().contains(&lees.id().reveal()), "{told}");
    }
    assert_eq!(kit.holders("1").await, [("lee".into(), 2)]);
    // After Lee left without saving, the lock is free, and the typed text is still current.
    kit.locks.release_lock(lees.id()).await.unwrap();
    assert_eq!(kit.beat(&kim(), &form, "look").await, heard("lost", "Expired"));
}

#[tokio::test]
async fn lost_form_stays_lost_over_checks() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    for path in ["/orders/1/lease", "/orders/1/text"] {
        let form = Form { path: path.into(), ..kit.open_with_lease(&kim()).await };
        let generation = kit.holders("1").await[0].1;
        kit.locks.break_lock(&order_1(), generation, &lee(), "please").await.unwrap();
        for want in ["keep", "look", "look", "take"] {
            assert_eq!(kit.beat(&kim(), &form, want).await, heard("lost", "Broken"), "{path} {want}");
        }
        assert_eq!(kit.holders("1").await, []);
    }
}

#[tokio::test]
async fn form_reports_idle_time_and_expires_at_the_idle_limit() {
    let kit = Kit::new(LockPolicy::exclusive().idle_limit(6 * MINUTE).unwrap()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.clock.advance(4 * MINUTE);
    assert_eq!(kit.keep_idle(&form, 4 * MINUTE).await, (200, "held".into(), String::new(), Some(120_000)));
    let idle_in_ms =
        async |want| kit.tell(Some(kim()), &form, want, &[("idle_ms", "60000")]).await.1["idle_in_ms"].clone();
    assert_eq!(idle_in_ms("look").await, 120_000);
    assert_eq!(idle_in_ms("keep").await, 300_000);
    // A form that sends no idle time counts as active.
    assert_eq!(kit.beat(&kim(), &form, "keep").await, held(""));
    assert_eq!(idle_in_ms("look").await, 359_999);
}

#[tokio::test]
async fn active_person_resumes_after_the_idle_limit() {
    let kit = Kit::new(LockPolicy::exclusive().idle_limit(6 * MINUTE).unwrap()).await;
    let form = kit.open_with_lease(&kim()).await;
    for idle in 1..=5 {
        kit.clock.advance(MINUTE);
        assert_eq!(kit.keep_idle(&form, idle * MINUTE).await.1, "held");
    }
    kit.clock.advance(MINUTE);
    for idle in [6 * MINUTE, Duration::from_secs(30)] {
        assert_eq!(kit.keep_idle(&form, idle).await, heard("lost", "IdleLimitReached"));
        assert_eq!(kit.holders("1").await, []);
    }
    assert_eq!(kit.keep_idle(&form, Duration::from_millis(29_999)).await, held("goes on"));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
}

#[tokio::test]
async fn page_that_nobody_touches_takes_no_lock() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open().await;
    assert_eq!(kit.beat_but(&kim(), &form, "take", &[("idle_ms", "30000")]).await, heard("free", ""));
    assert_eq!(kit.holders("1").await, []);
    assert_eq!(kit.beat_but(&kim(), &form, "take", &[("idle_ms", "29999")]).await, held(""));
    // What it has stays.
    assert_eq!(kit.beat_but(&kim(), &form, "take", &[("idle_ms", "30000")]).await.1, "held");
}

#[tokio::test]
async fn absolute_limit_ends_a_lease_without_resume() {
    let kit = Kit::new(LockPolicy::exclusive().absolute_limit(6 * MINUTE).unwrap()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.clock.advance(4 * MINUTE);
    assert_eq!(kit.beat(&kim(), &form, "keep").await, (200, "held".into(), String::new(), Some(120_000)));
    kit.clock.advance(2 * MINUTE);
    assert_eq!(kit.beat(&kim(), &form, "keep").await.1, "lost");
    assert_eq!(kit.holders("1").await, []);
}

#[tokio::test]
async fn stale_text_keeps_no_lock_and_names_the_author() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open().await;
    kit.save(&lee()).await;
    for want in ["take", "take", "keep", "look"] {
        assert_eq!(kit.beat(&kim(), &form, want).await, heard("moved", "changed by Lee Junho"), "{want}");
        assert_eq!(kit.holders("1").await, []);
    }
    assert_eq!(kit.beat(&kim(), &kit.open().await, "take").await, held(""));
}

#[tokio::test]
async fn lock_holder_learns_of_a_save_without_the_lock() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open_with_lease(&kim()).await;
    kit.save(&lee()).await;
    let moved = (200, "moved".into(), "changed by Lee Junho".into(), Some(300_000));
    assert_eq!(kit.beat(&kim(), &form, "keep").await, moved);
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
}

#[tokio::test]
async fn new_aggregate_is_locked_by_one_and_later_forms_are_stale() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let new = || Form { path: "/orders/3/text".into(), lid: LockId::random().reveal(), version: "none".into() };
    let (first, second) = (new(), new());
    assert_eq!(kit.beat(&kim(), &second, "look").await, heard("free", ""));
    for want in ["take", "take", "keep"] {
        assert_eq!(kit.beat(&kim(), &first, want).await, held(""), "{want}");
    }
    assert_eq!(kit.beat(&lee(), &second, "take").await, heard("refused", "held by Kim Minji"));
    kit.insert("3").await;
    let moved = (200, "moved".into(), "changed by Lee Junho".into(), Some(300_000));
    assert_eq!(kit.beat(&kim(), &first, "keep").await, moved);
    kit.clock.advance(5 * MINUTE);
    assert_eq!(kit.beat(&lee(), &second, "take").await, heard("moved", "changed by Lee Junho"));
    assert_eq!(kit.holders("3").await, []);
}

#[tokio::test]
async fn deleted_aggregate_keeps_no_lock() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open().await;
    kit.delete("1").await;
    for want in ["take", "keep", "look"] {
        assert_eq!(kit.beat(&kim(), &form, want).await, problem(404, "not-found"), "{want}");
        assert_eq!(kit.holders("1").await, []);
    }
}

#[tokio::test]
async fn frozen_aggregate_says_why_first() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (holding, other) = (kit.open_with_lease(&kim()).await, kit.open().await);
    kit.change(&lee(), |order| order.shipped = true).await;
    assert_eq!(kit.beat(&kim(), &holding, "keep").await, heard("lost", "It is on its way."));
    assert_eq!(kit.beat(&lee(), &other, "take").await, heard("lost", "It is on its way."));
}

#[tokio::test]
async fn advisory_editors_see_each_other_and_are_not_refused() {
    let kit = Kit::new(LockPolicy::advisory()).await;
    let (kims, lees, again) = (kit.open().await, kit.open().await, kit.open().await);
    assert_eq!(kit.beat(&kim(), &kims, "take").await, held(""));
    assert_eq!(kit.beat(&lee(), &lees, "take").await, held("Kim Minji"));
    assert_eq!(kit.beat(&kim(), &kims, "keep").await, held("Lee Junho"));
    assert_eq!(kit.beat(&kim(), &again, "look").await, heard("free", ""));
    assert_eq!(kit.beat(&kim(), &again, "take").await, held("Kim Minji, Lee Junho"));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1), ("lee".into(), 2), ("kim".into(), 3)]);
    kit.save(&lee()).await;
    let moved = (200, "moved".into(), "changed by Lee Junho".into(), Some(300_000));
    assert_eq!(kit.beat(&kim(), &kims, "keep").await, moved);
}

#[tokio::test]
async fn ended_advisory_lease_blocks_nobody() {
    let kit = Kit::new(LockPolicy::advisory()).await;
    let form = Form { path: "/orders/1/text".into(), ..kit.open_with_lease(&kim()).await };
    kit.clock.advance(5 * MINUTE);
    assert_eq!(kit.beat(&kim(), &form, "keep").await, held("goes on"));
    kit.locks.break_lock(&order_1(), 1, &lee(), "please").await.unwrap();
    for want in ["keep", "look", "take"] {
        assert_eq!(kit.beat(&kim(), &form, want).await, heard("free", ""), "{want}");
    }
    kit.save(&lee()).await;
    assert_eq!(kit.beat(&kim(), &form, "look").await, heard("moved", "changed by Lee Junho"));
    let needing = Form { path: "/orders/1/lease".into(), ..form };
    assert_eq!(kit.beat(&kim(), &needing, "keep").await, heard("lost", "Broken, changed by Lee Junho"));
}

#[tokio::test]
async fn a_lock_that_the_database_did_not_give_is_not_held() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let form = kit.open().await;
    let other = kit.break_down().await;
    assert_eq!(kit.beat(&kim(), &form, "take").await, problem(503, "row-lock-timeout"));
    assert_eq!(kit.holders("1").await, []);
    other.close().await.unwrap();
    assert_eq!(kit.beat(&kim(), &form, "take").await, held(""));
}
