//! The front page, and the worlds of `/demo`.

use std::time::Duration;

use shop::domain::OrderState;
use shop::{Accounts, Settings};
use tokio::net::TcpListener;

use super::support::{Browser, ORDER, Page, Server};

/// Each story, and how many of its steps are refused without tenure and with it.
const STORIES: [(&str, [usize; 2]); 8] = [
    ("last", [0, 1]),
    ("ships", [0, 1]),
    ("both", [0, 1]),
    ("tab", [0, 1]),
    ("lunch", [1, 1]),
    ("forward", [1, 2]),
    ("sleep", [0, 1]),
    ("crash", [1, 1]),
];

async fn begins(browser: &Browser, story: &str, way: &str) -> Page {
    let page = browser.get("/demo").await;
    let form =
        page.forms("/demo").into_iter().find(|form| form.fields.iter().any(|(name, _)| name == "story")).unwrap();
    browser.submit(form.with("story", story).with("way", way)).await
}

/// The form of the next step.
fn step(page: &Page) -> Option<super::support::Form> {
    page.forms("/demo").into_iter().find(|form| form.fields.iter().any(|(name, _)| name == "step"))
}

async fn to_its_end(browser: &Browser, mut page: Page) -> Page {
    for _ in 0..12 {
        let Some(form) = step(&page) else { return page };
        page = browser.submit(form).await;
        page.is(200);
    }
    panic!("the story has no end: {}", page.text());
}

/// How many steps were refused.
fn refused(page: &Page) -> usize {
    page.html.matches(" refused\"").count() + page.html.matches(" refused last\"").count()
}

