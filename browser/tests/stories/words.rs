//! What is said about an open form, as people see it: one box at a time, nothing covered, nothing internal on paper.

use std::time::Duration;

use browser::{ORDER, Person, Story};
use serde_json::json;

const SHIPPING: &str = "/orders/2026-000300/shipping";

/// The visible boxes: parts with a background or a border of their own, above the fields.
const BOXES: &str =
    "[...document.querySelectorAll('.status > :is(.banner, .notice, .summary)')].filter((e) => e.checkVisibility()
    && getComputedStyle(e).borderTopWidth !== '0px').length";

async fn sends_a_mistake(person: &Person) {
    person.goes_to(SHIPPING).await;
    person.types("[name='receiver.name']", " ").await;
    person.clicks("[data-tenure-action=save]").await;
    person.sees("main .summary").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_box_speaks_at_a_time() {
    let story = Story::begin().await;
    for language in ["en", "ko"] {
        let minji = story.reader_of(language).await;
        minji.sign_in("minji").await;
        // Without a lock, so that others can save meanwhile.
        minji.gets_heartbeats_through(false).await;
        sends_a_mistake(&minji).await;
        minji.photo(&format!("{language}-status-mistake")).await;
        assert_eq!(minji.finds::<u32>(BOXES).await, 1);
        // Text that was typed on an older version, with a mistake beside it: the comparison is folded.
        let park = story.reader_of(language).await;
        park.sign_in("park").await;
        park.goes_to(SHIPPING).await;
        park.types("[name=message]", &format!("{language} of park")).await;
        park.clicks("[data-tenure-action=save]").await;
        park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        minji.reloads().await;
        minji.sees("main .summary").await;
        minji.photo(&format!("{language}-status-mistake-and-moved")).await;
        assert_eq!(minji.finds::<u32>(BOXES).await, 1);
        assert!(!minji.finds::<bool>("document.querySelector('details.fold').open").await);
        minji.clicks("details.fold > summary").await;
        minji.sees("details.fold .compare").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn buttons_of_a_form_cover_no_field_on_a_phone() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.has_a_screen_of(360, 740, 2).await;
    park.clicks("[name=message]").await;
    park.photo("phone-message").await;
    let covered = "((field) => { const box = field.getBoundingClientRect();
        return [0.05, 0.5, 0.95].some((part) => { const there = document.elementFromPoint(box.left + box.width / 2, box.top + box.height * part);
            return there && there !== field && Boolean(there.closest('.bar, .banner')); }); })(document.querySelector('[name=message]'))";
    assert!(!park.finds::<bool>(covered).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn sticky_buttons_are_opaque_in_forced_colours() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    let features = json!({ "features": [{ "name": "forced-colors", "value": "active" }] });
    park.emulates("Emulation.setEmulatedMedia", features).await;
    park.photo("forced-colours").await;
    let colour: String = park.finds("getComputedStyle(document.querySelector('#edit > .bar')).backgroundColor").await;
    assert!(colour.starts_with("rgb("), "{colour}");
}

#[tokio::test(flavor = "multi_thread")]
async fn internal_note_is_not_printed() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.goes_to(&format!("/orders/{ORDER}")).await;
    park.sees("section#note").await;
    park.emulates("Emulation.setEmulatedMedia", json!({ "media": "print" })).await;
    park.photo("print").await;
    assert_eq!(park.finds::<String>("getComputedStyle(document.querySelector('section#note')).display").await, "none");
    assert!(park.finds::<bool>("document.querySelector('.lines').checkVisibility()").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn ones_own_form_that_was_left_is_not_called_another_tab_only() {
    let story = Story::begin().await;
    let olivia = story.person("olivia").await;
    for (language, told) in
        [("en", "on a page that was left or closed a moment ago"), ("ko", "조금 전에 수정 양식에서 나왔거나")]
    {
        let minji = story.reader_of(language).await;
        minji.sign_in("minji").await;
        minji.goes_to(SHIPPING).await;
        olivia.goes_to(SHIPPING).await;
        olivia.types("[name=message]", &format!("At the door, {language}")).await;
        super::saves(&olivia).await;
        minji.types("[name=message]", language).await;
        minji.clicks("[data-tenure-action=save]").await;
        minji.clicks("[name=edit-first]").await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        // As rendered: the page's own question says a moment later that her lease blocks nobody.
        minji.gets_nothing_from(&["*/now?*"]).await;
        minji.goes_back().await;
        minji.sees("main[data-state=LP-16]").await;
        minji.photo(&format!("{language}-left-a-moment-ago")).await;
        assert!(minji.reads("main").await.contains(told));
        minji.gets_nothing_from(&[]).await;
        minji.goes_forward().await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        super::saves(&minji).await;
        story.clock.advance(Duration::from_secs(1));
    }
}
