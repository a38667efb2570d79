//! The lock tells the truth about the person: an open form without input ends, and everybody sees the last input.

use std::time::Duration;

use serde_json::Value;

use super::support::{Browser, Form, ORDER, Server};

const SAVE: &str = "/orders/2026-000300/edit/save";
const MINUTE: Duration = Duration::from_secs(60);

/// The heartbeat of a form whose person has typed nothing for this long.
async fn beats(browser: &Browser, form: &Form, idle: Duration) -> Value {
    let idle = idle.as_millis().to_string();
    let names = ["csrf", "person", "form_id", "lid", "version"];
    let mut fields: Vec<_> = names.iter().map(|name| (*name, form.value(name))).collect();
    fields.extend([("want", "keep"), ("idle_ms", idle.as_str())]);
    let page = browser.post("/orders/2026-000300/beat?form=edit", &fields, &[]).await;
    serde_json::from_str(&page.is(200).html).unwrap()
}

/// Nobody types for this many minutes; the form sends its heartbeats.
async fn leaves_it_open(server: &Server, browser: &Browser, form: &Form, minutes: u32) -> Value {
    let mut told = Value::Null;
    for minute in 1..=minutes {
        server.clock.advance(MINUTE);
        told = beats(browser, form, minute * MINUTE).await;
    }
    told
}

#[tokio::test]
async fn open_form_without_input_frees_the_order_after_15_minutes() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let page = minji.edit(ORDER).await;
    assert!(page.html.contains("data-idle-in-ms=\"900000\""), "{}", page.html);
    let form = page.form(SAVE).with("message", "after the meeting");
    let told = leaves_it_open(&server, &minji, &form, 13).await;
    assert_eq!((&told["mode"], &told["idle_in_ms"]), (&"held".into(), &120_000.into()));
    park.edit(ORDER).await.is(423);
    server.clock.advance(2 * MINUTE);
    park.edit(ORDER).await.is(200);
    let told = beats(&minji, &form, 15 * MINUTE).await;
    let said = told["said"].as_str().unwrap();
    assert_eq!((&told["mode"], &told["state"]), (&"lost".into(), &"OE-9".into()));
    assert!(said.contains("nothing had been typed for 15 minutes") && said.contains("Somebody at the shop"), "{said}");
}

#[tokio::test]
async fn any_key_within_the_warning_keeps_the_order() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.edit(ORDER).await.form(SAVE);
    leaves_it_open(&server, &minji, &form, 14).await;
    let told = beats(&minji, &form, Duration::ZERO).await;
    // The key came before its heartbeat.
    assert_eq!((&told["mode"], &told["idle_in_ms"]), (&"held".into(), &899_999.into()));
    server.clock.advance(2 * MINUTE);
    assert_eq!(server.held().await, [("minji".into(), 1)]);
}

#[tokio::test]
async fn person_who_returns_to_a_free_order_goes_on_with_the_next_key() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.edit(ORDER).await.form(SAVE).with("message", "after lunch");
    leaves_it_open(&server, &minji, &form, 14).await;
    server.clock.advance(MINUTE);
    // Nobody is there, so the order stays free; the form is still saved by its version.
    let told = beats(&minji, &form, 15 * MINUTE).await;
    assert_eq!((&told["mode"], &told["state"], &told["expires_in_ms"]), (&"free".into(), &"OE-7".into(), &Value::Null));
    assert!(told["said"].as_str().unwrap().contains("go on typing"), "{told}");
    assert_eq!(server.held().await, []);
    for want in ["keep", "take"] {
        let (_, told) = minji.beat("edit", &form, want).await;
        assert_eq!((&told["mode"], server.held().await), (&"held".into(), vec![("minji".into(), 1)]), "{want}");
        leaves_it_open(&server, &minji, &form, 14).await;
        server.clock.advance(MINUTE);
    }
    minji.submit(form).await.is(200).says("after lunch");
}

#[tokio::test]
async fn waiting_page_and_console_show_the_last_input_and_a_true_end() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.edit(ORDER).await.form(SAVE);
    leaves_it_open(&server, &minji, &form, 10).await;
    let waits = park.edit(ORDER).await;
    waits.is(423).says("Without another, the order is free at");
    assert_eq!((waits.state().as_str(), &waits.headers["retry-after"]), ("LP-2", &"300".parse().unwrap()));
    park.get("/locks").await.says("no input since");
    // The heartbeats stop: then it ends with its time to live.
    server.clock.advance(3 * MINUTE);
    let waits = park.get(&waits.path).await;
    waits.says("The form does not answer");
    assert_eq!((waits.state().as_str(), &waits.headers["retry-after"]), ("LP-3", &"120".parse().unwrap()));
    server.clock.advance(2 * MINUTE);
    park.edit(ORDER).await.is(200);
}

#[tokio::test]
async fn form_that_is_kept_by_hand_is_free_when_its_own_page_says() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.edit(ORDER).await.form(SAVE).with("keep", "1");
    server.clock.advance(4 * MINUTE);
    minji.submit(Form { action: format!("/orders/{ORDER}/edit"), ..form }).await.is(200);
    assert_eq!(park.edit(ORDER).await.is(423).headers["retry-after"], "300");
    server.clock.advance(5 * MINUTE);
    park.edit(ORDER).await.is(200);
}
