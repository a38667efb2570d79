//! Limits of one person: echoed text, locks, history; and what nobody learns about others.

use std::time::Duration;

use tenure::{LockKey, LockManager, Owner, clock::ManualClock};

use super::support::{Form, ORDER, Server};

const SHIPPING: &str = "/orders/2026-000300/shipping";
const EDIT: &str = "/orders/2026-000300/edit";
const SAVE: &str = "/orders/2026-000300/edit/save";

#[tokio::test]
async fn request_body_is_not_amplified_in_the_response() {
    let server = Server::start().await;
    let stranger = server.browser();
    let quotes = "\"".repeat(20_000);
    for (name, path) in [("x", SHIPPING), ("message", SHIPPING), ("text", SHIPPING), ("login", "/sign-in")] {
        let page = stranger.post(path, &[("csrf", "wrong"), (name, &quotes)], &[]).await;
        assert!(matches!(page.status.as_u16(), 401 | 403), "{}", page.status);
        assert!(page.html.len() < 12_000, "{name}: {} bytes", page.html.len());
    }
    let many: Vec<_> = (0..4_000).map(|line| (format!("quantity-{line}"), "\"\"".to_owned())).collect();
    let many: Vec<_> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let page = stranger.post(SHIPPING, &many[..2_000], &[]).await;
    assert!(page.is(401).html.len() < 12_000, "{} bytes", page.html.len());
    // Text that a person may really have typed is still there.
    let note = "메".repeat(4_000);
    stranger.post("/orders/2026-000300/note/save", &[("text", &note)], &[]).await.is(401).says(&note);
}

#[tokio::test]
async fn a_form_that_is_longer_than_any_of_ours_is_not_read() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.get(SHIPPING).await.form(SHIPPING);
    let page = minji.submit(form.clone().with("message", &"x".repeat(300_000))).await;
    assert!(page.is(413).html.len() < 12_000 && page.state() == "E-413");
    // Before sign-in the limit is smaller.
    let page = server.browser().submit(form.with("message", &"x".repeat(70_000))).await;
    assert!(page.is(413).html.len() < 12_000);
    let page = server.browser().post("/sign-in", &[("login", &"x".repeat(1_980_000))], &[]).await;
    assert!(page.is(413).html.len() < 12_000);
    assert_eq!(server.order(ORDER).await.1, 1);
}

#[tokio::test]
async fn unknown_fields_are_neither_stored_nor_returned() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("receiver.phone", "call me").with("smuggled", "in-here");
    let page = minji.submit(form).await;
    assert!(page.is(422).says("call me").html.find("smuggled").is_none() && !page.html.contains("in-here"));
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("message", "typed").with("smuggled", "in-here");
    for form in [form.clone().with("csrf", "wrong"), form.with("version", "none")] {
        let page = minji.submit(form).await;
        assert!(!page.says("typed").html.contains("smuggled") && !page.html.contains("in-here"), "{}", page.html);
    }
}

async fn with_a_clock() -> (Server, ManualClock) {
    let clock = ManualClock::new();
    let own = clock.clone();
    (Server::start_as(move |shop| shop.clock(own)).await, clock)
}

#[tokio::test]
async fn locks_per_member_are_rate_limited() {
    let (server, clock) = with_a_clock().await;
    let minji = server.sign_in("minji").await;
    let form = minji.open(ORDER).await.form(EDIT);
    let mut taken = 0;
    let refused = loop {
        let opened = minji.submit(form.clone().with("form_id", &format!("{taken:032x}"))).await;
        if opened.status == 429 {
            break opened;
        }
        minji.submit(opened.is(200).form("/orders/2026-000300/leave")).await.is(200);
        taken += 1;
        assert!(taken <= 60, "there is no end to it");
    };
    assert_eq!((taken, refused.state().as_str()), (60, "E-429"));
    refused.says("more forms for editing than one person");
    assert_eq!(refused.headers["retry-after"], "3");
    let locks = LockManager::new(&server.db);
    let history = locks.history(&LockKey::new("Order", ORDER)).limit(1_000);
    assert_eq!(history.run().await.unwrap().items.len(), 60);
    // The first change of a form acquires a lock as well.
    let shipping = minji.get(SHIPPING).await.form(SHIPPING);
    let (status, told) = minji.beat("shipping", &shipping, "take").await;
    assert_eq!((status, told["code"].as_str()), (429, Some("too-many-locks")), "{told}");
    assert_eq!(server.held().await, []);
    // Others can continue, and so can she in a moment.
    let park = server.sign_in("park").await;
    park.submit(park.edit(ORDER).await.form("/orders/2026-000300/leave")).await.is(200);
    clock.advance(Duration::from_secs(2));
    assert_eq!(minji.beat("shipping", &shipping, "take").await.0, 200);
}

#[tokio::test]
async fn lock_limit_keeps_the_held_lock() {
    let (server, _clock) = with_a_clock().await;
    let minji = server.sign_in("minji").await;
    minji.edit(ORDER).await.is(200);
    let elsewhere = minji.edit(ORDER).await;
    let mut form = elsewhere.is(423).form("/orders/2026-000300/edit/move-here");
    for no in 1..60 {
        let moved = minji.submit(form.clone().with("next-form", &format!("{no:032x}"))).await;
        moved.is(200).form(SAVE);
        form = form.with("generation", &(no + 1).to_string());
    }
    let refused = minji.submit(form.with("next-form", &"7".repeat(32))).await;
    assert_eq!((refused.is(429).state().as_str(), server.held().await.len()), ("E-429", 1));
}