fn verdict(page: &Page) -> &str {
    page.html.split("data-verdict=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("none")
}

#[tokio::test]
async fn every_story_goes_wrong_without_tenure_and_well_with_it() {
    let server = Server::start().await;
    let visitor = server.browser();
    for (story, [without, with]) in STORIES {
        let page = begins(&visitor, story, "without").await;
        let page = to_its_end(&visitor, page).await;
        assert_eq!((verdict(&page), refused(&page)), ("bad", without), "{story}: {}", page.text());
        let page = begins(&visitor, story, "with").await;
        let page = to_its_end(&visitor, page).await;
        // Who is first of two at the same moment is not decided before.
        let is_fair = verdict(&page) == "good" || (story, verdict(&page)) == ("both", "late");
        assert!(is_fair && refused(&page) == with, "{story}: {} {}", verdict(&page), page.text());
    }
}

#[tokio::test]
async fn refusal_is_told_in_the_words_of_the_shop() {
    let server = Server::start().await;
    let visitor = server.browser();
    let mut page = begins(&visitor, "lunch", "with").await;
    for _ in 0..3 {
        page = visitor.submit(step(&page).unwrap()).await;
    }
    page.says("Minji is at lunch").says("Minji is editing this order");
    page = visitor.submit(step(&page).unwrap()).await;
    page.says("The shop says: Shipping of order 1234 was not started").says("Minji");
    assert!(!page.text().contains("the parcel has left"), "{}", page.text());
}

#[tokio::test]
async fn naive_service_overwrites_what_it_acknowledged() {
    let server = Server::start().await;
    let visitor = server.browser();
    let page = begins(&visitor, "tab", "without").await;
    let page = to_its_end(&visitor, page).await;
    page.says("saves the new address, 2 New Street. The shop accepts it.").says("The parcel is at the wrong house");
    page.says("line1 1 Old Street").says("version 1");
}

#[tokio::test]
async fn versions_refuse_the_operator_and_the_typed_address_is_shipped() {
    let server = Server::start().await;
    let visitor = server.browser();
    let mut page = begins(&visitor, "ships", "with").await;
    while let Some(form) = step(&page) {
        let form = if form.fields.iter().any(|(name, _)| name == "typed") {
            form.with("typed", "9 <b>Hill</b>")
        } else {
            form
        };
        page = visitor.submit(form).await;
        assert!(!page.html.contains("<b>Hill"));
    }
    page.says("Refused: the order has changed since the label was printed")
        .says("The parcel leaves for 9 <b>Hill</b>.");
    page.says("POST /orders/1234/start-shipping").says("409 Conflict").says("pub async fn start_shipping(");
}

#[tokio::test]
async fn clock_of_a_world_ends_its_lease_and_moves_nothing_of_the_shop() {
    let server = Server::start().await;
    let (visitor, minji) = (server.browser(), server.sign_in("minji").await);
    minji.edit(ORDER).await.is(200);
    let before = (server.held().await, server.order(ORDER).await, server.clock.now());
    let mut page = begins(&visitor, "forward", "with").await;
    page = visitor.submit(step(&page).unwrap()).await;
    page.says("Time left 5:00");
    for _ in 0..4 {
        page = visitor.submit(step(&page).unwrap()).await;
    }
    page.says("clock: minute 5").says("over: anybody may take it");
    to_its_end(&visitor, page).await;
    assert_eq!((server.held().await, server.order(ORDER).await, server.clock.now()), before);
    assert_eq!(server.order(ORDER).await.0.state(), OrderState::Preparing);
}

#[tokio::test]
async fn each_browser_has_a_world_of_its_own() {
    let server = Server::start().await;
    let (here, there) = (server.browser(), server.browser());
    begins(&here, "ships", "without").await;
    let other = begins(&there, "lunch", "with").await;
    let page = here.get("/demo").await;
    let mine = here.submit(step(&page).unwrap()).await;
    mine.says("Park opens the order");
    assert_eq!(there.get("/demo").await.text(), other.text());
    // Without the token of this browser nothing begins, and nothing goes on.
    there.submit(step(&mine).unwrap()).await.is(403);
    assert_eq!(there.get("/demo").await.text(), other.text());
}

#[tokio::test]
async fn second_click_makes_no_second_step() {
    let server = Server::start().await;
    let visitor = server.browser();
    let form = step(&begins(&visitor, "ships", "with").await).unwrap();
    let once = visitor.submit(form.clone()).await.text();
    assert_eq!(visitor.submit(form).await.text(), once);
}

#[tokio::test]
async fn world_that_was_left_alone_ends_and_the_page_says_so() {
    let server = Server::start().await;
    let clock = server.clock.clone();
    let server = Server::start_as(|shop| shop.clock(clock.clone())).await;
    let visitor = server.browser();
    let page = begins(&visitor, "ships", "with").await;
    clock.advance(Duration::from_secs(31 * 60));
    visitor.submit(step(&page).unwrap()).await.is(200).says("Your small shop has ended");
}

#[tokio::test]
async fn oldest_of_too_many_worlds_makes_room() {
    let clock = tenure::clock::ManualClock::new();
    let server = Server::start_as(|shop| shop.clock(clock.clone())).await;
    let mut visitors = Vec::new();
    for _ in 0..21 {
        let visitor = server.browser();
        clock.advance(Duration::from_secs(1));
        let page = begins(&visitor, "ships", "without").await;
        visitors.push((visitor, page));
    }
    for (at, (visitor, page)) in visitors.iter().enumerate().take(2) {
        let ended = visitor.submit(step(page).unwrap()).await.text().contains("Your small shop has ended");
        assert_eq!(ended, at == 0, "{at}");
    }
}

#[tokio::test]
async fn reading_begins_no_world_and_tells_the_story() {
    let server = Server::start().await;
    for (language, words) in [("en", "Nobody lives there any more"), ("ko", "이제 아무도 살지 않는 집입니다")]
    {
        let page = server.browser().get(&format!("/demo?lang={language}")).await;
        page.is(200).says(words);
        assert!(step(&page).is_none());
    }
}

#[tokio::test]
async fn front_page_leads_to_the_demo_and_in_with_one_click() {
    let server = Server::start().await;
    for (login, name) in [("minji", "김민지"), ("park", "박서연")] {
        let visitor = server.browser();
        let page = visitor.get("/").await;
        page.is(200).says("the parcel goes to the wrong house").says("See it happen");
        let forms = page.forms("/sign-in");
        let form = forms.into_iter().find(|form| form.value("login") == login).unwrap();
        let inside = visitor.submit(form).await;
        assert!(inside.path == "/orders" && inside.html.contains(name), "{}", inside.path);
        assert_eq!(visitor.get("/").await.path, "/orders");
    }
}

#[tokio::test]
async fn without_demo_accounts_there_is_no_demo() {
    let mut server = Server::start().await;
    let shop = shop::open(server.db.clone(), Accounts::Own).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    server.base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(shop::serve(listener, shop, Settings::default(), std::future::pending()));
    let visitor = server.browser();
    visitor.get("/demo").await.is(404);
    let front = visitor.get("/").await;
    front.is(200).says("Sign in");
    assert!(!front.has_form("/sign-in") && !front.html.contains("/demo\""), "{}", front.html);
    let csrf = visitor.get("/sign-in").await.form("/sign-in").value("csrf").to_owned();
    visitor.post("/demo", &[("csrf", &csrf), ("story", "ships")], &[]).await.is(404);
}
