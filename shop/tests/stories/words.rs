//! Dead ends and wrong words: each refusal keeps the text and names a next step that exists.

use serde_json::Value;
use shop::domain::OrderState;
use tenure_web::browser_key::BrowserKey;

use super::support::{Browser, Form, ORDER, Page, Server, order_path};

const SHIPPING: &str = "/orders/2026-000300/shipping";
const EDIT: &str = "/orders/2026-000300/edit/save";
const NOTE: &str = "/orders/2026-000300/note/edit";
const SAVE_NOTE: &str = "/orders/2026-000300/note/save";
const CANCEL: &str = "/orders/2026-000300/cancel";
const START: &str = "/orders/2026-000300/start-shipping";

async fn note_form(browser: &Browser) -> Form {
    browser.submit(browser.open(ORDER).await.form(NOTE)).await.is(200).form(SAVE_NOTE)
}

/// The same page in Korean; the browser reads English again afterwards.
async fn in_korean(browser: &Browser, page: &Page) -> Page {
    let sign = if page.path.contains('?') { '&' } else { '?' };
    let korean = browser.get(&format!("{}{sign}lang=ko", page.path)).await;
    browser.get("/orders?lang=en").await.is(200);
    korean
}

#[tokio::test]
async fn form_goes_on_after_all_cookies_were_deleted() {
    let server = Server::start().await;
    let before = server.sign_in("minji").await;
    let form = before.edit(ORDER).await.form(EDIT).with("message", "typed before");
    // Another browser key and another session of the same person: as after deleting all cookies.
    let minji = server.sign_in("minji").await;
    let (status, refused) = minji.send_by_script(&form).await;
    assert_eq!((status, &refused["code"]), (403, &"csrf-failed".into()));
    let (status, beat) = minji.beat("edit", &form, "take").await;
    assert_eq!((status, &beat["code"]), (403, &"csrf-failed".into()));
    let fresh = minji.new_form("minji").await.1;
    // The lease of the form goes on: its lock id is one of this person's.
    let form = form.with("csrf", fresh["csrf"].as_str().unwrap());
    assert_eq!(minji.beat("edit", &form, "keep").await.1["mode"], "held");
    assert_eq!(minji.send_by_script(&form).await.1["done"], true);
    assert_eq!(server.order(ORDER).await.0.shipping().message(), "typed before");
    // Nobody else gets anything to go on with.
    assert_eq!(server.sign_in("lee").await.new_form("minji").await.0, 409);
}

#[tokio::test]
async fn blocked_cookies_are_named() {
    let server = Server::start().await;
    for (language, words) in [("en", "sent no cookies"), ("ko", "쿠키를 보내지 않아")] {
        let form = server.browser().get("/sign-in").await.form("/sign-in");
        let fields: Vec<_> = form.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let page = server.browser().post(&format!("/sign-in?lang={language}"), &fields, &[]).await;
        page.is(403).says(words);
    }
}

#[tokio::test]
async fn save_tells_the_script_how_to_go_on() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("message", "one");
    let (_, saved) = minji.send_by_script(&form).await;
    let fresh = minji.new_form("minji").await.1;
    let of = |name: &str| fresh[name].as_str().unwrap().to_owned();
    let next = form.with("form_id", &of("form_id")).with("lid", &of("lid")).with("csrf", &of("csrf"));
    let next = next.with("version", saved["version"].as_str().unwrap()).with("message", "two");
    assert_eq!(minji.beat("shipping", &next, "take").await.1["mode"], "held");
    assert_eq!(minji.send_by_script(&next).await.1["done"], true);
    assert_eq!((server.order(ORDER).await.0.shipping().message(), server.order(ORDER).await.1), ("two", 3));
}

