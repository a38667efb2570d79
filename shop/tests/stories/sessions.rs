//! Sessions: they end when and where they should, and nothing restores them.

use std::time::Duration;

use reqwest::{Client, redirect};
use shop::Accounts;
use shop::domain::{Member, MemberId, Order, OrderNo};
use tenure::{LockMode, Repository, Wait, clock::ManualClock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::support::{Browser, Form, ORDER, Page, Server};

const NEW: &str = "파란 자전거 세 대가 간다";

/// A browser with the test's own cookies, so that they can be kept after sign-out.
struct Raw {
    client: Client,
    base: String,
    cookies: String,
    csrf: String,
}

impl Raw {
    async fn sign_in(server: &Server, login: &str) -> Raw {
        let client = Client::builder().redirect(redirect::Policy::none()).build().unwrap();
        let mut raw = Raw { client, base: server.base.clone(), cookies: String::new(), csrf: String::new() };
        let page = raw.get("/sign-in").await;
        raw.keep(&page);
        let form = page.form("/sign-in").with("login", login).with("password", "tenure-demo");
        let signed_in = raw.post("/sign-in", &form.fields).await;
        raw.keep(signed_in.is(303));
        raw.csrf = raw.get("/orders").await.is(200).form("/sign-out").value("csrf").to_owned();
        raw
    }

    /// Keeps the cookies of the response.
    fn keep(&mut self, page: &Page) {
        for cookie in page.headers.get_all("set-cookie") {
            let (pair, _) = cookie.to_str().unwrap().split_once(';').unwrap();
            self.cookies = format!("{pair}; {}", self.cookies);
        }
    }

    async fn get(&self, path: &str) -> Page {
        self.send(self.client.get(format!("{}{path}", self.base))).await
    }

    async fn post(&self, path: &str, fields: &[(String, String)]) -> Page {
        self.send(self.client.post(format!("{}{path}", self.base)).form(fields)).await
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Page {
        Page::of(request.header("cookie", &self.cookies).send().await.unwrap()).await
    }

    async fn sign_out(&self) -> Page {
        self.post("/sign-out", &[("csrf".into(), self.csrf.clone())]).await
    }

    async fn is_signed_in(&self) -> bool {
        self.get("/orders").await.status == 200
    }
}

async fn with_a_clock() -> (Server, ManualClock) {
    let clock = ManualClock::new();
    let own = clock.clone();
    (Server::start_as(move |shop| shop.clock(own)).await, clock)
}

async fn seen_at(server: &Server) -> Vec<i64> {
    let text = "select seen_at from sign_in order by id";
    if let Ok(pool) = server.db.postgres() {
        sqlx::query_scalar(text).fetch_all(pool).await.unwrap()
    } else if let Ok(pool) = server.db.mysql() {
        sqlx::query_scalar(text).fetch_all(pool).await.unwrap()
    } else {
        sqlx::query_scalar(text).fetch_all(server.db.sqlite().unwrap()).await.unwrap()
    }
}

#[tokio::test]
async fn loading_page_does_not_restore_a_signed_out_session() {
    let server = Server::start().await;
    for _ in 0..12 {
        let minji = std::sync::Arc::new(Raw::sign_in(&server, "minji").await);
        let tabs: Vec<_> = (0..8)
            .map(|tab| {
                let (minji, path) = (minji.clone(), if tab % 2 == 0 { "/orders" } else { "/orders?lang=ko" });
                tokio::spawn(async move { minji.get(path).await })
            })
            .collect();
        minji.sign_out().await.is(303);
        for tab in tabs {
            tab.await.unwrap();
        }
        assert!(!minji.is_signed_in().await);
    }
    assert!(seen_at(&server).await.is_empty());
}

#[tokio::test]
async fn delayed_request_does_not_sign_in_again() {
    let server = Server::start().await;
    let minji = Raw::sign_in(&server, "minji").await;
    let order = minji.get(&format!("/orders/{ORDER}")).await.form(&format!("/orders/{ORDER}/cancel"));
    let body: Vec<_> = order.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let body = body.join("&");
    let host = server.base.trim_start_matches("http://");
    let head = format!(
        "POST /orders/{ORDER}/cancel HTTP/1.1\r\nhost: {host}\r\ncookie: {}\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        minji.cookies,
        body.len()
    );
    // The request is in flight, and only its body is missing.
    let mut held = TcpStream::connect(host).await.unwrap();
    held.write_all(head.as_bytes()).await.unwrap();
    assert!(minji.is_signed_in().await);
    minji.sign_out().await.is(303);
    held.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    held.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 ") && !answer.contains("set-cookie: shop="), "{answer}");
    assert!(!minji.is_signed_in().await);
    assert!(seen_at(&server).await.is_empty());
}

#[tokio::test]
async fn a_session_ends_two_hours_after_it_was_last_used() {
    let (server, clock) = with_a_clock().await;
    let minji = Raw::sign_in(&server, "minji").await;
    for _ in 0..3 {
        clock.advance(Duration::from_secs(2 * 3600 - 1));
        assert!(minji.is_signed_in().await);
    }
    // A heartbeat shows that a page is open, and not that the person is active.
    clock.advance(Duration::from_secs(3600));
    minji.post(&format!("/orders/{ORDER}/beat?form=edit"), &[]).await.is(400);
    clock.advance(Duration::from_secs(3600));
    assert!(!minji.is_signed_in().await);
    minji.post(&format!("/orders/{ORDER}/beat?form=edit"), &[]).await.is(401);
}

#[tokio::test]
async fn session_ends_twelve_hours_after_sign_in() {
    let (server, clock) = with_a_clock().await;
    let minji = Raw::sign_in(&server, "minji").await;
    for _ in 0..11 {
        clock.advance(Duration::from_secs(3600));
        assert!(minji.is_signed_in().await);
    }
    clock.advance(Duration::from_secs(3600));
    assert!(!minji.is_signed_in().await);
}

#[tokio::test]
async fn that_a_session_is_used_is_written_once_a_minute() {
    let (server, clock) = with_a_clock().await;
    let minji = Raw::sign_in(&server, "minji").await;
    let first = seen_at(&server).await;
    clock.advance(Duration::from_secs(59));
    assert!(minji.is_signed_in().await);
    assert_eq!(seen_at(&server).await, first);
    clock.advance(Duration::from_secs(1));
    assert!(minji.is_signed_in().await);
    // It is written concurrently with the response.
    while seen_at(&server).await == first {
        tokio::task::yield_now().await;
    }
    assert_eq!(seen_at(&server).await, [first[0] + 60]);
}

#[tokio::test]
async fn session_survives_an_unwritable_database() {
    let (server, clock) = with_a_clock().await;
    let minji = Raw::sign_in(&server, "minji").await;
    let stored = seen_at(&server).await;
    let mut stuck = server.db.begin_within(Wait::Within(Duration::from_secs(5))).await.unwrap();
    let orders = Repository::<Order>::new(&server.db);
    let no = OrderNo::new(ORDER).unwrap();
    orders.find(&mut stuck, &no, LockMode::PessimisticForceIncrement).await.unwrap().unwrap();
    for _ in 0..5 {
        clock.advance(Duration::from_secs(3600));
        assert!(minji.is_signed_in().await);
    }
    // On SQLite one transaction blocks all other writers.
    if server.db.sqlite().is_ok() {
        assert_eq!(seen_at(&server).await, stored);
    }
    stuck.rollback().await.unwrap();
    assert!(minji.is_signed_in().await);
}

const CHROME: &str =
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36";

async fn sign_in_as(server: &Server, agent: &str) -> Browser {
    let browser = server.browser_that_says(agent);
    let form = browser.get("/sign-in").await.form("/sign-in").with("login", "minji").with("password", "tenure-demo");
    browser.submit(form).await.is(200);
    browser
}

/// The forms that end a session, in the order of the list.
fn ends(page: &Page) -> Vec<Form> {
    page.forms("/account/sessions/end")
}

#[tokio::test]
async fn member_sees_and_ends_their_sessions() {
    let server = Server::start().await;
    let there = sign_in_as(&server, CHROME).await;
    let here = sign_in_as(&server, "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0").await;
    let account = here.get("/account").await;
    account.is(200).says("Firefox on Linux This browser").says("Chrome on Windows");
    assert_eq!(
        account.html.matches("aria-current=\"true\"").count(),
        2,
        "the page itself and the session of this browser"
    );
    let forms = ends(&account);
    assert_eq!(forms.len(), 2);
    let (session, here_too) = (seen_id(&there).await, seen_id(&here).await);
    let other = forms.iter().find(|form| form.value("session") == session).unwrap();
    assert_eq!(here.submit(other.clone()).await.is(200).path, "/account");
    assert!(there.get("/orders").await.path.starts_with("/sign-in"));
    assert_eq!(here.get("/orders").await.path, "/orders");
    // The own one leads to the sign-in page.
    let own = ends(&here.get("/account").await);
    assert_eq!((own.len(), own[0].value("session")), (1, here_too.as_str()));
    assert_eq!(here.submit(own[0].clone()).await.is(200).path, "/sign-in");
    assert!(here.get("/orders").await.path.starts_with("/sign-in"));
}

/// The list's id of this browser's session.
async fn seen_id(browser: &Browser) -> String {
    let account = browser.get("/account").await;
    let (_, row) = account.html.split_once("<tr role=\"row\" aria-current=\"true\">").unwrap();
    let (_, value) = row.split_once("name=\"session\" value=\"").unwrap();
    value.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn signing_in_again_in_the_same_browser_leaves_one_session() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.get("/sign-in").await.form("/sign-in").with("login", "minji").with("password", "tenure-demo");
    minji.submit(form.clone()).await.is(200);
    assert_eq!(ends(&minji.get("/account").await).len(), 1);
    minji.submit(form.with("login", "lee")).await.is(200);
    assert_eq!(seen_at(&server).await.len(), 1);
}

#[tokio::test]
async fn foreign_session_cannot_be_ended() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let session = seen_id(&minji).await;
    let form = ends(&park.get("/account").await)[0].clone();
    park.submit(form.with("session", &session)).await.is(200);
    assert_eq!(minji.get("/orders").await.path, "/orders");
    assert!(!park.get("/account").await.html.contains(&session));
}

#[tokio::test]
async fn sign_out_everywhere_ends_all_sessions_of_the_member_only() {
    let server = Server::start().await;
    let (here, there) = (server.sign_in("minji").await, server.sign_in("minji").await);
    let park = server.sign_in("park").await;
    let form = here.get("/account").await.form("/account/sign-out-everywhere");
    let page = here.submit(form).await;
    assert_eq!(page.is(200).path, "/sign-in");
    assert!(page.html.contains("signed out in every browser"), "{}", page.html);
    for browser in [&here, &there] {
        assert!(browser.get("/orders").await.path.starts_with("/sign-in"));
    }
    assert_eq!(park.get("/orders").await.path, "/orders");
    server.sign_in("minji").await;
}

#[tokio::test]
async fn sign_in_in_flight_does_not_survive_sign_out_everywhere() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    // As if the password had been checked before the change, and the row written after it.
    let members = Repository::<Member>::new(&server.db);
    let id = MemberId::new("minji").unwrap();
    let begin = |member: &mut Member| {
        member.begin_epoch();
        Ok::<_, std::convert::Infallible>(())
    };
    members.update(&id).run(begin).await.unwrap();
    assert!(minji.get("/orders").await.path.starts_with("/sign-in"));
    server.sign_in("minji").await;
}

