//! Editing under an offline lock: the closed tab, the long lunch, the reload, the shipment in between.

use std::time::Duration;

use shop::domain::OrderState;
use tenure::{
    LockKey, LockManager,
    lease::{LeaseLossReason, PastLease},
};
use tenure_web::form_id::FormId;
use tenure_web::leases::PARTING_GRACE;

use super::support::{Form, ORDER, Server, TTL, token};

const EDIT: &str = "/orders/2026-000300/edit";
const SAVE: &str = "/orders/2026-000300/edit/save";
const LEAVE: &str = "/orders/2026-000300/leave";
const START: &str = "/orders/2026-000300/start-shipping";

#[tokio::test]
async fn second_person_sees_the_holder_and_edits_after_the_save() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.edit(ORDER).await.is(200).form(SAVE).with("address.line1", "세종대로 9").with("quantity-1", "5");
    let locked = park.edit(ORDER).await;
    locked.is(423).says("김민지");
    assert_eq!(locked.state(), "LP-1");
    park.get("/orders").await.says("김민지 has been editing");
    minji.submit(form).await.is(200);
    let (order, version) = server.order(ORDER).await;
    assert_eq!((order.shipping().address().line1.as_str(), order.lines()[0].quantity(), version), ("세종대로 9", 5, 2));
    let lines: i64 = order.lines().iter().map(|line| line.amount().as_won()).sum();
    assert_eq!(order.total().as_won(), lines);
    assert_eq!(server.held().await, []);
    park.submit(locked.form(EDIT)).await.is(200);
    assert_eq!(server.held().await, [("park".into(), 2)]);
}

#[tokio::test]
async fn the_order_and_its_edit_form_say_which_version_they_show() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let etag = |version| format!("\"{}\"", token(ORDER, version));
    assert_eq!(minji.open(ORDER).await.headers["etag"], etag(1));
    let edit = minji.edit(ORDER).await;
    assert_eq!(edit.headers["etag"], etag(1));
    let wrong = minji.submit(edit.form(SAVE).with("quantity-1", "0")).await;
    assert_eq!(wrong.is(422).headers["etag"], etag(1));
    let saved = minji.submit(wrong.form(SAVE).with("quantity-1", "5")).await;
    assert_eq!(saved.is(200).headers["etag"], etag(2));
}

#[tokio::test]
async fn a_get_never_takes_a_lock() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    for path in [EDIT, "/orders/2026-000300", "/orders"] {
        minji.get(path).await.is(200);
    }
    assert_eq!(server.held().await, []);
}

#[tokio::test]
async fn a_closed_tab_frees_the_order_within_the_time_to_live() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    minji.edit(ORDER).await.is(200);
    server.clock.advance(TTL - Duration::from_millis(1));
    park.edit(ORDER).await.is(423);
    server.clock.advance(Duration::from_millis(1));
    park.edit(ORDER).await.is(200);
}

#[tokio::test]
async fn late_save_after_takeover_changes_nothing() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let lunch =
        minji.edit(ORDER).await.form(SAVE).with("address.line1", "세종대로 9").with("message", "it's \"me\" & <you>");
    server.clock.advance(TTL);
    let parks = park.edit(ORDER).await.is(200).form(SAVE).with("message", "불량 확인");
    let refused = minji.submit(lunch).await;
    refused.is(410).says("Somebody at the shop").says("세종대로 9").says("it's \"me\" & <you>");
    assert_eq!((refused.state().as_str(), server.order(ORDER).await.1), ("OE-9", 1));
    // While he edits, the page keeps her text; then it is opened on top of his save, and compared.
    let again = refused.form(EDIT);
    minji.submit(again.clone()).await.is(423).says("세종대로 9");
    park.submit(parks).await.is(200);
    let reopened = minji.submit(again).await;
    reopened.is(200).says("세종대로 9").says("불량 확인");
    // Her text keeps the version that it was typed on, so saving it compares first.
    let compared = minji.submit(reopened.form(SAVE)).await;
    compared.is(409).says("불량 확인").says("it's \"me\" & <you>");
    minji.submit(compared.form(SAVE)).await.is(200);
    let (order, version) = server.order(ORDER).await;
    assert_eq!((order.shipping().address().line1.as_str(), version), ("세종대로 9", 3));
}

