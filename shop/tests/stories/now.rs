//! The light question of a visible page: it shows each change at once, and keeps nothing alive.

use std::time::Duration;

use serde_json::Value;

use super::support::{Browser, ORDER, Server, TTL, order_path, token};

const NOW: &str = "/orders/2026-000300/now";
const NOTE_NOW: &str = "/orders/2026-000300/note/now";

/// Asks, and returns the status, the tag and the body.
async fn asks(browser: &Browser, path: &str, seen: &str) -> (u16, String, Value) {
    let page = browser.get_with(path, &[("if-none-match", seen)]).await;
    let tag = page.headers.get("etag").map_or("", |tag| tag.to_str().unwrap()).to_owned();
    (page.status.as_u16(), tag, serde_json::from_str(&page.html).unwrap_or_default())
}

#[tokio::test]
async fn question_is_304_until_somebody_edits_saves_or_ships() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let (status, tag, told) = asks(&minji, NOW, "").await;
    assert_eq!((status, &told["version"], &told["state"]), (200, &token(ORDER, 1).into(), &"Preparing".into()));
    assert_eq!(asks(&minji, NOW, &tag).await, (304, tag.clone(), Value::Null));

    let form = park.edit(ORDER).await.form("/orders/2026-000300/edit/save");
    let (status, held, told) = asks(&minji, NOW, &tag).await;
    assert_eq!(
        (status, &told["holders"][0]["name"], &told["holders"][0]["is_me"]),
        (200, &"박서연".into(), &false.into())
    );
    park.beat("edit", &form, "keep").await;
    assert_eq!(asks(&minji, NOW, &held).await.0, 304);

    park.submit(form.with("message", "문 앞에")).await.is(200);
    let (status, saved, told) = asks(&minji, NOW, &held).await;
    assert_eq!((status, &told["version"], &told["holders"]), (200, &token(ORDER, 2).into(), &Value::Array(vec![])));

    let start = format!("{}/start-shipping", order_path(ORDER));
    park.submit(park.open(ORDER).await.form(&start)).await.is(200);
    let (status, _, told) = asks(&minji, NOW, &saved).await;
    assert_eq!((status, &told["state"]), (200, &"Shipped".into()));
}

#[tokio::test]
async fn note_form_watches_the_note() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let before = asks(&park, NOTE_NOW, "").await;
    let opened = olivia.submit(olivia.open(ORDER).await.form("/orders/2026-000300/note/edit")).await;
    let held = asks(&park, NOTE_NOW, &before.1).await;
    assert_eq!((held.0, held.2["holders"].as_array().unwrap().len()), (200, 1));
    olivia.submit(opened.form("/orders/2026-000300/note/save").with("text", "called")).await.is(200);
    let saved = asks(&park, NOTE_NOW, &held.1).await;
    assert_eq!(saved.0, 200);
    assert_ne!(saved.2["version"], before.2["version"]);
    // Another order's note is another subject.
    assert_eq!(asks(&park, NOTE_NOW, &saved.1).await.0, 304);
}

#[tokio::test]
async fn only_who_may_see_the_order_is_answered() {
    let server = Server::start().await;
    let (lee, minji) = (server.sign_in("lee").await, server.sign_in("minji").await);
    let tag = asks(&minji, NOW, "").await.1;
    for (browser, path, status, code) in [
        (&server.browser(), NOW, 401, "session-expired"),
        (&server.browser(), NOTE_NOW, 401, "session-expired"),
        (&lee, NOW, 404, "not-found"),
        (&lee, "/orders/2026-009999/now", 404, "not-found"),
        (&lee, "/orders/%0a/now", 404, "not-found"),
        (&minji, NOTE_NOW, 403, "forbidden"),
    ] {
        let page = browser.get_with(path, &[("if-none-match", &tag)]).await;
        assert_eq!(page.headers["content-type"], "application/problem+json", "{path}");
        let problem: Value = serde_json::from_str(&page.html).unwrap();
        assert_eq!((page.status.as_u16(), &problem["code"]), (status, &code.into()), "{path}");
    }
}

#[tokio::test]
async fn question_keeps_neither_lease_nor_session_alive() {
    let clock = tenure::clock::ManualClock::new();
    let server = Server::start_as(|shop| shop.clock(clock.clone())).await;
    let minji = server.sign_in("minji").await;
    minji.edit(ORDER).await.is(200);
    let held = server.held().await;
    assert_eq!(held.len(), 1);
    server.clock.advance(TTL - Duration::from_secs(1));
    assert_eq!(asks(&minji, NOW, "").await.0, 200);
    server.clock.advance(Duration::from_secs(2));
    assert_eq!(server.held().await, []);
    // Two hours without use, though a page asked all the time.
    for _ in 0..8 {
        clock.advance(Duration::from_secs(15 * 60));
        asks(&minji, NOW, "").await;
    }
    assert_eq!(asks(&minji, NOW, "").await.0, 401);
}

#[tokio::test]
async fn every_form_says_where_its_page_asks() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let shipping = park.get("/orders/2026-000300/shipping").await;
    let edit = park.edit(ORDER).await;
    let note = park.submit(park.open(ORDER).await.form("/orders/2026-000300/note/edit")).await;
    for (page, address) in [(shipping, NOW), (edit, NOW), (note, NOTE_NOW)] {
        assert!(page.html.contains(&format!("data-now=\"{address}\"")), "{}", page.path);
    }
}