async fn changes(browser: &Browser, old: &str, new: &str, again: &str) -> Page {
    let form = browser.get("/account/password").await.is(200).form("/account/password");
    browser.submit(form.with("password-old", old).with("password-new", new).with("password-again", again)).await
}

#[tokio::test]
async fn password_change_requires_the_old_and_ends_other_sessions() {
    let server = Server::start().await;
    let (here, there) = (server.sign_in("minji").await, server.sign_in("minji").await);
    changes(&here, "not hers", NEW, NEW).await.is(422).says("not your present password");
    assert_eq!(there.get("/orders").await.path, "/orders");
    let changed = changes(&here, "tenure-demo", NEW, NEW).await;
    assert_eq!(changed.is(200).path, "/account");
    assert!(changed.html.contains("Your password is changed"), "{}", changed.html);
    assert_eq!(here.get("/orders").await.path, "/orders");
    assert!(there.get("/orders").await.path.starts_with("/sign-in"));
    let visitor = server.browser();
    let form = visitor.get("/sign-in").await.form("/sign-in").with("login", "minji");
    visitor.submit(form.clone().with("password", "tenure-demo")).await.is(422);
    assert_eq!(visitor.submit(form.with("password", NEW)).await.is(200).path, "/orders");
    // It is no longer a demo account.
    assert!(!server.browser().get("/sign-in").await.html.contains("?as=minji"));
}

