//! Invalid requests.

use super::support::{Form, ORDER, Server, order_path, token};

const SHIPPING: &str = "/orders/2026-000300/shipping";
const SAVE: &str = "/orders/2026-000300/edit/save";

#[tokio::test]
async fn unknown_and_foreign_orders_are_404() {
    let server = Server::start().await;
    let lee = server.sign_in("lee").await;
    let csrf = lee.get("/orders").await.form("/sign-out").value("csrf").to_owned();
    for no in ["2026-999999", ORDER, "' or 1=1 --", "%", "💐", &"가".repeat(255)] {
        let path = order_path(no);
        lee.get(&path).await.is(404);
        lee.get(&format!("{path}/shipping")).await.is(404);
        for action in ["cancel", "edit"] {
            let (form, seen) = ("0".repeat(32), token(ORDER, 1));
            let fields = [("csrf", csrf.as_str()), ("version", seen.as_str()), ("form_id", form.as_str())];
            lee.post(&format!("{path}/{action}"), &fields, &[]).await.is(404);
        }
    }
    assert_eq!((server.order(ORDER).await.1, server.held().await), (1, vec![]));
}

#[tokio::test]
async fn an_order_number_that_is_too_long_is_refused_by_name() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    for no in ["가".repeat(256), "x".repeat(256)] {
        let page = minji.get(&order_path(&no)).await;
        assert!(matches!(page.status.as_u16(), 400 | 404), "{}", page.status);
        page.says("255");
    }
}

#[tokio::test]
async fn order_numbers_of_any_script_work_everywhere() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let longest = "나".repeat(255);
    for no in ["주문-1", "💐🎁", "it's", "\"quoted\"", "100%", "a/b?c#d&e=f", "<b>bold</b>", " a", &longest] {
        server.place(no).await;
        let path = order_path(no);
        let opened = minji.open(no).await;
        opened.is(200);
        let edit = opened.form(&format!("{path}/edit"));
        let form = minji.submit(edit).await.is(200).form(&format!("{path}/edit/save")).with("message", no);
        minji.submit(form).await.is(200);
        let (order, version) = server.order(no).await;
        assert_eq!((order.shipping().message(), version), (no.trim(), 2));
        assert!(!minji.open(no).await.html.contains("<b>bold"));
    }
    assert_eq!(server.held().await, []);
}

#[tokio::test]
async fn missing_or_invalid_version_is_refused() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("message", "typed");
    minji.submit(form.clone().without("version")).await.is(400);
    for version in ["", "0", "1", "v1", "v-1.0000000000000000", "seven", "1; drop table orders"] {
        let refused = minji.submit(form.clone().with("version", version)).await;
        refused.is(400).says("version").says("typed");
    }
    // 0 is a version, but this one is not of the order.
    minji.submit(form.clone().with("version", "v0.0000000000000000")).await.is(400).says("another order").says("typed");
    let cancel = minji.open(ORDER).await.form("/orders/2026-000300/cancel");
    minji.submit(cancel.clone().without("version")).await.is(400);
    minji.submit(cancel.with("version", "-7")).await.is(400);
    // A version that never existed is as stale as a past one.
    minji.submit(form.with("version", &token(ORDER, 9))).await.is(409).says("typed");
    assert_eq!(server.order(ORDER).await.1, 1);
}

#[tokio::test]
async fn version_of_another_order_is_refused_and_keeps_the_text() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let foreign = token("2026-000299", 1);
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("message", "typed");
    let refused = minji.submit(form.with("version", &foreign)).await;
    refused.is(400).says("another order").says(ORDER).says("typed");
    let edit = minji.edit(ORDER).await;
    let save = edit.form(SAVE).with("message", "typed").with("version", &foreign);
    minji.submit(save.clone()).await.is(400).says("another order").says("typed");
    // Nor does a form with mistakes, or restored text, compare itself with another order.
    minji.submit(save.with("quantity-1", "many")).await.is(400).says("another order").says("typed");
    let reopen = edit.form(SAVE).with("message", "typed").with("version", &foreign);
    let reopen = Form { action: format!("{}/edit", order_path(ORDER)), ..reopen };
    minji.submit(reopen.clone()).await.is(400).says("another order").says("typed");
    minji.submit(reopen.without("version")).await.is(400).says("typed");
    minji.submit(edit.form("/orders/2026-000300/leave")).await.is(200);
    for action in ["start-shipping", "cancel"] {
        let command = park.open(ORDER).await.form(&format!("{}/{action}", order_path(ORDER)));
        park.submit(command.with("version", &foreign)).await.is(400).says("another order");
    }
    assert_eq!((server.order(ORDER).await.1, server.held().await), (1, vec![]));
}

