//! The light question of a visible page: it shows each change at once, and keeps nothing alive.

use std::time::Duration;

use serde_json::Value;

use shop::domain::{Member, MemberId, Role};
use tenure::LockManager;

use super::support::{Browser, Form, ORDER, Server, TTL, order_path, token};

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
        (200, &"Somebody at the shop".into(), &false.into())
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

const LIST: &str = "/now/orders?o=1.2026-000300&o=1.2026-009999&o=1.2026-000299&o=x";
const PAGE: &str = "/orders/2026-000300/now?page=order&v=1";

#[tokio::test]
async fn a_list_is_told_who_edits_who_saved_and_what_is_free() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let (_, free, told) = asks(&olivia, LIST, "").await;
    assert_eq!(told["slots"]["row 0"], "");
    assert!(told["slots"]["row 1"].as_str().unwrap().contains("OL-9"), "there is no such order: {told}");
    assert_eq!((&told["slots"]["row 3"], &told["slots"]["row 2"]), (&Value::Null, &"".into()));
    let form = park.edit(ORDER).await.form("/orders/2026-000300/edit/save");
    let (status, held, told) = asks(&olivia, LIST, &free).await;
    let row = told["slots"]["row 0"].as_str().unwrap();
    assert!(status == 200 && row.contains("OL-2") && row.contains("박서연</bdi> has been editing since"), "{row}");
    assert!(asks(&park, LIST, "").await.2["slots"]["row 0"].as_str().unwrap().contains("OL-4"));
    assert_eq!(asks(&olivia, LIST, &held).await.0, 304);
    server.clock.advance(Duration::from_secs(151));
    let row = asks(&olivia, LIST, &held).await.2["slots"]["row 0"].as_str().unwrap().to_owned();
    assert!(row.contains("OL-6") && row.contains("No sign of"), "{row}");
    park.submit(form.with("message", "문 앞에")).await.is(200);
    let row = asks(&olivia, LIST, "").await.2["slots"]["row 0"].as_str().unwrap().to_owned();
    assert!(row.contains("OL-8") && row.contains("박서연</bdi> saved version 2: Order edited"), "{row}");
    let row = asks(&olivia, &LIST.replace("1.2026-000300", "2.2026-000300"), "").await.2["slots"]["row 0"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(row.contains("OL-7") && row.contains("Free now"), "{row}");
    park.edit(ORDER).await;
    let row = asks(&olivia, LIST, "").await.2["slots"]["row 0"].as_str().unwrap().to_owned();
    assert!(row.contains("OL-2") && row.contains("Show"), "somebody edits what the row does not show yet: {row}");
}

#[tokio::test]
async fn list_of_what_is_edited_is_told_what_it_does_not_show() {
    let server = Server::start().await;
    let (park, minji, lee) = (server.sign_in("park").await, server.sign_in("minji").await, server.sign_in("lee").await);
    let changed = async |person: &Browser, asked: &str| {
        let told = asks(person, &format!("/now/orders?{asked}"), "").await.2;
        let slot = if asked.contains("o=") { "changed" } else { "none" };
        told["slots"][slot].as_str().unwrap_or("-").to_owned()
    };
    // The list asks also while it is empty.
    park.get("/orders?only=edited").await.is(200).says("Nobody is editing an order");
    assert!(park.get("/orders?only=edited").await.html.contains("/now/orders?only=edited"));
    assert_eq!(changed(&park, "only=edited").await, "<p>Nobody is editing an order.</p>");
    minji.edit(ORDER).await.is(200);
    for (person, asked, told) in [
        (&park, "only=edited", "One more was opened."),
        (&park, "o=1.2026-000300&only=edited", ""),
        (&park, "o=1.2026-000300&o=1.2026-000299&only=edited", "Some of these are not edited any more."),
        (&park, "o=1.2026-000300&only=mine", "Some of these are not edited any more."),
        (&park, "only=mine", "You are not editing any order."),
        (&minji, "only=mine", "One more was opened."),
        (&lee, "only=edited", "Nobody is editing an order."),
        (&park, "o=1.2026-000299", "-"),
        (&park, "only=drafts", "-"),
    ] {
        let said = changed(person, asked).await;
        assert!(if told.len() > 1 { said.contains(told) } else { said == told }, "{asked}: {said}");
    }
}

#[tokio::test]
async fn operators_are_told_that_the_note_was_saved() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let note = async |shown: &str| {
        asks(&park, &format!("{PAGE}&note={shown}"), "").await.2["slots"]["note"].as_str().unwrap().to_owned()
    };
    assert_eq!(note("1").await, "");
    assert!(note("2").await.contains("The note was changed meanwhile"));
}

