//! The delivery address: opening the form acquires no lock, and the first change does.

use std::time::Duration;

use serde_json::Value;
use tenure::{LockPolicy, lease::Acquire};

use super::support::{Browser, Form, ORDER, Server, TTL, token};

const SHIPPING: &str = "/orders/2026-000300/shipping";
const BEAT: &str = "/orders/2026-000300/beat?form=shipping";
const LEAVE: &str = "/orders/2026-000300/leave";
const EDIT: &str = "/orders/2026-000300/edit";
const START: &str = "/orders/2026-000300/start-shipping";

async fn open(browser: &Browser) -> Form {
    browser.get(SHIPPING).await.is(200).form(SHIPPING)
}

/// The script's request with the first change, and the resulting state of the form.
async fn begin(browser: &Browser, form: &Form) -> (String, Value) {
    let (status, told) = browser.beat("shipping", form, "take").await;
    assert_eq!(status, 200, "{told}");
    (told["mode"].as_str().unwrap().to_owned(), told)
}

async fn beat(browser: &Browser, form: &Form) -> String {
    browser.beat("shipping", form, "keep").await.1["mode"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn first_change_acquires_the_lock_and_viewing_does_not() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let (hers, his) = (open(&minji).await, open(&park).await);
    assert_eq!(server.held().await, []);
    assert_eq!(begin(&minji, &hers).await.0, "held");
    assert_eq!(begin(&minji, &hers).await.0, "held", "asking again gives the same lease");
    let (mode, refused) = begin(&park, &his).await;
    assert_eq!((mode.as_str(), &refused["actions"]), ("refused", &serde_json::json!(["retry"])));
    assert!(refused["said"].as_str().unwrap().starts_with("김민지 has been editing since"), "{refused}");
    park.get("/orders").await.says("김민지 has been editing");
    park.get(SHIPPING).await.says("김민지 has been editing");
    // The form for the whole order is refused by the same lock.
    park.edit(ORDER).await.is(423).says("김민지");
    assert_eq!(server.held().await, [("minji".into(), 1)]);
}

#[tokio::test]
async fn a_save_under_the_lock_of_the_first_change_frees_the_order() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = open(&minji).await.with("message", "문 앞에");
    begin(&minji, &form).await;
    park.submit(park.open(ORDER).await.form(START)).await.is(423).says("김민지");
    for _ in 0..3 {
        server.clock.advance(Duration::from_secs(240));
        assert_eq!(beat(&minji, &form).await, "held");
    }
    minji.submit(form).await.is(200).says("문 앞에");
    assert_eq!((server.held().await, server.order(ORDER).await.1), (vec![], 2));
}

#[tokio::test]
async fn typing_and_enter_at_once_saves_and_leaves_no_lock() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    for round in 1..=30 {
        let form = open(&minji).await.with("message", &format!("{round}"));
        let (saved, _) = tokio::join!(minji.submit(form.clone()), begin(&minji, &form));
        saved.is(200).says(&format!("{round}"));
        assert_eq!((server.held().await, server.order(ORDER).await.1), (vec![], round + 1));
    }
}

#[tokio::test]
async fn save_without_lock_depends_on_version_and_holder() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    // No script: no request for the lock.
    minji.submit(open(&minji).await.with("message", "문 앞에")).await.is(200).says("문 앞에");
    let (hers, his) = (open(&minji).await.with("message", "경비실"), open(&park).await.with("message", "불량 확인"));
    begin(&park, &his).await;
    let locked = minji.submit(hers).await;
    locked.is(423).says("Somebody at the shop").says("경비실");
    assert_eq!(server.order(ORDER).await.1, 2);
    park.submit(his).await.is(200);
    // Then both are shown, and hers goes on top.
    let met = minji.submit(locked.form(SHIPPING)).await;
    met.is(409).says("경비실").says("불량 확인");
    minji.submit(met.form(SHIPPING)).await.is(200).says("경비실");
    assert_eq!((server.held().await, server.order(ORDER).await.1), (vec![], 4));
}

#[tokio::test]
async fn broken_lock_does_not_save_and_keeps_the_text() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = open(&minji).await.with("message", "문 앞에");
    begin(&minji, &form).await;
    let end = park.get("/locks").await.form("/locks/break").with("reason", "지금 포장합니다");
    park.submit(end).await.is(200);
    let lost = minji.submit(form.clone()).await;
    lost.is(410).says("문 앞에");
    assert_eq!(server.order(ORDER).await.1, 1);
    // As the page itself offers it: the form again, with the text and another lock.
    let again = minji.submit(form.with("edit-first", "1")).await.is(200).form(SHIPPING);
    assert_eq!(again.value("message"), "문 앞에");
    assert_eq!(begin(&minji, &again).await.0, "held");
    minji.submit(again).await.is(200).says("문 앞에");
    assert_eq!(server.held().await, []);
}

