//! What the pages look like: one row at the top of a phone, the choices of a conflict, earlier versions, paper.

use browser::{Key, ORDER, Person, Story};
use serde_json::json;

use super::saves;

const OWN: &str = ".side.own [name=message]";

/// Minji has typed over a message that Park has saved meanwhile.
async fn two_messages_met(story: &Story, minji: &Person, message: &str) {
    let shipping = format!("/orders/{ORDER}/shipping");
    minji.goes_to(&shipping).await;
    minji.sees("#shipping[data-tenure-state=free]").await;
    minji.gets_nothing_from(&["*/beat?*"]).await;
    let park = story.person("park").await;
    park.goes_to(&shipping).await;
    park.types("[name=message]", "Leave it with the neighbour, please").await;
    saves(&park).await;
    minji.types("[name=message]", message).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("main[data-state=CP-2]").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_counts_the_choices_that_are_left_and_saves_none_unmade() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    two_messages_met(&story, &minji, "Ring twice").await;
    minji
        .waits_until("document.querySelector('[data-tenure-choices]')?.textContent === '1 of 1 still to decide'")
        .await;
    minji.photo("conflict-choices").await;
    minji.clicks("[data-tenure-action=save]").await;
    assert!(
        minji
            .finds::<bool>(&format!(
                "document.activeElement.name === 'message' && !document.querySelector('{OWN}').checked"
            ))
            .await
    );
    minji.presses(Key::Space).await;
    minji.clicks(OWN).await;
    minji
        .waits_until("document.querySelector('[data-tenure-choices]')?.textContent === 'Everything is decided.'")
        .await;
    saves(&minji).await;
    assert_eq!(minji.reads("dd.typed").await, "Ring twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_the_page_says_how_many_choices_there_are() {
    let story = Story::begin().await;
    let (minji, park) = (story.person("minji").await, story.person("park").await);
    minji.has_scripts(false).await;
    for person in [&minji, &park] {
        person.goes_to(&format!("/orders/{ORDER}/shipping")).await;
    }
    park.types("[name=message]", "Leave it with the neighbour").await;
    saves(&park).await;
    minji.types("[name=message]", "Ring twice").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("main[data-state=CP-2]").await;
    assert_eq!(minji.reads("[data-tenure-choices]").await, "1 field to decide");
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("main[data-state=CP-2]").await;
    minji.clicks(OWN).await;
    saves(&minji).await;
    assert_eq!(minji.reads("dd.typed").await, "Ring twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_earlier_version_opens_and_compares_by_keyboard() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    for message in ["Ring at the door, please", "Ring at the gate, please"] {
        park.goes_to(&format!("/orders/{ORDER}/shipping")).await;
        park.types("[name=message]", message).await;
        saves(&park).await;
    }
    park.tabs_to(&format!("a[href$='/{ORDER}/history/2']")).await;
    park.presses(Key::Enter).await;
    park.sees("main[data-state=HI-1]").await;
    assert_eq!(park.reads("dd.typed").await, "Ring at the door, please");
    park.tabs_to(".versions button").await;
    park.presses(Key::Enter).await;
    park.sees("main[data-state=HI-2]").await;
    let words = "[...document.querySelectorAll('del, ins')].map((e) => e.lastChild.textContent)";
    assert_eq!(park.finds::<Vec<String>>(words).await, ["door", "gate"]);
    park.photo("versions").await;
    assert_eq!(park.complaints().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_has_one_row_above_the_page_with_everything_in_it() {
    let story = Story::begin().await;
    for language in ["en", "ko"] {
        let park = story.reader_of(language).await;
        park.sign_in("park").await;
        park.has_a_screen_of(360, 740, 2).await;
        park.goes_to("/orders").await;
        let row = "(document.querySelector('.top').offsetHeight <= 64)
            && [...document.querySelectorAll('.top nav a, .me')].every((e) => e.checkVisibility() && e.getBoundingClientRect().right <= 360)";
        assert!(park.finds::<bool>(row).await);
        park.opens_the_menu().await;
        let inside = "[...document.querySelectorAll('#me a, #me button')].filter((e) => e.checkVisibility() && e.getBoundingClientRect().left >= 0).length";
        assert_eq!(park.finds::<usize>(inside).await, 3, "the account, the language, and the way out");
        park.photo(&format!("{language}-menu-phone")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_printed_order_has_neither_notes_nor_buttons() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.goes_to(&format!("/orders/{ORDER}")).await;
    park.emulates("Emulation.setEmulatedMedia", json!({ "media": "print" })).await;
    let shown =
        |css: &str| format!("[...document.querySelectorAll('{css}')].filter((e) => e.checkVisibility()).length");
    assert_eq!(park.finds::<usize>(&shown("#note, button, .button, .top, .foot, #history")).await, 0);
    assert!(park.finds::<usize>(&shown(".lines tbody tr, .facts dt, h1")).await > 3);
    park.photo("printed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_has_one_main_button_and_signing_out_is_not_it() {
    let story = Story::begin().await;
    let (park, minji) = (story.person("park").await, story.person("minji").await);
    let main =
        "[...document.querySelectorAll('.main')].filter((e) => e.tagName !== 'MAIN' && e.checkVisibility()).length";
    let order = format!("/orders/{ORDER}");
    for (person, path, count) in [
        (&park, "/orders", 0),
        (&park, order.as_str(), 1),
        (&minji, order.as_str(), 1),
        (&minji, &format!("{order}/shipping"), 1),
        (&park, "/account", 0),
        (&park, "/account/password", 1),
    ] {
        person.goes_to(path).await;
        assert_eq!(person.finds::<usize>(main).await, count, "{path}");
        assert!(person.finds::<bool>("!document.querySelector('.top .main')").await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_is_in_the_font_of_the_shop_in_both_languages() {
    let story = Story::begin().await;
    let reader = story.reader_of("ko").await;
    reader.goes_to("/sign-in").await;
    reader.waits_until("document.fonts.status === 'loaded'").await;
    assert!(reader.finds::<bool>("document.fonts.check('16px \"Shop Sans\"', '가나다 abc 123')").await);
    assert_eq!(reader.complaints().await, [""; 0]);
}

/// Each state of the page of a conflict, and of an earlier version: words, accessibility, a picture.
#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_conflict_has_words_a_picture_and_no_barrier() {
    let mut found = Vec::new();
    for language in ["en", "ko"] {
        let story = Story::begin().await;
        let (minji, park) = (story.reader_of(language).await, story.person("park").await);
        minji.sign_in("minji").await;
        let (order, shipping) = (format!("/orders/{ORDER}"), format!("/orders/{ORDER}/shipping"));
        let meets = async |hers: &[(&str, &str)], other: &Person, his: &[(&str, &str)]| {
            minji.gets_nothing_from(&[]).await;
            minji.goes_to(&shipping).await;
            minji.sees("#shipping[data-tenure-state=free]").await;
            minji.gets_nothing_from(&["*/beat?*"]).await;
            other.goes_to(&shipping).await;
            for (field, text) in his {
                other.types(field, text).await;
            }
            saves(other).await;
            for (field, text) in hers {
                minji.types(field, text).await;
            }
            minji.clicks("[data-tenure-action=save]").await;
        };
        let mut looks = async |state: &str, more: &str| {
            // The page before may have the state of the answer already.
            minji.sees(&format!("main[data-state={state}]:not(:has(#shipping))")).await;
            for (screen, width, height) in [("phone", 390, 844), ("desktop", 1280, 900)] {
                minji.has_a_screen_of(width, height, 1).await;
                minji.photo(&format!("{language}-{state}{more}-{screen}")).await;
                found.extend(minji.violations(&format!("{state}{more}, {language}, {screen}")).await);
            }
        };
        meets(&[("[name='address.line1']", "Sejong-daero 9")], &park, &[("[name=message]", "Ring twice")]).await;
        looks("CP-1", "").await;
        meets(&[("[name=message]", "Ring once")], &park, &[("[name=message]", "Do not ring")]).await;
        looks("CP-2", "").await;
        // A third save while she chooses.
        park.goes_to(&shipping).await;
        park.types("[name=message]", "Knock").await;
        saves(&park).await;
        minji.clicks(OWN).await;
        minji.clicks("[data-tenure-action=save]").await;
        minji.waits_until("document.querySelector('main').innerText.includes('Knock')").await;
        looks("CP-2", "-again").await;
        let own = story.person("minji").await;
        meets(&[("[name=message]", "Here")], &own, &[("[name=message]", "There")]).await;
        looks("CP-11", "").await;
        meets(&[("[name=message]", "Too late")], &park, &[("[name=message]", "In time")]).await;
        park.goes_to(&order).await;
        park.clicks("form[action$='/start-shipping'] button").await;
        park.sees(".flash").await;
        minji.clicks(OWN).await;
        minji.clicks("[data-tenure-action=save]").await;
        looks("CP-4", "").await;
        minji.goes_to(&format!("{order}/history/2")).await;
        looks("HI-1", "").await;
        minji.goes_to(&format!("{order}/history/2?with=4")).await;
        looks("HI-2", "").await;
        minji.goes_to(&format!("{order}/history/99")).await;
        looks("HI-3", "").await;
        assert_eq!(minji.complaints().await, [""; 0]);
    }
    assert!(found.is_empty(), "{} of:\n{}", found.len(), found.join("\n"));
}
