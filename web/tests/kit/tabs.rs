//! The pages of one person: in other tabs, and those that a tab has left.

use serde_json::Value;
use tenure::{LockId, LockKey, LockPolicy};
use tenure_web::beat::MOVED_HERE;
use tenure_web::leases::PARTING_GRACE;

use super::support::{Kit, heard, held, kim, lee, order_1};

#[tokio::test]
async fn own_other_tab_is_recognised_unless_just_left() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (before, reloaded) = (kit.open().await, kit.open().await);
    kit.beat(&kim(), &before, "take").await;
    let (status, told) = kit.tell(Some(kim()), &reloaded, "take", &[]).await;
    let told = (status, &told["mode"], &told["said"], &told["generation"]);
    assert_eq!(told, (200, &"refused".into(), &"elsewhere".into(), &Value::from(1)));
    // To continue here, the person must name the lease that they were shown.
    assert_eq!(kit.beat_but(&kim(), &reloaded, "take", &[("instead_of", "7")]).await, heard("refused", "elsewhere"));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
    kit.part(&before).await;
    kit.clock.advance(PARTING_GRACE / 2);
    assert_eq!(kit.beat(&kim(), &reloaded, "look").await, heard("free", ""));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
    for _ in 0..2 {
        assert_eq!(kit.beat(&kim(), &reloaded, "take").await, held(""));
        assert_eq!(kit.holders("1").await, [("kim".into(), 2)]);
    }
}

#[tokio::test]
async fn page_left_in_this_tab_does_not_count_without_its_release() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (before, after) = (kit.open().await, kit.open().await);
    kit.beat(&kim(), &before, "take").await;
    let left = [("left", before.lid.as_str())];
    // Another person cannot shorten it like that.
    assert_eq!(kit.beat_but(&lee(), &after, "take", &left).await, heard("refused", "held by Kim Minji"));
    assert_eq!(kit.beat_but(&kim(), &after, "keep", &left).await, heard("refused", "elsewhere"));
    assert_eq!(kit.beat_but(&kim(), &after, "look", &left).await, heard("free", ""));
    assert_eq!(kit.holders("1").await, [("kim".into(), 1)]);
    assert_eq!(kit.beat_but(&kim(), &after, "take", &left).await, held(""));
    assert_eq!(kit.holders("1").await, [("kim".into(), 2)]);
    // The page came back out of the browser's memory: its own lease is not one that it left.
    assert_eq!(kit.beat_but(&kim(), &after, "take", &[("left", after.lid.as_str())]).await, held(""));
    kit.clock.advance(PARTING_GRACE);
    assert_eq!(kit.holders("1").await, [("kim".into(), 2)]);
}

#[tokio::test]
async fn each_page_left_in_this_tab_counts_no_more() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (first, unheard, after) = (kit.open().await, kit.open().await, kit.open().await);
    // The second page was left before it heard whether it acquired the lock.
    for holder in [&first, &unheard] {
        assert_eq!(kit.beat(&kim(), holder, "take").await, held(""));
        let left = format!("{},{}", unheard.lid, first.lid);
        assert_eq!(kit.beat_but(&kim(), &after, "look", &[("left", &left)]).await, heard("free", ""));
    }
    let left = [first.lid.as_str(); 9].join(",");
    assert_eq!(kit.tell(Some(kim()), &after, "look", &[("left", &left)]).await.0, 400);
}

#[tokio::test]
async fn page_whose_lease_somebody_ended_does_not_take_it_again_when_it_is_loaded_again() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (before, after) = (kit.open().await, kit.open().await);
    kit.beat(&kim(), &before, "take").await;
    kit.locks.break_lock(&order_1(), 1, &lee(), "please").await.unwrap();
    let left = [("left", before.lid.as_str()), ("again", "true")];
    for want in ["look", "take"] {
        assert_eq!(kit.beat_but(&kim(), &after, want, &left).await, heard("lost", "Broken"), "{want}");
        assert_eq!(kit.holders("1").await, [], "{want}");
    }
    // The form was opened again, not loaded again: it is a new one.
    assert_eq!(kit.beat_but(&kim(), &after, "look", &left[..1]).await, heard("free", ""));
    assert_eq!(kit.beat_but(&kim(), &after, "take", &left[..1]).await, held(""));
}

#[tokio::test]
async fn end_of_a_lease_of_something_else_is_no_news_for_this_form() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (other, id) = (LockKey::new("Order", "2"), LockId::random());
    kit.locks.try_lock_as(&other, &kim(), id.clone()).await.unwrap();
    kit.locks.break_lock(&other, 1, &lee(), "please").await.unwrap();
    let (form, left) = (kit.open().await, id.reveal());
    let left = [("left", left.as_str()), ("again", "true")];
    assert_eq!(kit.beat_but(&kim(), &form, "look", &left).await, heard("free", ""));
    assert_eq!(kit.beat_but(&kim(), &form, "take", &left).await, held(""));
}

#[tokio::test]
async fn just_left_page_still_blocks_others() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (kims, lees) = (kit.open().await, kit.open().await);
    kit.beat(&kim(), &kims, "take").await;
    kit.part(&kims).await;
    assert_eq!(kit.beat(&lee(), &lees, "take").await, heard("refused", "held by Kim Minji"));
    kit.clock.advance(PARTING_GRACE);
    assert_eq!(kit.beat(&lee(), &lees, "take").await, held(""));
}

#[tokio::test]
async fn person_continues_here_and_the_other_tab_learns() {
    let kit = Kit::new(LockPolicy::exclusive()).await;
    let (there, here) = (kit.open().await, kit.open().await);
    kit.beat(&kim(), &there, "take").await;
    let instead = [("instead_of", "1")];
    // Another person cannot acquire it like that.
    assert_eq!(kit.beat_but(&lee(), &here, "take", &instead).await, heard("refused", "held by Kim Minji"));
    for _ in 0..2 {
        assert_eq!(kit.beat_but(&kim(), &here, "take", &instead).await, held(""));
        assert_eq!(kit.holders("1").await, [("kim".into(), 2)]);
    }
    let (status, lost) = kit.tell(Some(kim()), &there, "keep", &[]).await;
    assert_eq!((status, &lost["mode"], &lost["generation"]), (200, &"lost".into(), &2.into()));
    let said = lost["said"].as_str().unwrap();
    assert!(said.starts_with("TakenOver") && said.contains(MOVED_HERE) && said.ends_with("elsewhere"), "{said}");
}