#[tokio::test]
async fn text_of_an_ended_form_is_dropped_with_the_form_in_which_it_went_on() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = open(&minji).await.with("message", "문 앞에");
    let refused = minji.submit(form.with("address.postal_code", "")).await;
    begin(&minji, &refused.is(422).form(SHIPPING)).await;
    park.submit(park.get("/locks").await.form("/locks/break").with("reason", "지금 포장합니다")).await.is(200);
    minji.get("/orders/2026-000300").await.says("Your text of");
    let reloaded = minji.get(&refused.path).await;
    let left = minji.submit(reloaded.is(422).form(LEAVE)).await;
    assert!(!left.is(200).html.contains("Your text of"));
}

#[tokio::test]
async fn expired_lock_that_nobody_claimed_saves_by_the_version() {
    for is_claimed in [false, true] {
        let server = Server::start().await;
        let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
        let form = open(&minji).await.with("message", "문 앞에");
        begin(&minji, &form).await;
        server.clock.advance(TTL);
        if is_claimed {
            park.edit(ORDER).await.is(200);
            minji.submit(form).await.is(410).says("문 앞에");
            assert_eq!(server.order(ORDER).await.1, 1);
        } else {
            minji.submit(form).await.is(200).says("문 앞에");
            assert_eq!(server.order(ORDER).await.1, 2);
        }
    }
}

#[tokio::test]
async fn stale_text_gets_no_lock_and_is_compared_at_the_save() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let hers = open(&minji).await.with("message", "경비실");
    park.submit(open(&park).await.with("address.line1", "한강대로 2")).await.is(200);
    let (mode, moved) = begin(&minji, &hers).await;
    assert!(mode == "moved" && moved["said"].as_str().unwrap().starts_with("박서연 changed"), "{moved}");
    assert_eq!(server.held().await, []);
    let met = minji.submit(hers).await;
    assert_eq!(met.is(409).says("경비실").says("한강대로 2").state(), "CP-1");
    // From there on it is a form for the current version, which may have the lock: text beside the order's own is a first change.
    let first = minji.submit(met.press(SHIPPING, "edit-first")).await;
    assert!(first.is(200).html.contains("data-base="), "{}", first.html);
    let form = first.form(SHIPPING);
    assert_eq!((form.value("version"), begin(&minji, &form).await.0.as_str()), (token(ORDER, 2).as_str(), "held"));
    minji.submit(form).await.is(200).says("경비실").says("한강대로 2");
    assert_eq!(server.held().await, []);
}

#[tokio::test]
async fn a_conflict_gives_the_lock_back() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = open(&minji).await.with("message", "문 앞에");
    begin(&minji, &form).await;
    let warned = park.submit(park.open(ORDER).await.form(START)).await;
    park.submit(warned.is(423).form(START)).await.is(200);
    minji.submit(form).await.is(409).says("문 앞에");
    assert_eq!((server.held().await, server.order(ORDER).await.1), (vec![], 2));
}

#[tokio::test]
async fn a_form_with_mistakes_keeps_the_lock_of_the_first_change() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = open(&minji).await.with("message", "keep me").with("receiver.name", " ");
    begin(&minji, &form).await;
    let wrong = minji.submit(form.clone()).await;
    assert!(wrong.is(422).html.contains("data-expires-in-ms=\"300000\""), "{}", wrong.html);
    let corrected = wrong.form(SHIPPING).with("receiver.name", "김민지");
    assert_eq!(corrected.value("lid"), form.value("lid"));
    assert_eq!((beat(&minji, &corrected).await.as_str(), server.held().await), ("held", vec![("minji".into(), 1)]));
    minji.submit(corrected).await.is(200).says("keep me");
    assert_eq!(server.held().await, []);
}

#[tokio::test]
async fn leaving_releases_the_lock_and_says_so() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let page = minji.get(SHIPPING).await;
    let left = minji.submit(page.form(LEAVE)).await;
    assert!(!left.is(200).html.contains("without saving"), "{}", left.html);
    begin(&minji, &page.form(SHIPPING)).await;
    // It was left already, but the same page returned.
    assert_eq!(server.held().await.len(), 1);
    let left = minji.submit(page.form(LEAVE)).await;
    left.is(200).tells("without saving");
    assert_eq!(server.held().await, []);
    // Nor is it silent about a form whose time ran out, and whose text is dropped with it.
    let page = minji.get(SHIPPING).await;
    begin(&minji, &page.form(SHIPPING)).await;
    server.clock.advance(Duration::from_secs(3600));
    minji.submit(page.form(LEAVE)).await.is(200).tells("without saving");
}