#[tokio::test]
async fn an_idle_editor_is_said_to_be_idle_everywhere() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.edit(ORDER).await.form("/orders/2026-000300/edit/save");
    server.clock.advance(Duration::from_secs(301) - TTL / 2);
    minji.post("/orders/2026-000300/beat?form=edit", &beat_of(&form, "151000"), &[]).await.is(200);
    server.clock.advance(TTL / 2);
    minji.post("/orders/2026-000300/beat?form=edit", &beat_of(&form, "301000"), &[]).await.is(200);
    let row = asks(&park, LIST, "").await.2["slots"]["row 0"].as_str().unwrap().to_owned();
    assert!(row.contains("OL-5") && row.contains("no input since"), "{row}");
    let told = asks(&park, PAGE, "").await.2;
    assert!(told["page"]["state"] == "OV-2" && told["slots"]["line"].as_str().unwrap().contains("held idle"), "{told}");
    let told = asks(&park, "/orders/2026-000300/now?page=open-edit&v=1", "").await.2;
    assert_eq!(told["page"]["state"], "LP-2");
    let told = asks(&park, "/now/locks?l=1.Order.2026-000300", "").await.2;
    assert!(told["slots"]["who 0"].as_str().unwrap().contains("no input since"), "{told}");
}

/// The heartbeat of a form whose person has typed nothing for this long.
fn beat_of<'f>(form: &'f Form, idle_ms: &'f str) -> Vec<(&'static str, &'f str)> {
    let names = ["csrf", "person", "form_id", "lid", "version"];
    let fields = names.into_iter().map(|name| (name, form.value(name)));
    fields.chain([("want", "keep"), ("idle_ms", idle_ms)]).collect()
}

#[tokio::test]
async fn an_open_order_is_told_who_looks_who_edits_and_what_was_saved() {
    let server = Server::start().await;
    let (minji, park, olivia) =
        (server.sign_in("minji").await, server.sign_in("park").await, server.sign_in("olivia").await);
    let slot = |told: &Value, name: &str| told["slots"][name].as_str().unwrap().to_owned();
    let (_, tag, told) = asks(&park, PAGE, "").await;
    assert_eq!(
        (&told["page"]["state"], slot(&told, "people"), slot(&told, "changed")),
        (&"OV-1".into(), "".into(), "".into())
    );
    asks(&minji, PAGE, "").await;
    let (status, _, told) = asks(&park, PAGE, &tag).await;
    assert!(status == 200 && slot(&told, "people").contains("김민지</bdi> is looking"), "{told}");
    // A customer sees that somebody of the shop looks, once, and no names.
    asks(&olivia, PAGE, "").await;
    let people = slot(&asks(&minji, PAGE, "").await.2, "people");
    assert!(people.contains("Somebody at the shop") && !people.contains("박서연"), "{people}");
    assert!(slot(&asks(&park, PAGE, "").await.2, "people").contains("are looking"));
    let form = minji.edit(ORDER).await.form("/orders/2026-000300/edit/save");
    let told = asks(&park, PAGE, "").await.2;
    assert!(told["page"]["state"] == "OV-2" && slot(&told, "line").contains("김민지"), "{told}");
    assert_eq!(asks(&minji, PAGE, "").await.2["page"]["state"], "OV-3");
    minji.submit(form.with("message", "문 앞에")).await.is(200);
    let told = asks(&park, PAGE, "").await.2;
    assert!(told["page"]["state"] == "OV-5" && slot(&told, "changed").contains("saved version 2"), "{told}");
}

#[tokio::test]
async fn who_waits_is_told_that_it_is_free_changed_or_shipped() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.edit(ORDER).await.form("/orders/2026-000300/edit/save");
    let waits = park.edit(ORDER).await;
    assert_eq!(waits.state(), "LP-1");
    let ask = waits.html.split("data-now=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
    let told = asks(&park, &ask, "").await.2;
    assert_eq!(told["page"], serde_json::json!({ "state": "LP-1" }), "{ask}");
    minji.submit(form.with("message", "문 앞에")).await.is(200);
    let told = asks(&park, &ask, "").await.2;
    assert_eq!(told["page"], serde_json::json!({ "state": "LP-6", "title": "Order 2026-000300 is free" }));
    assert!(told["slots"]["changed"].as_str().unwrap().contains("saved version 2"), "{told}");
    assert_eq!(told["slots"]["again"], "Edit now");
    let start = format!("{}/start-shipping", order_path(ORDER));
    park.submit(park.open(ORDER).await.form(&start)).await.is(200);
    assert_eq!(asks(&park, &ask, "").await.2["page"]["state"], "LP-14");
}