#[tokio::test]
async fn late_save_of_an_untaken_order_is_saved_by_its_version() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.edit(ORDER).await.form(SAVE).with("message", "still here");
    server.clock.advance(TTL);
    // As the form for the address does: nobody has the order, and nothing was changed.
    minji.submit(form).await.is(200).says("still here");
    assert_eq!((server.order(ORDER).await.0.shipping().message(), server.order(ORDER).await.1), ("still here", 2));
    assert_eq!(server.held().await, []);
}

#[tokio::test]
async fn heartbeats_keep_the_lease_for_as_long_as_the_form_is_open() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.edit(ORDER).await.form(SAVE);
    for _ in 0..10 {
        server.clock.advance(Duration::from_secs(60));
        let (status, told) = minji.beat("edit", &form, "keep").await;
        assert_eq!((status, &told["mode"], &told["expires_in_ms"]), (200, &"held".into(), &300_000.into()));
    }
    minji.submit(form.clone()).await.is(200);
    let (status, told) = minji.beat("edit", &form, "keep").await;
    assert_eq!((status, &told["mode"], &told["next"]), (200, &"saved".into(), &"/orders/2026-000300".into()));
}

#[tokio::test]
async fn reloading_the_form_keeps_the_lease_and_its_generation() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let press = minji.open(ORDER).await.form(EDIT);
    let form = minji.submit(press.clone()).await.is(200).form(SAVE);
    // A browser's reload: the beacon of the old page, then the same request again.
    let parting = [("lid", form.value("lid")), ("csrf", form.value("csrf")), ("mode", "parting")];
    minji.post("/tenure/release", &parting, &[]).await.is(204);
    server.clock.advance(PARTING_GRACE - Duration::from_secs(1));
    let reloaded = minji.submit(press).await;
    assert_eq!(reloaded.is(200).form(SAVE).value("lid"), form.value("lid"));
    assert_eq!(server.held().await, [("minji".into(), 1)]);
    server.clock.advance(TTL - Duration::from_secs(1));
    minji.submit(reloaded.form(SAVE)).await.is(200);
}

#[tokio::test]
async fn leaving_the_page_frees_the_order_after_the_parting_grace() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.edit(ORDER).await.form(SAVE);
    let parting = [("lid", form.value("lid")), ("csrf", form.value("csrf")), ("mode", "parting")];
    minji.post("/tenure/release", &parting, &[]).await.is(204);
    server.clock.advance(PARTING_GRACE);
    park.edit(ORDER).await.is(200);
}

#[tokio::test]
async fn page_can_be_reopened_right_after_leaving() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.edit(ORDER).await.form(SAVE);
    minji.post("/tenure/release", &[("lid", form.value("lid")), ("mode", "parting")], &[]).await.is(204);
    minji.edit(ORDER).await.is(200);
    assert_eq!(server.held().await, [("minji".into(), 2)]);
}

#[tokio::test]
async fn form_sends_heartbeats_after_sign_in_elsewhere() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let page = minji.edit(ORDER).await;
    let form = page.form(SAVE);
    minji.submit(page.form("/sign-out")).await.is(200);
    let (status, refused) = minji.beat("edit", &form, "keep").await;
    assert_eq!((status, &refused["code"]), (401, &"session-expired".into()));
    let sign_in = minji.get("/sign-in").await.form("/sign-in").with("login", "minji").with("password", "tenure-demo");
    minji.submit(sign_in).await.is(200);
    // Signing out has released the order: the form is saved by its version.
    assert_eq!(minji.beat("edit", &form, "keep").await.1["mode"], "free");
    // From another site the lock id alone is useless.
    let beat = "/orders/2026-000300/beat?form=edit";
    minji.post(beat, &[("lid", form.value("lid"))], &[("sec-fetch-site", "cross-site")]).await.is(403);
    minji.post(beat, &[], &[]).await.is(400);
    // One submit after signing in is enough.
    minji.submit(form.with("message", "typed before")).await.is(200).says("typed before");
}