#[tokio::test]
async fn note_needs_its_own_version_not_the_orders() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let (open, save) = ("/orders/2026-000300/note/edit", "/orders/2026-000300/note/save");
    let form = park.submit(park.open(ORDER).await.form(open)).await.form(save).with("text", "typed");
    park.submit(form.clone().with("version", &token(ORDER, 1))).await.is(400).says("another order").says("typed");
    park.submit(form.clone().without("version")).await.is(400).says("typed");
    let reopen = Form { action: open.into(), ..form.clone() };
    park.submit(reopen.without("version")).await.is(400).says("typed");
    park.submit(form.clone().with("version", "none")).await.is(409).says("typed");
    park.submit(form).await.is(200).says("typed");
}

#[tokio::test]
async fn missing_unknown_or_foreign_lock_id_saves_nothing() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.edit(ORDER).await.form(SAVE).with("message", "typed");
    let foreign = park.submit(park.open("2026-000299").await.form("/orders/2026-000299/edit")).await;
    let foreign = foreign.form("/orders/2026-000299/edit/save").value("lid").to_owned();
    for wrong in [&"0".repeat(64), &foreign] {
        // Her own form still has its lease: the page offers to save it under that one.
        let page = minji.submit(form.clone().with("lid", wrong)).await;
        assert_eq!((page.is(200).says("typed").state().as_str(), server.order(ORDER).await.1), ("LP-6", 1));
    }
    for malformed in ["", "x", "가나다"] {
        let page = minji.submit(form.clone().with("lid", malformed)).await;
        assert!(matches!(page.status.as_u16(), 400 | 410), "{}", page.status);
    }
    for (lid, status) in [(foreign.as_str(), 200), ("0", 400), ("", 400)] {
        let (answered, told) = minji.beat("edit", &form.clone().with("lid", lid), "keep").await;
        assert_eq!((answered, told["expires_in_ms"].as_u64()), (status, None), "{told}");
    }
    assert_eq!((server.order(ORDER).await.1, server.held().await.len()), (1, 2));
    minji.submit(form).await.is(200);
}

#[tokio::test]
async fn validation_errors_are_specific_and_keep_the_text() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.get(SHIPPING).await.form(SHIPPING);
    let bad = form
        .with("receiver.name", "")
        .with("receiver.phone", "call me")
        .with("address.postal_code", "💐")
        .with("address.line1", &"가".repeat(201))
        .with("message", "it's <fine>");
    let page = minji.submit(bad).await;
    page.is(422);
    let again = page.form(SHIPPING);
    assert_eq!((again.value("receiver.phone"), again.value("message")), ("call me", "it's <fine>"));
    for field in ["receiver.name", "receiver.phone", "address.postal_code", "address.line1"] {
        assert!(page.html.contains(&format!("href=\"#{field}\"")), "no link to {field}: {}", page.html);
    }
    assert_eq!(server.order(ORDER).await.1, 1);
}

#[tokio::test]
async fn lock_id_is_never_in_a_url() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let page = minji.edit(ORDER).await;
    let form = page.form(SAVE);
    let lid = form.value("lid").to_owned();
    let saved = minji.submit(form).await;
    assert!(!page.path.contains(&lid) && !saved.path.contains(&lid));
    assert!(!page.html.contains(&format!("={lid}")) && !page.html.contains(&format!("/{lid}")));
}

#[tokio::test]
async fn a_second_run_finds_the_data_again() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/shop.db", directory.path().display());
    for run in 0..2 {
        let db = tenure::Database::connect(&url).await.unwrap();
        shop::open(db.clone(), shop::Accounts::Demo).await.unwrap();
        let orders = tenure::Repository::<shop::domain::Order>::new(&db);
        let no = shop::domain::OrderNo::new(ORDER).unwrap();
        let order = orders.update(&no).run(|order| if run == 0 { order.cancel() } else { Ok(()) }).await.unwrap();
        assert_eq!(order.version().number(), 2);
        db.close().await;
    }
}

#[tokio::test]
async fn missing_pages_are_404_and_wrong_methods_405() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    minji.get("/nowhere").await.is(404);
    minji.post("/orders", &[], &[]).await.is(405);
}