#[tokio::test]
async fn forbidden_order_or_foreign_lock_id_gets_no_lock() {
    let server = Server::start().await;
    let (minji, lee) = (server.sign_in("minji").await, server.sign_in("lee").await);
    let hers = open(&minji).await;
    let csrf = lee.get("/orders").await.form("/sign-out").value("csrf").to_owned();
    let take = async |browser: &Browser, form: Form| browser.beat("shipping", &form, "take").await.0;
    assert_eq!(take(&lee, hers.clone().with("csrf", &csrf).with("person", "lee")).await, 404);
    assert_eq!(take(&lee, hers.clone().with("csrf", &csrf)).await, 409);
    assert_eq!(take(&minji, hers.clone().with("csrf", &csrf)).await, 403);
    assert_eq!(take(&minji, hers.clone().with("version", &token("2026-000299", 1))).await, 400);
    assert_eq!(take(&server.browser(), hers.clone()).await, 401);
    let elsewhere = minji.post(BEAT, &[("lid", hers.value("lid"))], &[("sec-fetch-site", "cross-site")]).await;
    elsewhere.is(403);
    assert_eq!(server.held().await, []);
}

#[tokio::test]
async fn the_form_takes_its_lock_on_opening_where_the_policy_says_so() {
    for (acquire, at_once) in [(Acquire::OnFirstEdit, false), (Acquire::OnOpen, true)] {
        let policy = LockPolicy::exclusive().acquiring(acquire);
        let server = Server::start_as(|shop| shop.with_order_policy(policy)).await;
        let minji = server.sign_in("minji").await;
        let page = minji.get(SHIPPING).await;
        let when = if at_once { "open" } else { "first-edit" };
        assert!(page.html.contains(&format!("data-acquire=\"{when}\"")), "{}", page.html);
        // In any case the page requests it, not the GET.
        assert_eq!(server.held().await, []);
        // And the button for the whole order acquires its lock.
        minji.edit(ORDER).await.is(200);
        assert_eq!(server.held().await, [("minji".into(), 1)]);
    }
}

#[tokio::test]
async fn own_form_in_another_tab_is_recognised() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = open(&minji).await.with("message", "문 앞에");
    minji.edit(ORDER).await.is(200);
    let (mode, refused) = begin(&minji, &form).await;
    assert_eq!((mode.as_str(), &refused["state"], &refused["generation"]), ("refused", &"LP-16".into(), &1.into()));
    let here = minji.submit(form).await;
    assert_eq!(here.is(423).says("문 앞에").state(), "LP-16");
    let moved = minji.submit(here.form(&format!("{EDIT}/move-here"))).await;
    moved.is(200).says("문 앞에").says("You are editing the order");
    // That form has a lock from the start, also without scripts.
    assert!(!moved.text().contains("Nothing is reserved"), "{}", moved.text());
}

#[tokio::test]
async fn form_of_older_text_that_waits_again_is_not_told_that_it_was_saved() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let path = format!("/orders/{ORDER}/shipping");
    let open = async |who: &Browser| who.get(&path).await.form(&path);
    let (hers, his) = (open(&minji).await.with("message", "Hers"), open(&park).await);
    minji.beat("shipping", &hers, "take").await;
    assert_eq!(park.beat("shipping", &his, "take").await.1["mode"], "refused");
    minji.submit(hers).await.is(200);
    // His text is older: the lock is given back at once.
    assert!(park.beat("shipping", &his, "take").await.1["said"].as_str().unwrap().contains("side by side"));
    minji.beat("shipping", &open(&minji).await, "take").await;
    for want in ["look", "take"] {
        let told = park.beat("shipping", &his, want).await.1;
        assert!(told["said"].as_str().unwrap().contains("You can type"), "{want}: {told}");
        assert_eq!(told["mode"], "refused", "{want}");
    }
}

#[tokio::test]
async fn form_that_was_saved_with_nothing_changed_takes_no_lock_afterwards() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    // Without a lease, and with one that had run out.
    for want in ["take", "keep"] {
        let form = minji.get(SHIPPING).await.form(SHIPPING);
        if want == "keep" {
            assert_eq!(begin(&minji, &form).await.0, "held");
            server.clock.advance(2 * TTL);
        }
        minji.submit(form.clone()).await.is(200);
        let (_, told) = minji.beat("shipping", &form, want).await;
        assert_eq!((told["mode"].as_str(), server.held().await), (Some("saved"), Vec::new()), "{want}");
    }
}