#[tokio::test]
async fn leaving_by_the_button_frees_the_order_at_once() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let page = minji.edit(ORDER).await;
    minji.submit(page.form(LEAVE)).await.is(200);
    assert_eq!((server.held().await, server.order(ORDER).await.1), (vec![], 1));
}

#[tokio::test]
async fn second_tab_can_take_over_the_editing() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let first = minji.edit(ORDER).await.form(SAVE);
    let second = minji.edit(ORDER).await;
    assert_eq!(second.is(423).state(), "LP-16");
    let moved = minji.submit(second.form("/orders/2026-000300/edit/move-here")).await.is(200).form(SAVE);
    minji.submit(first).await.is(410);
    minji.submit(moved).await.is(200);
    // In one step: between a break and a new lock another person could acquire the order.
    let ended = LockManager::new(&server.db).history(&LockKey::new("Order", ORDER)).run().await.unwrap().items;
    let moved = |past: &PastLease| matches!(&past.why, LeaseLossReason::TakenOver { by, .. } if by.id == "minji");
    assert_eq!(ended.iter().filter(|past| moved(past)).count(), 1, "{ended:?}");
}

#[tokio::test]
async fn invalid_form_keeps_the_lease_and_the_text() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji
        .edit(ORDER)
        .await
        .form(SAVE)
        .with("receiver.name", " ")
        .with("message", "keep me")
        .with("quantity-1", "0");
    let invalid = minji.submit(form).await;
    assert_eq!(invalid.is(422).state(), "OE-17");
    let form = invalid.form(SAVE);
    assert_eq!((form.value("message"), form.value("quantity-1")), ("keep me", "0"));
    minji.submit(form.with("receiver.name", "김민지").with("quantity-1", "2")).await.is(200);
    assert_eq!((server.order(ORDER).await.0.lines()[0].quantity(), server.order(ORDER).await.1), (2, 2));
}

#[tokio::test]
async fn the_last_line_cannot_be_removed_and_a_line_can_be_added() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let lines = server.order(ORDER).await.0.lines().len();
    let form = park.edit(ORDER).await.form(SAVE);
    let emptied = (1..=lines).fold(form, |form, line| form.with(&format!("remove-{line}"), "on"));
    let refused = park.submit(emptied).await;
    assert!(refused.status.is_client_error(), "{}", refused.status);
    let form = refused.form(SAVE).with("new-product", "찻잔").with("new-price", "12000").with("new-quantity", "2");
    park.submit(form).await.is(200);
    let order = server.order(ORDER).await.0;
    assert_eq!((order.lines().len(), order.lines()[0].product(), order.total().as_won()), (1, "찻잔", 24_000));
}

#[tokio::test]
async fn customer_cannot_set_a_price() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.edit(ORDER).await.form(SAVE);
    let cheap = form.with("new-product", "gold").with("new-price", "1").with("new-quantity", "1");
    minji.submit(cheap).await.is(403);
    assert_eq!(server.order(ORDER).await.1, 1);
}

#[tokio::test]
async fn operator_sees_the_editor_before_shipping() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let editing = minji.edit(ORDER).await.form(SAVE).with("address.line1", "세종대로 9");
    let warned = park.submit(park.open(ORDER).await.form(START)).await;
    assert!(matches!(warned.status.as_u16(), 409 | 423), "{}", warned.status);
    warned.says("김민지").says("The order as of ");
    assert_eq!(server.order(ORDER).await.0.state(), OrderState::Preparing);
    let anyway = warned.form(START);
    assert_eq!(anyway.value("anyway"), "1");
    park.submit(anyway).await.is(200);
    let back = park.get(&warned.path).await;
    assert_eq!(back.is(200).path, format!("/orders/{ORDER}"), "it does not say that nothing was done");
    minji.submit(editing).await.is(409).says("세종대로 9");
    let (order, version) = server.order(ORDER).await;
    assert_eq!((order.state(), version), (OrderState::Shipped, 2));
    assert_ne!(order.shipping().address().line1, "세종대로 9");
}