#[tokio::test]
async fn save_that_waits_is_told_that_it_can_be_sent_again() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let shipping = "/orders/2026-000300/shipping";
    let hers = minji.edit(ORDER).await.form("/orders/2026-000300/leave");
    let his = park.get(shipping).await.form(shipping).with("message", "His");
    let waits = park.submit(his).await;
    waits.is(423).says("Nothing was saved").says("[Try again] sends it again");
    let ask = waits.html.split("data-now=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
    minji.submit(hers).await.is(200);
    let told = asks(&park, &ask, "").await.2;
    assert_eq!(told["page"]["title"], "Order 2026-000300: you can save now");
    assert!(told["slots"]["who"].as_str().unwrap().contains("[Try again] saves what you typed"), "{told}");
    assert_eq!(told["slots"]["again"], "Try again");
}

#[tokio::test]
async fn empty_console_is_told_what_is_opened_and_speaks_of_its_filter() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    park.get("/locks").await.is(200).says("Nobody is editing.");
    assert!(asks(&park, "/now/locks?", "").await.2["slots"]["none"].to_string().contains("Nobody is editing."));
    minji.edit(ORDER).await.is(200);
    let told = asks(&park, "/now/locks?", "").await.2;
    assert!(told["slots"]["none"].to_string().contains("One more was opened"), "{told}");
    assert_eq!(told["slots"]["changed"], Value::Null);
    let notes = park.get("/locks?type=Note").await;
    notes.is(200).says("Nobody has a note open.");
    assert!(!notes.text().contains("Nobody is editing"), "{}", notes.text());
    let told = asks(&park, "/now/locks?type=Note", "").await.2;
    assert!(told["slots"]["none"].to_string().contains("Nobody has a note open."), "{told}");
}

#[tokio::test]
async fn command_that_an_editor_refused_has_a_plain_button_once_nobody_edits() {
    for (action, says, label) in [
        ("start-shipping", "You can try again now", "Start shipping"),
        ("cancel", "can be cancelled", "Cancel the order"),
    ] {
        let server = Server::start().await;
        let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
        let form = minji.edit(ORDER).await.form("/orders/2026-000300/edit/save");
        let command = format!("{}/{action}", order_path(ORDER));
        let waits = park.submit(park.open(ORDER).await.form(&command)).await;
        let ask =
            waits.is(423).html.split("data-now=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
        let slot = |told: &Value, name: &str| told["slots"][name].as_str().unwrap().to_owned();
        let button = |told: &Value| slot(told, "command");
        let told = asks(&park, &ask, "").await.2;
        assert!(button(&told).contains("anyway") && button(&told).contains("김민지"), "{told}");
        minji.submit(form.with("message", "문 앞에")).await.is(200);
        let told = asks(&park, &ask, "").await.2;
        assert!(slot(&told, "who").contains(says), "{told}");
        assert_eq!(button(&told), format!("<button><span>{label}</span></button>"));
        park.submit(park.open(ORDER).await.form(&command)).await.is(200);
        assert_eq!(button(&asks(&park, &ask, "").await.2), "");
    }
}

#[tokio::test]
async fn the_console_is_told_what_ended_and_what_began() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.edit(ORDER).await.form("/orders/2026-000300/edit/save");
    let asked = "/now/locks?l=1.Order.2026-000300";
    let told = asks(&park, asked, "").await.2;
    assert!(told["slots"]["who 0"].as_str().unwrap().contains("last input"), "{told}");
    park.submit(park.open(ORDER).await.form("/orders/2026-000300/note/edit")).await.is(200);
    let told = asks(&park, asked, "").await.2;
    assert!(told["slots"]["changed"].as_str().unwrap().contains("One more was opened"));
    assert_eq!(told["slots"]["count"], "2 locks");
    minji.submit(form.with("message", "문 앞에")).await.is(200);
    let told = asks(&park, asked, "").await.2;
    assert!(told["slots"]["who 0"].as_str().unwrap().contains("Ended"));
    assert_eq!(told["slots"]["count"], "1 lock");
    assert_eq!(asks(&park, &format!("{asked}&part="), "").await.2["slots"]["count"], "0 on this page");
}

