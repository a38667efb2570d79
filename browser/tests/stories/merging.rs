//! Two people change different fields of one order: the conflict page.

use browser::{Key, ORDER, Person, Story};

use super::layout::wide;

/// A signed-in person with the form for the address open.
async fn at_the_address(story: &Story, login: &str, language: &str) -> Person {
    let person = story.reader_of(language).await;
    person.sign_in(login).await;
    person.goes_to(&format!("/orders/{ORDER}/shipping")).await;
    person
}

#[tokio::test(flavor = "multi_thread")]
async fn both_changes_are_saved_by_keyboard_alone_at_200_percent_zoom() {
    let story = Story::begin().await;
    let mut found = Vec::new();
    for (language, told) in [("en", "your changes and those of 박서연"), ("ko", "내 변경과 박서연 님의 변경")]
    {
        let named = |page: &str| format!("{language}-{page}");
        let minji = at_the_address(&story, "minji", language).await;
        let park = at_the_address(&story, "park", language).await;
        park.types("[name=message]", &named("message")).await;
        park.types("[name='receiver.phone']", &format!("010-7777-000{}", language.len() + named("").len())).await;
        park.clicks("main form .main").await;
        park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;

        minji.types("[name='address.line1']", &named("address")).await;
        minji.presses(Key::Enter).await;
        minji.sees("main[data-state=CP-1]").await;
        minji.photo(&named("both")).await;
        found.extend(wide(&minji, &named("both")).await);
        // What the last of the screens is: a laptop at 200 % zoom.
        minji.tabs_to("[name=both]").await;
        minji.photo(&named("both-focus")).await;
        minji.presses(Key::Enter).await;
        minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        assert!(minji.reads("[role=status]").await.contains(told), "{}", minji.reads("[role=status]").await);
        assert_eq!(minji.reads("dd.typed").await, named("message"));
        found.extend(wide(&minji, &named("both-saved")).await);
        minji.goes_to(&format!("/orders/{ORDER}/shipping")).await;
        assert_eq!(minji.value("[name='address.line1']").await, named("address"));
        // The typed text is saved, so no draft of it returns.
        assert!(minji.finds::<bool>("document.querySelector('[data-tenure-draft]').hidden").await);
        assert_eq!(minji.complaints().await, [""; 0]);
    }
    assert!(found.is_empty(), "pages that scroll sideways: {found:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn form_of_another_order_shows_the_text_and_a_way_back() {
    let story = Story::begin().await;
    for language in ["en", "ko"] {
        let minji = at_the_address(&story, "minji", language).await;
        minji.types("[name=message]", "kept").await;
        minji.finds::<()>("(document.querySelector('[name=version]').value = 'v1.0123456789abcdef', null)").await;
        minji.clicks("main form .main").await;
        minji
            .waits_until(
                "/another order than|다른 주문에서 연/.test(document.querySelector('[data-tenure-status]').textContent)",
            )
            .await;
        minji.photo(&format!("{language}-foreign")).await;
        assert_eq!(minji.value("[name=message]").await, "kept");
        assert_eq!(wide(&minji, &format!("{language}-foreign")).await, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn comparison_says_who_is_editing_now_and_waits_for_the_end() {
    let story = Story::begin().await;
    for (language, who, told) in [
        ("en", "Somebody at the shop", "As soon as that is over, you can save here."),
        ("ko", "상점 담당자", "끝나면 여기에서 저장할 수 있습니다."),
    ] {
        let minji = at_the_address(&story, "minji", language).await;
        let park = at_the_address(&story, "park", language).await;
        park.types("[name=message]", &format!("Theirs {language}")).await;
        park.clicks("main form .main").await;
        park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        minji.types("[name=message]", &format!("Mine {language}")).await;
        minji.clicks("main form .main").await;
        minji.sees("main[data-state=CP-2] [data-tenure-action=save]").await;
        park.edits_the_order().await;
        minji.sees("[data-tenure-banner] [data-tenure-action=retry]").await;
        let said = minji.reads("[data-tenure-status]").await;
        assert!(said.contains(who) && said.ends_with(told), "{said}");
        let about_saving =
            "[...document.querySelectorAll('[data-tenure-action=save]')].map((e) => e.checkVisibility())";
        assert_eq!(minji.finds::<Vec<bool>>(about_saving).await, [false, false], "the button, and what it does");
        let is_clear = "document.querySelector('.said').getBoundingClientRect().bottom
            <= document.querySelector('[data-tenure-banner]').getBoundingClientRect().top";
        assert!(minji.finds::<bool>(is_clear).await, "the banner covers what is said above it");
        minji.photo(&format!("{language}-compared-held")).await;
        park.clicks("[form=leave]").await;
        minji.sees("button[data-tenure-action=save]").await;
        assert!(minji.finds::<bool>("document.querySelector('[data-tenure-banner]').hidden").await);
        minji.clicks(".side.own [name=message]").await;
        minji.clicks("button[data-tenure-action=save]").await;
        minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        assert_eq!(minji.reads("dd.typed").await, format!("Mine {language}"));
        assert_eq!(minji.complaints().await, [""; 0]);
    }
}

/// Park has saved a message, and Minji compares hers with it.
pub(super) async fn compares(story: &Story) -> (Person, Person) {
    let (minji, park) = (at_the_address(story, "minji", "en").await, at_the_address(story, "park", "en").await);
    park.types("[name=message]", "Theirs").await;
    super::saves(&park).await;
    minji.types("[name=message]", "Mine").await;
    minji.clicks("main form .main").await;
    minji.sees("main[data-state=CP-2] [data-tenure-choices]").await;
    (minji, park)
}

/// Park has saved a note, and Olivia compares hers with it.
async fn compares_notes(story: &Story) -> (Person, Person) {
    let [park, olivia] = [story.person("park").await, story.person("olivia").await];
    for person in [&park, &olivia] {
        person.goes_to(&format!("/orders/{ORDER}")).await;
        person.clicks(&format!("form[action='/orders/{ORDER}/note/edit'] button")).await;
        person.types("[name=text]", "Of both").await;
    }
    super::saves(&park).await;
    olivia.types("[name=text]", "Mine").await;
    olivia.clicks("[data-tenure-action=save]").await;
    olivia.sees("form[data-tenure-form^=note] .side.own [name=text]").await;
    (olivia, park)
}

#[tokio::test(flavor = "multi_thread")]
async fn comparison_that_is_over_asks_nobody_to_choose() {
    let story = Story::begin().await;
    let (minji, park) = compares(&story).await;
    park.clicks("form[action$='/start-shipping'] button").await;
    park.sees("main[data-state=OV-6]").await;
    minji.sees("main[data-state=OE-15] [data-tenure-banner] [data-tenure-action=see]").await;
    minji.photo("compared-and-shipped").await;
    let page = minji.reads("main").await;
    for asked in ["Choose", "to decide", "Edit mine first", "Use theirs"] {
        assert!(!page.contains(asked), "{asked}: {page}");
    }
    assert!(page.contains("Mine"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_chosen_stays_chosen_in_another_language() {
    let story = Story::begin().await;
    let (minji, _park) = compares(&story).await;
    minji.clicks("[data-field] .own input[type=radio]").await;
    minji.opens_the_menu().await;
    minji.clicks("a[hreflang=ko]").await;
    minji.sees("html[lang=ko] [data-tenure-choices][data-tenure-done]").await;
    assert!(minji.finds::<bool>("document.querySelector('[data-field] .own input[type=radio]').checked").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn comparison_says_that_something_was_saved_after_it() {
    let story = Story::begin().await;
    let (minji, park) = compares(&story).await;
    park.goes_to(&format!("/orders/{ORDER}/shipping")).await;
    park.types("[name=message]", "Theirs again").await;
    super::saves(&park).await;
    minji.sees("main[data-state=OE-25] [data-tenure-banner]").await;
    let said = minji.reads("[data-tenure-status]").await;
    assert!(said.contains("is older"), "{said}");
    // What she chooses meets what is new.
    minji.clicks(".side.own [name=message]").await;
    minji.clicks("button[data-tenure-action=save]").await;
    minji.waits_until("document.querySelector('.side.theirs').innerText.includes('again')").await;
    minji.clicks(".side.own [name=message]").await;
    minji.clicks("button[data-tenure-action=save]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(minji.reads("dd.typed").await, "Mine");
}

#[tokio::test(flavor = "multi_thread")]
async fn comparison_that_was_saved_in_another_tab_is_over() {
    let story = Story::begin().await;
    for form in ["address", "note"] {
        let (minji, _park) = match form {
            "address" => compares(&story).await,
            _ => compares_notes(&story).await,
        };
        minji.duplicates_the_tab().await;
        minji.clicks(".side.own input").await;
        super::saves(&minji).await;
        assert_eq!(minji.reads(if form == "note" { ".typed.note" } else { "dd.typed" }).await, "Mine");
        minji.turns_to_tab(0).await;
        minji.sees("#conflict[data-tenure-state=saved]").await;
        minji.sees("[data-tenure-banner] [data-tenure-action=see]").await;
        minji.photo(&format!("saved-in-another-tab-{form}")).await;
        let page = minji.reads("main").await;
        for asked in ["Choose", "to decide", "Edit mine first", "Use theirs"] {
            assert!(!page.contains(asked), "{asked}: {page}");
        }
        let choices = "[...document.querySelectorAll('[type=radio]')].some((choice) => choice.checkVisibility())";
        assert!(!minji.finds::<bool>(choices).await, "{form}");
        minji.clicks("[data-tenure-action=see]").await;
        minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        minji.goes_to("/orders?only=drafts").await;
        assert!(!minji.reads("main").await.contains(ORDER), "{form}");
        story.clock.advance(std::time::Duration::from_secs(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_was_dropped_is_named_nowhere() {
    let story = Story::begin().await;
    let (minji, park) = compares(&story).await;
    let is_named_nowhere = async |way: &str| {
        minji.signs_out().await;
        minji.sign_in("minji").await;
        minji.goes_to("/orders?only=drafts").await;
        assert!(!minji.reads("main").await.contains(ORDER), "{way}");
        minji.goes_to(&format!("/orders/{ORDER}")).await;
        assert!(!minji.reads("main").await.contains("not saved"), "{way}");
    };
    minji.clicks("[form=leave]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    is_named_nowhere("the comparison").await;
    // A refused form, whose text she drops in another one.
    for way in ["the form", "the order that is shipped"] {
        minji.goes_to(&format!("/orders/{ORDER}/shipping")).await;
        minji.types("[name='address.postal_code']", "").await;
        minji.types("[name=message]", way).await;
        minji.clicks("[data-tenure-action=save]").await;
        minji.sees("main[data-state=OE-17]").await;
        if way == "the form" {
            minji.closes_this_tab_and_opens_another().await;
            minji.goes_to(&format!("/orders/{ORDER}/shipping")).await;
            super::drops_what_was_sent(&minji).await;
        } else {
            minji.clicks("[form=leave]").await;
            minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
            minji.goes_to(&format!("/orders/{ORDER}/shipping")).await;
            assert!(minji.reads("[data-tenure-sent]").await.contains("dropped"));
            super::puts_back_what_was_sent(&minji).await;
            minji.clicks("[data-tenure-action=save]").await;
            minji.sees("main[data-state=OE-17]").await;
            minji.closes_this_tab_and_opens_another().await;
            park.goes_to(&format!("/orders/{ORDER}")).await;
            story.clock.advance(std::time::Duration::from_secs(400));
            park.clicks("form[action$='/start-shipping'] button").await;
            park.sees("main[data-state=OV-6]").await;
            minji.goes_to(&format!("/orders/{ORDER}")).await;
            minji.clicks("[data-tenure-sent] button").await;
            minji.waits_until("!document.querySelector('[data-tenure-sent]')").await;
        }
        is_named_nowhere(way).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn note_that_is_edited_first_goes_on_when_its_comparison_is_saved_in_another_tab() {
    let story = Story::begin().await;
    let (olivia, _park) = compares_notes(&story).await;
    olivia.duplicates_the_tab().await;
    olivia.turns_to_tab(0).await;
    olivia.clicks("[name=edit-first]").await;
    olivia.types("textarea[name=text]", "Mine, and more").await;
    olivia.turns_to_tab(1).await;
    olivia.clicks(".side.own input").await;
    super::saves(&olivia).await;
    olivia.turns_to_tab(0).await;
    olivia.sees("#note[data-tenure-state=moved] [data-tenure-action=save]").await;
    assert_eq!(olivia.value("[name=text]").await, "Mine, and more");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_change_of_another_leaves_nothing_unsaved() {
    let story = Story::begin().await;
    let (minji, park) = (at_the_address(&story, "minji", "en").await, at_the_address(&story, "park", "en").await);
    for person in [&park, &minji] {
        person.types("[name=message]", "Ring twice").await;
        person.clicks("[data-tenure-action=save]").await;
        person.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    }
    assert!(minji.reads(".flash").await.contains("The same was saved elsewhere"));
    assert_eq!((minji.drafts().await, story.holder().await.is_some()), (0, false));
    assert!(!minji.reads("main").await.contains("not saved"));
}

#[tokio::test(flavor = "multi_thread")]
async fn comparison_whose_choice_was_changed_while_it_was_saved_is_left() {
    let story = Story::begin().await;
    let (minji, _park) = compares(&story).await;
    let slow = "(window.send = fetch, window.fetch = (url, options) => !/[/]shipping$/.test(url) ? send(url, options)
        : send(url, options).then((answer) => new Promise((go) => (window.arrive = () => go(answer)))), null)";
    minji.finds::<()>(slow).await;
    minji.clicks(".side.own input").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until("window.arrive").await;
    minji.clicks(".side.theirs input").await;
    minji.finds::<()>("(window.arrive(), null)").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(minji.reads("dd.typed").await, "Mine");
}
