//! A database that cannot be written, lost permissions, a session that is only read.

use std::time::Duration;

use shop::domain::{Order, OrderNo};
use shop::seed::DEMO_PASSWORD;
use tenure::{LockMode, Repository, Wait};

use super::support::{Browser, ORDER, Server};

const SHIPPING: &str = "/orders/2026-000300/shipping";
const SAVE: &str = "/orders/2026-000300/edit/save";

/// Another transaction writes, and does not finish: no other write succeeds.
async fn write_locked(server: &Server) -> tenure::Transaction {
    let mut tx = server.db.begin_within(Wait::Within(Duration::from_secs(5))).await.unwrap();
    let orders = Repository::<Order>::new(&server.db);
    let mode = LockMode::PessimisticForceIncrement;
    orders.find(&mut tx, &OrderNo::new(ORDER).unwrap(), mode).await.unwrap().unwrap();
    tx
}

/// How often the sign-in sessions were written, by their rows.
async fn sessions(server: &Server) -> Vec<(String, String, i64)> {
    let text = "select id, member, seen_at from sign_in order by id";
    if let Ok(pool) = server.db.postgres() {
        sqlx::query_as(text).fetch_all(pool).await.unwrap()
    } else if let Ok(pool) = server.db.mysql() {
        sqlx::query_as(text).fetch_all(pool).await.unwrap()
    } else {
        sqlx::query_as(text).fetch_all(server.db.sqlite().unwrap()).await.unwrap()
    }
}

async fn looks_around(browser: &Browser) {
    for path in ["/sign-in", "/orders", "/orders/2026-000300", SHIPPING, "/orders?lang=ko", "/orders?lang=en"] {
        browser.get(path).await.is(200);
    }
}

#[tokio::test]
async fn unwritable_database_keeps_pages_readable_and_saves_the_text() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let form = park.get(SHIPPING).await.form(SHIPPING).with("message", "문 앞에");
    let open = park.edit(ORDER).await.form(SAVE);
    park.submit(open.clone()).await.is(200);
    let stuck = write_locked(&server).await;
    looks_around(&park).await;
    server.browser().get("/sign-in").await.is(200);
    let busy = park.submit(form.clone()).await;
    assert_eq!(busy.is(503).says("문 앞에").state(), "OE-23");
    assert_eq!(busy.headers["retry-after"], "5");
    let (status, told) = park.send_by_script(&form).await;
    assert!(status == 503 && told["detail"].as_str().unwrap().contains("nothing that you typed is lost"), "{told}");
    stuck.rollback().await.unwrap();
    park.submit(busy.form(SHIPPING)).await.is(200).says("문 앞에");
}

#[tokio::test]
async fn reading_pages_writes_no_session_and_signing_in_writes_one() {
    let server = Server::start().await;
    let nobody = server.browser();
    for path in ["/sign-in", "/orders", "/nowhere"] {
        nobody.get(path).await;
    }
    assert_eq!(sessions(&server).await, []);
    let park = server.sign_in("park").await;
    let signed_in = sessions(&server).await;
    assert_eq!(signed_in.len(), 1);
    looks_around(&park).await;
    park.submit(park.get(SHIPPING).await.form(SHIPPING).with("message", "문 앞에")).await.is(200);
    looks_around(&park).await;
    assert_eq!(sessions(&server).await, signed_in);
}

#[tokio::test]
async fn losing_permission_while_editing_keeps_the_text() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let note = park.submit(park.open(ORDER).await.form("/orders/2026-000300/note/edit")).await;
    let note = note.is(200).form("/orders/2026-000300/note/save").with("text", "for operators only");
    let form = park.get(SHIPPING).await.form(SHIPPING).with("message", "typed as an operator");
    server.becomes_a_customer("park").await;
    assert_eq!(park.submit(note.clone()).await.is(403).says("for operators only").state(), "AC-11");
    assert_eq!(park.submit(form).await.is(404).says("typed as an operator").state(), "LP-18");
    assert_eq!(park.beat("note", &note, "keep").await.0, 403);
}