#[tokio::test]
async fn password_change_frees_the_orders_of_the_other_sessions() {
    let server = Server::start().await;
    let (here, there) = (server.sign_in("minji").await, server.sign_in("minji").await);
    server.place("one").await;
    there.edit(ORDER).await.is(200);
    let hers = here.edit("one").await.is(200).form("/orders/one/edit/save");
    changes(&here, "tenure-demo", NEW, NEW).await.is(200);
    assert_eq!(server.held().await.len(), 1);
    assert_eq!(here.beat("edit", &hers, "keep").await.1["mode"], "held");
}

#[tokio::test]
async fn password_set_on_the_command_line_frees_the_orders_of_its_member() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    server.place("one").await;
    minji.edit(ORDER).await.is(200);
    park.edit("one").await.is(200);
    let shop = shop::open(server.db.clone(), Accounts::Demo).await.unwrap();
    shop.set_password("minji", NEW).await.unwrap();
    assert_eq!(server.held().await.len(), 1);
    assert!(minji.get("/orders").await.path.starts_with("/sign-in"));
}

#[tokio::test]
async fn weak_or_mistyped_password_is_refused_and_never_shown() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    for (new, again, why) in [
        ("q7#kd2", "q7#kd2", "at least 12"),
        ("minji-minji-minji", "minji-minji-minji", "your name"),
        ("Tenure-DEMO", "Tenure-DEMO", "at least 12"),
        ("abababababababab", "abababababababab", "first that somebody would try"),
        (NEW, "파란 자전거 네 대", "not the same"),
        (&"x1y2z".repeat(60), &"x1y2z".repeat(60), "256"),
    ] {
        let page = changes(&minji, "tenure-demo", new, again).await;
        page.is(422).says(why);
        assert!(!page.html.contains(new) && !page.html.contains("tenure-demo"), "{}", page.html);
    }
    server.sign_in("minji").await;
}

