//! Earlier versions of an order and of its note: each opens, and compares with any other.

use super::support::{Browser, ORDER, Page, Server};

const SHIPPING: &str = "/orders/2026-000300/shipping";
const HISTORY: &str = "/orders/2026-000300/history";
const NOTES: &str = "/orders/2026-000300/note/history";

async fn saves(browser: &Browser, name: &str, value: &str) {
    let form = browser.get(SHIPPING).await.form(SHIPPING);
    browser.submit(form.with(name, value)).await.is(200);
}

async fn writes(browser: &Browser, text: &str) {
    let open = "/orders/2026-000300/note/edit";
    let page = browser.submit(browser.open(ORDER).await.form(open)).await;
    browser.submit(page.form("/orders/2026-000300/note/save").with("text", text)).await.is(200);
}

/// The words that are marked with this element, without what is only read out.
fn marked(page: &Page, tag: &str) -> Vec<String> {
    let (begin, end) = (format!("<{tag}><span class=\"unseen\">"), format!("</{tag}>"));
    let parts = page.html.split(&begin).skip(1);
    let words = parts.map(|part| part.split_once("</span>").unwrap().1.split(&end).next().unwrap());
    words.map(|words| words.trim().to_owned()).collect()
}

#[tokio::test]
async fn every_version_opens_with_who_when_and_which_command() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    saves(&park, "message", "부재 시 경비실에 맡겨 주세요").await;
    saves(&minji, "message", "부재 시 문 앞에 놓아 주세요").await;
    let order = minji.open(ORDER).await;
    for version in 1..=3 {
        assert!(order.html.contains(&format!("{HISTORY}/{version}\"")), "{}", order.html);
    }
    let second = minji.get(&format!("{HISTORY}/2")).await;
    assert_eq!(second.is(200).state(), "HI-1");
    second.says("version 2").says("Shipping details changed · 박서연 · ").says("부재 시 경비실에 맡겨 주세요");
    second.says("This is how it was then");
    minji.get(&format!("{HISTORY}/3")).await.is(200).says("This is the present version");
    minji.get(&format!("{HISTORY}/1")).await.is(200).says("Demo data");
    minji.get(&format!("{HISTORY}/2?lang=ko")).await.is(200).says("버전 2").says("당시의 내용입니다");
}

#[tokio::test]
async fn any_two_versions_compare_word_by_word_and_line_by_line() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    saves(&park, "message", "부재 시 경비실에 맡겨 주세요").await;
    saves(&park, "message", "부재 시 문 앞에 놓아 주세요").await;
    let save = "/orders/2026-000300/edit/save";
    let edit = park.edit(ORDER).await.form(save).with("new-product", "찻잔").with("new-price", "12000");
    park.submit(edit.with("new-quantity", "2").with("quantity-1", "4")).await.is(200);
    let words = park.get(&format!("{HISTORY}/2?with=3")).await;
    assert_eq!(words.is(200).state(), "HI-2");
    assert_eq!(
        (marked(&words, "del"), marked(&words, "ins")),
        (vec!["경비실에 맡겨".into()], vec!["문 앞에 놓아".into()])
    );
    // The other way round, the older version still comes first.
    let turned = park.get(&format!("{HISTORY}/3?with=2")).await;
    assert_eq!(marked(&turned, "ins"), marked(&words, "ins"));
    park.get(&format!("{HISTORY}/4?with=3"))
        .await
        .is(200)
        .says("New line: 찻잔")
        .says("(not in the order)")
        .says("Total");
    park.get(&format!("{HISTORY}/4?with=4")).await.is(200).says("The two versions say the same");
}

#[tokio::test]
async fn texts_of_a_note_open_and_compare_for_operators_only() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    writes(&park, "고객이 전화함. 박스 파손").await;
    writes(&park, "고객이 전화함. 교환 요청").await;
    park.get(&format!("{NOTES}/2")).await.is(200).says("박스 파손").says("Note written · 박서연");
    let compared = park.get(&format!("{NOTES}/2?with=3")).await;
    assert_eq!(
        (marked(&compared, "del"), marked(&compared, "ins")),
        (vec!["박스 파손".into()], vec!["교환 요청".into()])
    );
    let order = park.open(ORDER).await;
    assert!(order.html.contains(&format!("{NOTES}/2?with=3\"")), "{}", order.html);
    assert!(!minji.get(&format!("{NOTES}/2")).await.is(403).html.contains("박스 파손"));
}

#[tokio::test]
async fn versions_that_are_not_kept_or_not_ones_own_are_said_so() {
    let server = Server::start().await;
    let (lee, park) = (server.sign_in("lee").await, server.sign_in("park").await);
    for path in ["/2", "/0", "/x", "/99999999999999999999", "/1?with=9", "/1?with=", "/1?with=x"] {
        let page = park.get(&format!("{HISTORY}{path}")).await;
        assert_eq!(page.is(404).state(), "HI-3", "{path}");
        page.says("the latest 50 versions are kept");
    }
    lee.get(&format!("{HISTORY}/1")).await.is(404);
    assert!(!lee.get(&format!("{HISTORY}/1")).await.html.contains("김민지"));
}