#[tokio::test]
async fn too_long_note_says_by_how_much() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let form = note_form(&park).await;
    for (length, over) in [(4_001, "1"), (65_000, "61,000"), (100_000, "96,000")] {
        let form = form.clone().with("text", &"x".repeat(length));
        let page = park.submit(form.clone()).await;
        page.is(422).says(&format!("Shorten it by {over}, then save again."));
        let (status, told) = park.send_by_script(&form).await;
        match told["next"].as_str() {
            Some(next) => drop(in_korean(&park, &park.get(next).await).await.says(&format!("{over}자를 줄인 뒤"))),
            None => assert!(
                status == 422 && told["detail"].as_str().unwrap().contains(&format!("Shorten it by {over}")),
                "{length}: {status} {told}"
            ),
        }
    }
    assert!(park.open(ORDER).await.html.contains("id=\"note\""));
    // More than the shop reads.
    let (status, told) = park.send_by_script(&form.with("text", &"x".repeat(300_000))).await;
    let said = told["detail"].as_str().unwrap();
    assert!(status == 413 && said.contains("still here") && said.contains("4,000"), "{status} {told}");
}

#[tokio::test]
async fn counted_fields_take_more_than_they_may_have() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let note = park.submit(park.open(ORDER).await.form(NOTE)).await;
    assert!(note.html.contains("data-tenure-count=\"4000\"") && note.html.contains("data-tenure-counter"));
    assert!(park.get(SHIPPING).await.html.contains("data-tenure-count=\"500\""));
    assert!(!note.html.contains("maxlength"));
}

#[tokio::test]
async fn change_of_a_removed_line_is_explained_and_not_offered() {
    for is_edited_first in [false, true] {
        let server = Server::start().await;
        let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
        // Her order has two lines.
        let form = park.edit(ORDER).await.form(EDIT);
        let form = form.with("new-product", "찻잔").with("new-price", "12000").with("new-quantity", "2");
        park.submit(form).await.is(200);
        let hers = minji.edit(ORDER).await.form(EDIT).with("quantity-1", "7");
        server.clock.advance(std::time::Duration::from_secs(301));
        park.submit(park.edit(ORDER).await.form(EDIT).with("remove-1", "on")).await.is(200);
        let conflict = minji.submit(hers.clone()).await;
        assert_eq!(conflict.is(409).state(), "CP-9");
        conflict.says("was removed from the order meanwhile, so there is nothing to save");
        assert!(!conflict.html.contains("data-tenure-drop"), "its only way leads back, and drops nothing");
        assert!(!conflict.html.contains("data-tenure-action=\"save\""), "{}", conflict.text());
        in_korean(&minji, &conflict).await.says("그사이 주문에서 빠져");
        // With another change beside it, the rest can be saved.
        let both = minji.submit(hers.with("message", "문 앞에").with("form_id", &"1".repeat(32))).await;
        both.is(409).says("The rest of your change can be saved");
        if is_edited_first {
            let first = minji.submit(both.press(EDIT, "edit-first")).await.is(200).form(EDIT);
            minji.submit(first).await.is(200);
        } else {
            minji.submit(both.form(EDIT)).await.is(200);
        }
        let order = server.order(ORDER).await.0;
        assert_eq!(
            (order.shipping().message(), order.lines().iter().any(|line| line.line_no() == 1)),
            ("문 앞에", false)
        );
    }
}

#[tokio::test]
async fn untouched_fields_are_not_called_ones_own() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let hers = minji.get(SHIPPING).await.form(SHIPPING).with("message", "mine").with("edit-first", "1");
    park.submit(park.get(SHIPPING).await.form(SHIPPING).with("address.line1", "한강대로 2")).await.is(200);
    let page = minji.submit(hers).await;
    page.is(200).says("한강대로 2").says("(not changed by you)").says("mine");
    in_korean(&minji, &page).await.says("(내가 바꾸지 않음)");
}

#[tokio::test]
async fn note_conflict_names_who_and_keeps_the_replaced_text() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    // There was no note, or there was one: twice.
    for (his, hers) in [("his first", "her first"), ("his second", "her second")] {
        let (form, other) = (note_form(&park).await, note_form(&olivia).await);
        park.submit(form.with("text", his)).await.is(200);
        let conflict = olivia.submit(other.with("text", hers)).await;
        conflict.is(409).says("박서연 changed the note at").says("Saves the note");
        assert!(!conflict.text().contains("Saves the order"));
        in_korean(&olivia, &conflict).await.says("메모를 저장합니다").says("이전 메모");
        let saved = olivia.submit(conflict.form(SAVE_NOTE).with("text", hers)).await;
        saved.is(200).says(hers).says("Earlier texts").says(his);
    }
}