#[tokio::test]
async fn account_page_is_bilingual_and_requires_sign_in() {
    let server = Server::start().await;
    for path in ["/account", "/account/password"] {
        assert!(server.browser().get(path).await.path.starts_with("/sign-in"));
    }
    let park = server.sign_in("park").await;
    park.get("/account?lang=ko").await.is(200).says("로그인된 곳").says("모든 곳에서 로그아웃");
    park.get("/account/password").await.is(200).says("비밀번호 변경");
}

const EDIT: &str = "/orders/2026-000300/edit/save";

#[tokio::test]
async fn signing_out_frees_the_orders_of_this_browser_at_once() {
    let server = Server::start().await;
    let (here, elsewhere, park) =
        (server.sign_in("minji").await, server.sign_in("minji").await, server.sign_in("park").await);
    for no in ["one", "two"] {
        server.place(no).await;
    }
    elsewhere.edit("one").await.is(200);
    let two_tabs = [here.edit(ORDER).await, here.get("/orders/two/shipping").await];
    let shipping = two_tabs[1].form("/orders/two/shipping");
    assert_eq!(here.beat("shipping", &shipping, "take").await.1["mode"], "held");
    assert_eq!(server.held().await.len(), 3);
    let out = here.submit(two_tabs[0].form("/sign-out")).await;
    assert!(out.html.contains("has been erased"), "{}", out.html);
    // What she has open in another browser stays hers.
    assert_eq!(server.held().await.len(), 1);
    park.edit(ORDER).await.is(200);
    park.edit("one").await.is(423);
}

#[tokio::test]
async fn sign_out_releases_the_leases_that_the_page_names() {
    let server = Server::start().await;
    let (here, elsewhere) = (server.sign_in("minji").await, server.sign_in("minji").await);
    // Granted to another session, as by another process.
    let named = elsewhere.edit(ORDER).await.form(EDIT).value("lid").to_owned();
    server.place("one").await;
    let parks = server.sign_in("park").await.edit("one").await.form("/orders/one/edit/save");
    let mut form = here.get("/orders").await.form("/sign-out");
    form.fields.extend([("lid".into(), parks.value("lid").into()), ("lid".into(), "x".into()), ("lid".into(), named)]);
    here.submit(form).await.is(200);
    assert_eq!(server.held().await, [("park".into(), 1)]);
}

#[tokio::test]
async fn ended_session_elsewhere_frees_its_orders() {
    let server = Server::start().await;
    let (there, here) = (sign_in_as(&server, CHROME).await, server.sign_in("minji").await);
    server.place("one").await;
    there.edit(ORDER).await.is(200);
    let ends = here.get("/account").await.forms("/account/sessions/end");
    let hers = here.edit("one").await.is(200).form("/orders/one/edit/save");
    // The one of this browser comes first.
    here.submit(ends[1].clone()).await.is(200);
    assert_eq!(server.held().await.len(), 1);
    assert_eq!(here.beat("edit", &hers, "keep").await.1["mode"], "held");
    here.submit(here.get("/account").await.form("/account/sign-out-everywhere")).await.is(200);
    assert_eq!(server.held().await, []);
}

#[tokio::test]
async fn form_of_an_ended_session_is_sent_once_after_signing_in_again() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let path = format!("/orders/{ORDER}/shipping");
    let form = minji.get(&path).await.form(&path).with("message", NEW);
    let out = minji.get("/orders").await.form("/sign-out");
    minji.submit(out).await.is(200);
    let kept = minji.submit(form).await;
    kept.is(401).says(NEW);
    let sign_in = minji.get("/sign-in").await.form("/sign-in").with("login", "minji").with("password", "tenure-demo");
    minji.submit(sign_in).await.is(200);
    minji.submit(kept.form(&path)).await.is(200);
    assert_eq!(server.order(ORDER).await.0.shipping().message(), NEW);
}