#[tokio::test]
async fn nothing_leaks_about_orders_of_others() {
    let server = Server::start().await;
    let (lee, park) = (server.sign_in("lee").await, server.sign_in("park").await);
    park.edit(ORDER).await.is(200);
    let told = asks(&lee, LIST, "").await.2;
    assert_eq!(told["slots"]["row 0"], told["slots"]["row 1"], "as an order that is not there");
    let page = lee.get(PAGE).await;
    assert_eq!(page.status.as_u16(), 404);
    assert!(page.html.contains("not for you to see") && !page.html.contains("박서연"), "{}", page.html);
    let page = lee.get("/now/locks?l=1.Order.2026-000300").await;
    assert!(page.status == 403 && !page.html.contains("박서연"), "{}", page.html);
}

#[tokio::test]
async fn a_name_of_200_characters_in_any_script_is_whole_and_escaped() {
    let server = Server::start().await;
    let name = "<ب>".repeat(33);
    for id in ["long", "long2"] {
        let member = Member::new(MemberId::new(id).unwrap(), &*name, Role::Operator, "hash").unwrap();
        let key = tenure::LockKey::new("Order", if id == "long" { ORDER } else { "2026-000299" });
        LockManager::new(&server.db).try_lock(&key, &member.owner()).await.unwrap();
    }
    let row = asks(&server.sign_in("park").await, LIST, "").await.2["slots"]["row 0"].as_str().unwrap().to_owned();
    assert!(row.contains(&name.replace('<', "&lt;").replace('>', "&gt;")) && !row.contains("<ب"), "{row}");
    assert!(row.contains(">ب</span>"), "the initial: {row}");
}