#[tokio::test]
async fn second_tab_does_not_list_oneself_twice() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    for _ in 0..2 {
        note_form(&park).await;
    }
    for browser in [&park, &olivia] {
        let text = browser.open(ORDER).await.text();
        assert_eq!(text.matches("had the note open since").count(), 1, "{text}");
    }
    let form = note_form(&olivia).await;
    let (_, told) = olivia.beat("note", &form, "keep").await;
    assert_eq!(told["said"].as_str().unwrap().matches("박서연").count(), 1, "{told}");
}

#[tokio::test]
async fn out_of_stock_is_named_so() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let form = park.edit(ORDER).await.form(EDIT).with("quantity-1", "999");
    park.submit(form).await.is(200);
    let refused = park.submit(park.open(ORDER).await.form(START)).await;
    refused.is(409).says("not enough in stock");
    assert!(!refused.text().contains("does not allow this any more"));
    in_korean(&park, &refused).await.says("재고가 부족합니다");
}

#[tokio::test]
async fn operator_can_cancel_in_spite_of_an_editor() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let hers = minji.edit(ORDER).await.form(EDIT).with("message", "typed");
    let refused = park.submit(park.open(ORDER).await.form(CANCEL)).await;
    refused.is(423).says("Cancel anyway").says("김민지");
    in_korean(&park, &refused).await.says("그래도 주문 취소");
    assert_eq!(server.order(ORDER).await.0.state(), OrderState::Preparing);
    park.submit(refused.form(CANCEL)).await.is(200);
    assert_eq!(server.order(ORDER).await.0.state(), OrderState::Cancelled);
    minji.submit(hers).await.is(409).says("typed");
}

#[tokio::test]
async fn refused_text_of_a_cancelled_order_is_what_differs_with_the_names_of_products() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let mistaken = minji.edit(ORDER).await.form(EDIT).with("remove-1", "on").with("receiver.name", "");
    let mistaken = minji.submit(mistaken.with("message", "typed")).await;
    let refused = park.submit(park.open(ORDER).await.form(CANCEL)).await;
    park.submit(refused.form(CANCEL)).await.is(200);
    let page = minji.get(&mistaken.is(422).path).await;
    page.is(409).says("typed").says("Quantity of 손글씨 만년필 F촉 Remove");
    assert!(!page.text().contains("06236"), "the postal code is the order's: {}", page.text());
}

#[tokio::test]
async fn mistakes_are_listed_in_the_order_of_the_page() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let form = park.edit(ORDER).await.form(EDIT).with("quantity-1", "-1").with("receiver.name", "");
    let page = park.submit(form).await;
    page.is(422);
    let summary = page.html.split_once("role=\"alert\"").expect("a summary").1;
    let at = |link: &str| summary.find(&format!("href=\"#{link}\"")).expect("a mistake");
    assert!(at("quantity-1") < at("receiver.name"), "{}", page.text());
}

#[tokio::test]
async fn pages_say_what_their_buttons_do() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let hers = minji.edit(ORDER).await.form(EDIT);
    let page = park.open(ORDER).await;
    assert!(!page.text().contains("would have to wait"));
    page.says("you are asked first");
    // Nothing was typed here.
    let untouched = park.get(SHIPPING).await.form(SHIPPING);
    let (_, told) = park.beat("shipping", &untouched, "take").await;
    assert!(!told["said"].as_str().unwrap().contains("What you typed"), "{told}");
    // Moving is described alike wherever it is offered.
    let other = minji.get(SHIPPING).await.form(SHIPPING);
    let (_, told) = minji.beat("shipping", &other, "take").await;
    let words = "it is not saved, and does not come along by itself";
    assert!(told["said"].as_str().unwrap().contains(words), "{told}");
    minji.edit(ORDER).await.is(423).says(words);
    drop(hers);
}