#[tokio::test]
async fn a_shipped_order_cannot_be_opened_for_editing() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let press = minji.open(ORDER).await.form(EDIT);
    park.submit(park.open(ORDER).await.form(START)).await.is(200);
    minji.submit(press).await.is(409);
    assert_eq!(server.held().await, []);
}

#[tokio::test]
async fn form_of_an_order_that_is_shipped_anyway_lets_go_of_its_lease() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.edit(ORDER).await.form(SAVE);
    let warned = park.submit(park.open(ORDER).await.form(START)).await;
    park.submit(warned.is(423).form(START)).await.is(200);
    let (status, told) = minji.beat("edit", &form, "keep").await;
    assert_eq!((status, &told["state"]), (200, &"OE-15".into()));
    assert_eq!(server.held().await, [], "nobody waits for it in the list of locks");
    assert_eq!(minji.beat("edit", &form, "keep").await.1["state"], "OE-15");
}

#[tokio::test]
async fn text_on_an_older_version_is_compared_with_what_it_was_typed_on() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    for (kind, action) in [("shipping", "shipping"), ("edit", "edit/save")] {
        let path = format!("/orders/{ORDER}/{action}");
        let open = if kind == "edit" { minji.edit(ORDER).await } else { minji.get(&path).await };
        let form = open.form(&path).with("message", &format!("Ring at the {kind}"));
        minji.submit(Form { action: LEAVE.to_owned(), ..form.clone() }).await.is(200);
        let shipping = format!("/orders/{ORDER}/shipping");
        let theirs = park.get(&shipping).await.form(&shipping).with("receiver.name", &format!("Lee {kind}"));
        park.submit(theirs).await.is(200);
        let again = Form { action: format!("/orders/{ORDER}/{kind}"), ..form }
            .with("edit-first", "1")
            .with("next-form", &FormId::random().to_string());
        let back = minji.submit(again).await;
        back.is(200).says(&format!("Ring at the {kind}")).says("Here is what differs");
        // A draft of this form has what its person typed, and not what was the same when they began.
        assert!(!back.html.contains(&format!("data-base=\"Lee {kind}\"")), "{}", back.html);
        minji.submit(back.form(LEAVE)).await.is(200);
    }
}

#[tokio::test]
async fn text_that_is_moved_here_after_editing_again_is_saved_with_its_form() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let here = minji.edit(ORDER).await;
    let move_here = "/orders/2026-000300/edit/move-here";
    let there = minji.submit(minji.edit(ORDER).await.form(move_here)).await;
    assert_eq!(there.is(200).state(), "OE-1");
    let elsewhere = minji.submit(here.press(SAVE, "next-form").with("message", "typed here")).await;
    assert_eq!(elsewhere.is(423).says("typed here").state(), "LP-16");
    let moved = minji.submit(elsewhere.form(move_here)).await.is(200).form(SAVE);
    assert_eq!(moved.value("message"), "typed here");
    minji.submit(moved).await.is(200);
    assert!(!minji.open(ORDER).await.text().contains("was not saved"));
}

#[tokio::test]
async fn nobody_waits_for_the_lock_of_an_order_that_was_shipped_or_cancelled_anyway() {
    const CANCEL: &str = "/orders/2026-000300/cancel";
    const SHIPPING: &str = "/orders/2026-000300/shipping";
    for (done, late) in [(START, CANCEL), (CANCEL, START)] {
        let server = Server::start().await;
        let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
        minji.edit(ORDER).await.is(200);
        let (page, form) = (park.open(ORDER).await, park.get(SHIPPING).await.form(SHIPPING).with("message", "문 앞에"));
        let late = page.form(late);
        park.submit(park.submit(page.form(done)).await.form(done)).await.is(200);
        assert_eq!(server.held().await.len(), 1, "her page has not asked since");
        for late in [late, form] {
            let refused = park.submit(late).await;
            assert_eq!(refused.is(409).state(), "OE-15", "{}", refused.text());
        }
    }
}