#[tokio::test]
async fn locks_of_others_do_not_count_toward_the_limit() {
    let (server, _clock) = with_a_clock().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    park.edit(ORDER).await.is(200);
    let form = minji.open(ORDER).await.form(EDIT);
    for no in 0..70 {
        assert_eq!(minji.submit(form.clone().with("form_id", &format!("{no:032x}"))).await.is(423).state(), "LP-1");
    }
}

#[tokio::test]
async fn too_many_open_forms_are_reported() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let locks = LockManager::new(&server.db);
    let owner = Owner::new("park", "박서연");
    for no in 0..1_000 {
        locks.try_lock(&LockKey::new("Order", format!("other-{no}")), &owner).await.unwrap();
    }
    for form in [EDIT, "/orders/2026-000300/note/edit"] {
        let refused = park.submit(park.open(ORDER).await.form(form)).await;
        assert_eq!(refused.is(429).says("1000").state(), "E-429");
        assert!(refused.headers.contains_key("retry-after"));
    }
    assert_eq!(server.held().await.len(), 100, "a page of the list");
}

#[tokio::test]
async fn a_reason_that_does_not_fit_is_a_mistake_in_the_form() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    minji.edit(ORDER).await.is(200);
    let end = park.get("/locks").await.form("/locks/break");
    for (reason, why) in [
        ("사".repeat(10_000).as_str(), "Shorten"),
        ("a\0b", "cannot be seen"),
        ("a\u{1b}[31m", "cannot be seen"),
        ("", "Give a reason"),
    ] {
        let page = park.submit(end.clone().with("reason", reason)).await;
        assert_eq!(page.is(422).state(), "AC-4");
        assert!(page.text().to_lowercase().contains(&why.to_lowercase()), "{reason:?}: {}", page.text());
        assert!(page.html.contains("<details class=\"confirm\" open>"));
    }
    for (kind, id) in [("Member", "park"), ("Order", ""), ("Order", "a\0b"), ("", ORDER), ("Order", &"x".repeat(300))] {
        park.submit(end.clone().with("kind", kind).with("id", id).with("reason", "why")).await.is(400);
    }
    assert_eq!(server.held().await.len(), 1);
}

#[tokio::test]
async fn the_console_shows_a_page_at_a_time() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let locks = LockManager::new(&server.db);
    for no in 1..=60 {
        server.clock.advance(Duration::from_millis(5));
        locks.try_lock(&LockKey::new("Order", format!("2026-{no:06}")), &Owner::new("lee", "Lee")).await.unwrap();
    }
    let first = park.get("/locks?type=Order").await;
    assert_eq!((first.is(200).forms("/locks/break").len(), first.html.contains("First page")), (50, false));
    let (_, next) = first.html.split_once("rel=\"next\" href=\"").unwrap();
    let next = next.split('"').next().unwrap().replace("&amp;", "&").replace("&#38;", "&");
    let second = park.get(&next).await;
    assert_eq!((second.is(200).forms("/locks/break").len(), second.html.contains("rel=\"next\"")), (10, false));
    second.says("2026-000051").says("First page").says("10 on this page");
    // A mistake stays on its page.
    let wrong = park.submit(second.forms("/locks/break")[0].clone()).await;
    wrong.is(422).says("2026-000051").says("Give a reason");
    assert_eq!((second.html.matches(" autofocus").count(), wrong.html.matches(" autofocus").count()), (0, 1));
    for nonsense in ["/locks?after=x", "/locks?after=", "/locks?after=%00&type=Member"] {
        park.get(nonsense).await.is(200).says("50 on this page");
    }
}

#[tokio::test]
async fn somebody_elses_lock_id_and_form_id_have_no_effect() {
    let server = Server::start().await;
    let (minji, lee) = (server.sign_in("minji").await, server.sign_in("lee").await);
    let edit = minji.edit(ORDER).await.form(SAVE);
    let (lid, form_id) = (edit.value("lid"), edit.value("form_id"));
    let csrf = lee.get("/orders").await.form("/sign-out").value("csrf").to_owned();
    lee.get(&format!("/orders/{ORDER}/edit/{form_id}")).await.is(404);
    lee.get(&format!("/orders/{ORDER}/note/{form_id}")).await.is(403);
    let unknown = "7".repeat(64);
    for mode in ["final", "parting"] {
        for id in [lid, &unknown] {
            let page = lee.post("/tenure/release", &[("lid", id), ("mode", mode)], &[]).await;
            assert_eq!((page.is(204).html.as_str(), page.headers.get("location")), ("", None));
        }
    }
    let mut answers = Vec::new();
    for id in [lid, &unknown] {
        let leave = [("csrf", csrf.as_str()), ("lid", id)];
        let left = lee.post("/orders/2026-000299/leave", &leave, &[]).await;
        let stolen = Form { action: "/orders/2026-000299/x".into(), ..edit.clone() };
        let (status, told) =
            lee.beat("edit", &stolen.with("csrf", &csrf).with("person", "lee").with("lid", id), "keep").await;
        answers.push((left.status, left.text(), status, told.to_string()));
    }
    assert_eq!(answers[0], answers[1]);
    assert!(!answers[0].3.contains("김민지") && !answers[0].1.contains(ORDER), "{answers:?}");
    assert_eq!(server.held().await, [("minji".into(), 1)]);
    minji.submit(edit).await.is(200);
}