#[tokio::test]
async fn demo_history_agrees_with_the_head_of_the_page() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let page = minji.get(&format!("{}?lang=ko", order_path(ORDER))).await;
    page.says("데모 데이터");
    let park = server.sign_in("park").await;
    park.submit(note_form(&park).await.with("text", "Written since")).await.is(200);
    let before = park.get(&format!("{}?lang=ko", order_path(ORDER))).await;
    assert!(!before.says("이전 메모").text().contains("Demo data"), "{}", before.text());
    let placed = server.order(ORDER).await.0.placed_at().to_string();
    let instant = placed.split('.').next().unwrap().trim_end_matches('Z').to_owned();
    assert_eq!(page.html.matches(&format!("datetime=\"{instant}Z\"")).count(), 2, "{}", page.html);
}

#[tokio::test]
async fn refused_end_of_a_lock_has_an_address() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    minji.edit(ORDER).await.is(200);
    let form = park.get("/locks").await.form("/locks/break");
    let refused = park.submit(form.clone().with("reason", " ")).await;
    assert!(refused.path.starts_with("/locks?"), "{}", refused.path);
    refused.is(422).says("Give a reason");
    in_korean(&park, &refused).await.is(422).says("사유를 입력하세요");
    let changed = park.submit(form.with("generation", "9").with("reason", "kept reason")).await;
    assert!(changed.path.starts_with("/locks?"), "{}", changed.path);
    changed.is(409).says("kept reason");
    assert_eq!(server.held().await, [("minji".into(), 1)]);
}

#[tokio::test]
async fn korean_words_are_those_of_a_shop() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let hers = minji.get(SHIPPING).await.form(SHIPPING).with("message", "hers");
    park.submit(park.get(SHIPPING).await.form(SHIPPING).with("message", "his")).await.is(200);
    let conflict = minji.submit(hers).await;
    let conflict = in_korean(&minji, &conflict).await;
    for words in
        ["이대로 저장", "내 변경 다시 고치기", "상대방 내용 유지(내 변경 삭제)", "작성한 내용은 그대로 있습니다"]
    {
        conflict.says(words);
    }
    for browser in [&minji, &park] {
        browser.get("/orders?lang=ko").await.is(200);
    }
    minji.edit(ORDER).await.is(200).says("주문을 수정하고 있습니다");
    let locks = park.get("/locks").await;
    locks.says("1건").says("기준");
    assert!(locks.text().contains("오전") || locks.text().contains("오후"), "{}", locks.text());
    let order = park.open(ORDER).await;
    order.says("발송 처리");
    for page in [&locks, &order, &conflict] {
        assert!(page.html.contains("테뉴어 스토어"));
        for old in ["세대", "테뉴어 상점", "Demo data", "KST 기준", "내가 수정", "결과 저장", "잠금 1개"]
        {
            assert!(!page.html.contains(old), "{old} in {}", page.path);
        }
    }
}

/// The token of a cookie that somebody planted, as they compute it.
#[tokio::test]
async fn planted_cookie_gives_no_token() {
    let server = Server::start().await;
    let planted = BrowserKey::random();
    let cookie = format!("shop-browser={}", planted.reveal());
    let page = server.browser().get_with("/sign-in", &[("cookie", &cookie)]).await;
    assert_ne!(page.form("/sign-in").value("csrf"), planted.csrf(None).to_string());
    // It is the same for every request of that browser.
    let again = server.browser().get_with("/sign-in", &[("cookie", &cookie)]).await;
    assert_eq!(page.form("/sign-in").value("csrf"), again.form("/sign-in").value("csrf"));
}

#[tokio::test]
async fn refused_forms_leave_a_bounded_number_of_rows() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let rows = async || -> i64 {
        let count = "select count(*) from tenure_operation";
        match (server.db.postgres(), server.db.mysql()) {
            (Ok(pool), _) => sqlx::query_scalar(count).fetch_one(pool).await.unwrap(),
            (_, Ok(pool)) => sqlx::query_scalar(count).fetch_one(pool).await.unwrap(),
            _ => sqlx::query_scalar(count).fetch_one(server.db.sqlite().unwrap()).await.unwrap(),
        }
    };
    let before = rows().await;
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("receiver.name", "");
    for round in 0..30 {
        let (_, told) = minji.send_by_script(&form.clone().with("message", &round.to_string())).await;
        assert_eq!(told["done"], Value::Bool(false));
    }
    assert_eq!(rows().await, before);
}