#[tokio::test]
async fn a_session_that_was_ended_elsewhere_is_noticed_by_the_next_look() {
    let server = Server::start().await;
    let (here, there) = (server.sign_in("minji").await, server.sign_in("minji").await);
    let tag = asks(&here, NOW, "").await.1;
    assert_eq!(asks(&here, NOW, &tag).await.0, 304);
    there.submit(there.get("/account").await.form("/account/sign-out-everywhere")).await;
    assert_eq!(asks(&here, NOW, &tag).await.0, 401);
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

#[tokio::test]
async fn who_leaves_a_page_does_not_look_any_more_and_comes_back_by_asking() {
    let clock = tenure::clock::ManualClock::new();
    let server = Server::start_as(|shop| shop.clock(clock.clone())).await;
    let (minji, park, lee) = (server.sign_in("minji").await, server.sign_in("park").await, server.sign_in("lee").await);
    let looks = async || asks(&park, PAGE, "").await.2["slots"]["people"].as_str().unwrap().contains("김민지");
    let page = minji.open(ORDER).await;
    let left = page.html.split("data-left=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let csrf = page.form("/sign-out").value("csrf").to_owned();
    asks(&minji, PAGE, "").await;
    // Neither another site, nor a page of another session, nor another person.
    let from_elsewhere = [("sec-fetch-site", "cross-site")];
    assert_eq!(minji.post(&left, &[("csrf", &csrf)], &from_elsewhere).await.status, 403);
    assert_eq!(minji.post(&left, &[("csrf", "guessed")], &[]).await.status, 403);
    assert_eq!(
        lee.post(&left, &[("csrf", lee.get("/orders").await.form("/sign-out").value("csrf"))], &[]).await.status,
        204
    );
    clock.advance(Duration::from_secs(3));
    assert!(looks().await);
    assert_eq!(minji.post(&left, &[("csrf", &csrf)], &[]).await.status, 204);
    assert!(looks().await, "a reload comes within this time");
    clock.advance(Duration::from_secs(2));
    assert!(!looks().await);
    asks(&minji, PAGE, "").await;
    assert!(looks().await);
}

#[tokio::test]
async fn leaving_ends_no_lease_and_is_no_use_of_the_session() {
    let clock = tenure::clock::ManualClock::new();
    let server = Server::start_as(|shop| shop.clock(clock.clone())).await;
    let minji = server.sign_in("minji").await;
    let form = minji.edit(ORDER).await.form("/orders/2026-000300/edit/save");
    let left = async || minji.post("/orders/2026-000300/left", &[("csrf", form.value("csrf"))], &[]).await.status;
    assert_eq!(left().await, 204);
    assert_eq!(server.held().await.len(), 1);
    for _ in 0..8 {
        clock.advance(Duration::from_secs(15 * 60));
        left().await;
    }
    assert_eq!(left().await, 401);
}

#[tokio::test]
async fn ones_own_page_that_does_not_answer_is_nobody_who_edits() {
    let server = Server::start().await;
    for (language, silent, go_on) in [("en", "not answered since", "go on here"), ("ko", "응답 없음", "여기서 이어서")]
    {
        let minji = server.sign_in("minji").await;
        minji.get(&format!("/orders?lang={language}")).await.is(200);
        minji.edit(ORDER).await.is(200);
        let list = asks(&minji, LIST, "").await.2["slots"]["row 0"].as_str().unwrap().to_owned();
        assert!(list.contains("OL-4") && list.contains("held mine"), "{list}");
        server.clock.advance(Duration::from_secs(151));
        let list = asks(&minji, LIST, "").await.2["slots"]["row 0"].as_str().unwrap().to_owned();
        assert!(list.contains("OL-4") && list.contains("held silent") && list.contains(silent), "{list}");
        let order = minji.open(ORDER).await;
        order.says(silent).says(go_on);
        assert!(order.has_form("/orders/2026-000300/edit/move-here"));
        let waits = minji.edit(ORDER).await;
        assert_eq!(waits.state(), "LP-16");
        waits.says(go_on);
        let shipping = minji.get("/orders/2026-000300/shipping").await;
        shipping.says(go_on);
        for page in [order, waits, shipping] {
            assert!(
                !page.text().contains("You have been editing") && !page.text().contains("부터 다른 탭"),
                "{}",
                page.text()
            );
        }
        server.clock.advance(TTL);
    }
}

#[tokio::test]
async fn customers_see_the_staff_as_one_wherever_somebody_works_or_looks() {
    let server = Server::start().await;
    let (minji, park, olivia) =
        (server.sign_in("minji").await, server.sign_in("park").await, server.sign_in("olivia").await);
    park.edit(ORDER).await.is(200);
    asks(&park, PAGE, "").await;
    let beat = async |browser: &Browser| {
        let form = browser.get("/orders/2026-000300/shipping").await.form("/orders/2026-000300/shipping");
        browser.beat("shipping", &form, "take").await.1.to_string()
    };
    let told = async |browser: &Browser, path: &str| asks(browser, path, "").await.2.to_string();
    let of_a_page = async |browser: &Browser| {
        let waits = browser.edit(ORDER).await;
        let ask = waits.html.split("data-now=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
        [told(browser, LIST).await, told(browser, PAGE).await, told(browser, NOW).await, told(browser, &ask).await]
            .into_iter()
            .chain([browser.open(ORDER).await.html, browser.get("/orders").await.html, waits.html, beat(browser).await])
            .collect::<Vec<_>>()
    };
    for (at, page) in of_a_page(&minji).await.iter().enumerate() {
        assert!(page.contains("Somebody at the shop") && !page.contains("박서연"), "{at}: {page}");
    }
    for (at, page) in of_a_page(&olivia).await.iter().enumerate() {
        assert!(page.contains("박서연") && !page.contains("Somebody at the shop"), "{at}: {page}");
    }
    // Who edits does not look as well.
    assert_eq!(
        asks(&minji, PAGE, "").await.2["slots"]["people"].as_str().unwrap().matches("class=\"face").count(),
        1,
        "olivia"
    );
}

#[tokio::test]
async fn script_is_answered_in_the_language_of_its_page() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    minji.get("/orders?lang=ko").await.is(200);
    let is_korean = |page: &str| page.chars().any(|letter| ('가'..='힣').contains(&letter));
    for (language, korean) in [("en", false), ("ko", true), ("de", true)] {
        let headers = [("accept", "application/json"), ("accept-language", language)];
        let told = minji.get_with("/orders/2026-999999/now", &headers).await;
        assert_eq!((told.status.as_u16(), is_korean(&told.html)), (404, korean), "{}", told.html);
        let page = minji.get_with("/orders", &[("accept-language", language)]).await;
        assert!(page.html.contains("lang=\"ko\""), "a page follows the choice");
    }
}

#[tokio::test]
async fn page_of_one_person_is_answered_to_no_other() {
    let server = Server::start().await;
    let (lee, park) = (server.sign_in("lee").await, server.sign_in("park").await);
    let pages = [format!("{NOW}?page=order&v=1"), "/now/orders?o=1.2026-000300".to_owned(), "/now/locks?l=".to_owned()];
    for page in pages {
        let of = |person: &str| format!("{page}&person={person}");
        assert_eq!(asks(&park, &of("park"), "").await.0, 200, "{page}");
        assert_eq!(asks(&park, &of("lee"), "").await.0, 401, "{page}");
        assert_eq!(asks(&lee, &of("park"), "").await.0, 401, "{page}");
    }
}
