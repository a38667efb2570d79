//! An open form learns of others' changes, and agrees with every other page.

use std::time::Duration;

use browser::{EDIT, ORDER, Person, Story};

use super::saves;

const SHIPPING: &str = "/orders/2026-000300/shipping";
const START: &str = "form[action='/orders/2026-000300/start-shipping'] button";

async fn open_in(story: &Story, login: &str, language: &str) -> Person {
    let person = story.reader_of(language).await;
    person.has_a_quick_heart().await;
    person.sign_in(login).await;
    person
}

pub(super) async fn ships_anyway(park: &Person) {
    park.goes_to(&format!("/orders/{ORDER}")).await;
    park.clicks(START).await;
    park.sees("main[data-state=OV-7]").await;
    park.clicks("main .danger").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn holder_learns_of_the_shipment_within_one_heartbeat() {
    for (language, told) in [("en", "left the house"), ("ko", "이미 발송된")] {
        let story = Story::begin().await;
        let minji = open_in(&story, "minji", language).await;
        minji.edits_the_order().await;
        minji.types("[name=message]", "Third floor").await;
        ships_anyway(&story.person("park").await).await;
        minji.sees("main[data-state=OE-15] form[data-tenure-state=lost]").await;
        assert!(
            minji.reads("[data-tenure-status]").await.contains(told),
            "{}",
            minji.reads("[data-tenure-status]").await
        );
        assert_eq!(minji.value("[name=message]").await, "Third floor");
        assert!(minji.finds::<bool>("document.querySelector('[data-tenure-action=save]').hidden").await);
        minji.photo(&format!("{language}-shipped-meanwhile")).await;
        minji.clicks("[data-tenure-action=see]").await;
        minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_form_without_a_lock_learns_of_a_cancellation() {
    let story = Story::begin().await;
    let minji = open_in(&story, "minji", "en").await;
    minji.goes_to(SHIPPING).await;
    let park = story.person("park").await;
    park.goes_to(&format!("/orders/{ORDER}")).await;
    park.clicks("details.confirm summary").await;
    park.clicks("form[action$='/cancel'] button").await;
    park.sees("[role=status]").await;
    minji.sees("main[data-state=OE-15]").await;
    assert!(minji.reads("[data-tenure-status]").await.contains("cancelled"));
    assert!(minji.finds::<bool>("document.querySelector('[data-tenure-action=save]').hidden").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn open_form_names_the_author_of_a_change() {
    let story = Story::begin().await;
    let minji = open_in(&story, "minji", "en").await;
    minji.goes_to(SHIPPING).await;
    let park = story.person("park").await;
    park.goes_to(SHIPPING).await;
    park.types("[name=message]", "Ring twice").await;
    minji.sees("#shipping[data-tenure-state=refused]").await;
    assert!(minji.reads("[data-tenure-status]").await.contains("Somebody at the shop has been editing"));
    saves(&park).await;
    minji.sees("main[data-state=OE-25] #shipping[data-tenure-state=moved]").await;
    assert!(minji.reads("[data-tenure-status]").await.contains("박서연 changed the shipping details"));
    minji.photo("moved-live").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_lease_without_changes_resumes_in_place() {
    for language in ["en", "ko"] {
        let story = Story::begin().await;
        let park = story.reader_of(language).await;
        park.sign_in("park").await;
        park.edits_the_order().await;
        park.types("[name=message]", "Before lunch").await;
        park.gets_heartbeats_through(false).await;
        let opened = story.holder().await.expect("he edits");
        story.clock.advance(Duration::from_secs(3600));
        assert!(story.holder().await.is_none());
        // The page asks again by itself, once: a second answer would not say any more that it was resumed.
        park.gets_heartbeats_through(true).await;
        park.sees("main[data-state=OE-7] form[data-tenure-state=held]").await;
        park.photo(&format!("{language}-resumed")).await;
        // It had lapsed: nobody was editing all the time.
        park.looks_away_and_back().await;
        park.sees("main[data-state=OE-1]").await;
        assert!(!park.reads("[data-tenure-status]").await.contains(|c: char| c.is_ascii_digit()));
        park.types("[name=message]", "After lunch").await;
        // Others read that he has been editing since he came back, which is true.
        let resumed = story.holder().await.expect("he goes on");
        assert_eq!(resumed.generation, opened.generation);
        assert_eq!(resumed.since, opened.since + Duration::from_secs(3600));
        saves(&park).await;
        assert_eq!(park.reads("dd.typed").await, "After lunch");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lapsed_lease_with_changes_is_compared_and_nothing_is_lost() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=message]", "Before lunch").await;
    park.gets_heartbeats_through(false).await;
    story.clock.advance(Duration::from_secs(3600));
    let olivia = story.person("olivia").await;
    olivia.goes_to(SHIPPING).await;
    olivia.types("[name='address.line2']", "Third floor").await;
    saves(&olivia).await;
    park.gets_heartbeats_through(true).await;
    park.looks_away_and_back().await;
    park.sees("main[data-state=OE-25] form[data-tenure-state=moved]").await;
    let said = park.reads("[data-tenure-status]").await;
    assert!(said.contains("Olivia Reed changed the shipping details"), "{said}");
    park.photo("lapsed-changed").await;
    // It is compared before anything is saved.
    park.clicks("[data-tenure-action=save]").await;
    park.sees("main[data-state=CP-1]").await;
    park.clicks("[name=both]").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert!(park.reads("main").await.contains("Third floor") && park.reads("main").await.contains("Before lunch"));
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_order_keeps_the_typed_text() {
    for language in ["en", "ko"] {
        let story = Story::begin().await;
        let minji = open_in(&story, "minji", language).await;
        minji.goes_to(SHIPPING).await;
        minji.types("[name=message]", "Nobody will read this").await;
        story.deletes_the_order().await;
        minji.sees("#shipping[data-tenure-state=lost]").await;
        assert_eq!(minji.value("[name=message]").await, "Nobody will read this");
        minji.photo(&format!("{language}-deleted")).await;
        minji.finds::<()>("(document.forms.shipping.requestSubmit(), null)").await;
        minji.sees("main[data-state=LP-18]").await;
        assert!(minji.reads("main").await.contains("Nobody will read this"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_around_a_form_do_not_contradict_each_other() {
    let story = Story::begin().await;
    let (minji, park) = (story.person("minji").await, story.person("park").await);
    minji.edits_the_order().await;
    park.goes_to(&format!("/orders/{ORDER}")).await;
    assert!(park.reads(".line").await.contains("김민지"));
    assert!(!park.finds::<bool>(&format!("document.querySelector(\"{START}\").classList.contains('main')")).await);
    ships_anyway(&park).await;
    // Her form is still open; but nothing will change any more.
    assert!(park.finds::<bool>("!document.querySelector('.line .face')").await);
    park.goes_to("/orders").await;
    assert!(!park.reads("main").await.contains("김민지 has been editing"));
    minji.looks_away_and_back().await;
    minji.sees("main[data-state=OE-15]").await;
    assert!(!minji.reads("main").await.contains("You are editing"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_meets_a_change_has_a_page_of_its_own() {
    for (language, title) in
        [("en", "Order 2026-000300 was not cancelled"), ("ko", "주문 2026-000300: 취소하지 않았습니다")]
    {
        let story = Story::begin().await;
        let (minji, park) = (open_in(&story, "minji", language).await, story.person("park").await);
        minji.goes_to(&format!("/orders/{ORDER}")).await;
        park.goes_to(SHIPPING).await;
        park.types("[name=message]", "Ring twice").await;
        saves(&park).await;
        minji.clicks("details.confirm summary").await;
        minji.clicks("form[action$='/cancel'] button").await;
        minji.sees("main[data-state^=CP]").await;
        assert_eq!(minji.reads("h1").await, title);
        minji.photo(&format!("{language}-command-conflict")).await;
        minji.reloads().await;
        assert_eq!(minji.reads("h1").await, title);
        assert!(!minji.reads("main").await.to_lowercase().contains("version"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn oneself_is_you_in_every_language() {
    for (language, you, never) in [("en", "you moved", "김민지 ended"), ("ko", "다른 탭", "moved")] {
        let story = Story::begin().await;
        let there = open_in(&story, "minji", language).await;
        there.edits_the_order().await;
        let here = open_in(&story, "minji", language).await;
        here.goes_to(&format!("/orders/{ORDER}")).await;
        here.clicks(EDIT).await;
        here.sees("main[data-state=LP-16]").await;
        here.clicks("form[action$='/move-here'] button").await;
        here.sees("main[data-state=OE-1] form[data-tenure-state=held]").await;
        there.sees("form[data-tenure-state=lost]").await;
        let said = there.reads("[data-tenure-status]").await;
        assert!(!said.contains(never), "{said}");
        // The open form may be in this state, too: the answer is another page.
        there.finds::<()>("(document.body.id = 'before', document.forms.edit.requestSubmit(), null)").await;
        there.sees("body:not(#before) main[data-state=OE-12]").await;
        let page = there.reads("main").await;
        assert!(page.contains(you) && !page.contains(never), "{page}");
        there.photo(&format!("{language}-moved-to-another-tab")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn language_switch_works_everywhere_and_keeps_the_text() {
    let story = Story::begin().await;
    let (minji, park) = (story.person("minji").await, story.person("park").await);
    minji.goes_to(SHIPPING).await;
    minji.gets_nothing_from(&["*/beat?*"]).await;
    park.goes_to(SHIPPING).await;
    park.types("[name=message]", "Ring twice").await;
    saves(&park).await;
    minji.types("[name='address.line1']", "Sejong-daero 9").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("main[data-state=CP-1]").await;
    minji.opens_the_menu().await;
    minji.clicks("header .language").await;
    minji.sees("html[lang=ko] main[data-state=CP-1]").await;
    assert!(minji.reads("main").await.contains("Sejong-daero 9"));
}