#[tokio::test]
async fn form_without_cookies_is_resent_with_one_button() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let form = park.get(SHIPPING).await.form(SHIPPING).with("message", "문 앞에");
    let cleared = server.sign_in("park").await;
    let refused = cleared.submit(form).await;
    assert_eq!(refused.is(403).says("문 앞에").state(), "csrf-failed");
    cleared.submit(refused.form(SHIPPING)).await.is(200).says("문 앞에");
}

#[tokio::test]
async fn form_response_can_switch_language_with_its_text() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let form = park.get(SHIPPING).await.form(SHIPPING).with("message", "문 앞에");
    let refused = server.browser().submit(form).await;
    let korean = refused.is(401).form(&format!("{SHIPPING}?lang=ko"));
    let page = server.browser().submit(korean).await;
    assert!(page.is(401).says("문 앞에").html.contains("<html lang=\"ko\""), "{}", page.html);
    assert!(page.html.contains("<h1>로그아웃되었습니다 – 주문 2026-000300</h1>"), "{}", page.html);
    // Signed in again, it still only switches the language.
    let again = server.browser();
    let signs_in = again.get("/sign-in").await.form("/sign-in").with("login", "park").with("password", DEMO_PASSWORD);
    again.submit(signs_in).await.is(200);
    let csrf = again.get(SHIPPING).await.form(SHIPPING).value("csrf").to_owned();
    let page = again.submit(refused.form(&format!("{SHIPPING}?lang=ko")).with("csrf", &csrf)).await;
    assert_eq!(page.is(200).says("문 앞에").says("언어만 바꾸었습니다").state(), "not-sent");
    assert_eq!(server.order(ORDER).await.1, 1);
    again.submit(page.form(SHIPPING)).await.is(200);
    assert_eq!(server.order(ORDER).await.0.shipping().message(), "문 앞에");
    // Also if another try would not help.
    let foreign =
        park.get(SHIPPING).await.form(SHIPPING).with("message", "문 앞에").with("version", "v1.0123456789abcdef");
    let refused = park.submit(foreign).await;
    let korean = park.submit(refused.is(400).form(&format!("{SHIPPING}?lang=ko"))).await;
    assert!(korean.is(200).says("문 앞에").html.contains("<html lang=\"ko\""), "{}", korean.html);
}

#[tokio::test]
async fn language_switch_on_a_refused_command_does_nothing_else() {
    let server = Server::start().await;
    let before = server.sign_in("park").await;
    let (order, locks) = (before.open(ORDER).await, "/locks/break");
    before.edit("2026-000290").await;
    let end = before.get("/locks").await.form(locks).with("reason", "urgent");
    let commands = ["start-shipping", "cancel"].map(|command| order.form(&format!("/orders/{ORDER}/{command}")));
    // Another session of the same person, as after all cookies were deleted.
    let park = server.sign_in("park").await;
    for command in commands.into_iter().chain([end]) {
        let switch = format!("{}?lang=ko", command.action);
        let refused = park.submit(command).await;
        assert_eq!(refused.is(403).state(), "csrf-failed");
        assert_eq!(park.submit(refused.form(&switch)).await.is(200).says("언어만 바꾸었").state(), "not-sent");
        park.get("/orders?lang=en").await.is(200);
    }
    assert_eq!((server.order(ORDER).await.1, server.held().await.len()), (1, 1));
}

#[tokio::test]
async fn command_of_a_session_that_has_ended_speaks_of_no_text() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let command = park.open(ORDER).await.form(&format!("/orders/{ORDER}/cancel"));
    let page = server.browser().submit(command).await;
    assert_eq!(page.is(401).says("nothing was done").state(), "OE-13");
    assert!(
        !page.text().contains("typed") && page.html.contains("/sign-in?next=%2Forders%2F2026-000300"),
        "{}",
        page.html
    );
    assert_eq!(server.order(ORDER).await.1, 1);
}
