//! Text that was refused: the shop keeps it, and offers it above the next form of its kind.

use std::time::Duration;

use browser::{ORDER, Person, Story};

use super::unsaved::{is_refused, named_by_the_server};

const SHIPPING: &str = "/orders/2026-000300/shipping";

/// Opens one of the forms.
async fn opens(park: &Person, form: &str) {
    match form {
        "shipping" => park.goes_to(SHIPPING).await,
        "edit" => park.edits_the_order().await,
        _ => {
            park.goes_to(&format!("/orders/{ORDER}")).await;
            park.clicks("form[action$='/note/edit'] button").await;
        }
    }
    park.sees("form[data-tenure-state]").await;
}

/// Minji's address is refused, and she comes back to the form.
async fn refused_and_opened_again(story: &Story, message: &str) -> Person {
    let minji = story.person("minji").await;
    is_refused(&minji, message).await;
    minji.closes_this_tab_and_opens_another().await;
    story.clock.advance(Duration::from_secs(400));
    minji.goes_to(SHIPPING).await;
    minji
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_was_dropped_and_put_back_is_found_after_signing_out() {
    let story = Story::begin().await;
    let minji = refused_and_opened_again(&story, "Ring twice").await;
    super::drops_what_was_sent(&minji).await;
    super::puts_back_what_was_sent(&minji).await;
    minji.types("[name=message]", "Ring three times").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    assert!(named_by_the_server(&minji).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_was_put_into_another_form_is_saved_with_that() {
    let story = Story::begin().await;
    let minji = refused_and_opened_again(&story, "Ring twice").await;
    minji.is_online(false).await;
    minji.clicks("[data-tenure-sent] button").await;
    minji.sees_status("still open").await;
    minji.is_online(true).await;
    super::puts_back_what_was_sent(&minji).await;
    minji.types("[name='address.postal_code']", "06236").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    super::saves(&minji).await;
    assert_eq!(minji.reads("dd.typed").await, "Ring twice");
    assert!(!named_by_the_server(&minji).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_was_corrected_and_saved_in_another_tab_is_unsaved_in_no_other() {
    for reloads_before in [false, true] {
        let story = Story::begin().await;
        let minji = story.person("minji").await;
        is_refused(&minji, "Ring twice").await;
        minji.opens_a_tab().await;
        minji.goes_to(SHIPPING).await;
        super::puts_back_what_was_sent(&minji).await;
        minji.sees("#shipping[data-tenure-state=refused]").await;
        if reloads_before {
            minji.turns_to_tab(0).await;
            minji.reloads().await;
            minji.sees("#shipping").await;
            minji.turns_to_tab(1).await;
        }
        minji.clicks("[data-tenure-action=move]").await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        minji.types("[name='address.postal_code']", "06236").await;
        super::saves(&minji).await;
        minji.turns_to_tab(0).await;
        minji.reloads().await;
        minji.sees("main[data-state=OE-20]").await;
        assert!(minji.reads("main").await.contains("Ring twice"));
        minji.goes_to("/orders?only=drafts").await;
        assert!(!minji.reads("main").await.contains(ORDER), "before: {reloads_before}");
        assert!(!named_by_the_server(&minji).await, "before: {reloads_before}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_page_of_an_order_does_not_call_text_unsaved_that_was_saved_since() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    is_refused(&minji, "Ring twice").await;
    minji.opens_a_tab().await;
    minji.goes_to(&format!("/orders/{ORDER}")).await;
    assert!(minji.reads("[data-tenure-sent]").await.contains("was not saved"));
    minji.turns_to_tab(0).await;
    minji.types("[name='address.postal_code']", "06236").await;
    super::saves(&minji).await;
    minji.turns_to_tab(1).await;
    minji.waits_until("document.querySelector('[data-tenure-sent]').hidden").await;
    assert!(minji.finds::<bool>("document.querySelector('[data-tenure-draft-of]').hidden").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_with_an_empty_row_is_not_offered_again_once_it_is_put_back() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    for row in [1, 2] {
        for (field, text) in [("product", "Tea"), ("price", "100"), ("quantity", "3")] {
            park.types(&format!("#new-{field}-{row}"), text).await;
        }
        park.clicks("[name=more]").await;
        park.sees(&format!("#new-product-{}", row + 1)).await;
    }
    park.closes_this_tab_and_opens_another().await;
    story.clock.advance(Duration::from_secs(400));
    park.edits_the_order().await;
    let offered = park.reads("[data-tenure-sent]").await;
    assert!(!offered.contains("new-") && offered.contains("product: Tea"), "{offered}");
    park.clicks("[data-tenure-sent] button").await;
    park.sees("#new-product-2").await;
    assert_eq!(park.value("#new-product-2").await, "Tea");
    assert!(!park.finds::<bool>("document.querySelector('[data-tenure-draft]').checkVisibility()").await);
    assert_eq!(park.drafts().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_text_is_offered_once_and_above_each_form() {
    for (language, said) in [("en", "was not saved"), ("ko", "저장되지 않았습니다")] {
        let story = Story::begin().await;
        let park = story.reader_of(language).await;
        park.sign_in("park").await;
        for form in ["shipping", "edit", "note"] {
            let typed = if form == "note" { "[name=text]" } else { "[name=message]" };
            opens(&park, form).await;
            park.types(typed, &format!("In the {form}")).await;
            let wrong = if form == "note" { "x".repeat(4_100) } else { String::new() };
            if form == "note" {
                park.finds::<()>(&format!("(document.querySelector('[name=text]').value += '{wrong}', null)")).await;
            } else {
                park.types("[name='address.postal_code']", "").await;
            }
            park.clicks("[data-tenure-action=save]").await;
            park.sees("main[data-state=OE-17]").await;
            assert_eq!(park.drafts().await, 0, "{form}: the shop keeps it");
            park.closes_this_tab_and_opens_another().await;
            story.clock.advance(Duration::from_secs(400));
            opens(&park, form).await;
            let offer = park.reads("[data-tenure-sent]").await;
            assert!(offer.contains(said) && offer.contains(&format!("In the {form}")), "{form}: {offer}");
            park.photo(&format!("{language}-offered-{form}")).await;
            // Typed on, it is a draft, which has all of it.
            super::puts_back_what_was_sent(&park).await;
            assert!(park.value(typed).await.starts_with(&format!("In the {form}")));
            park.types(typed, &format!("In the {form} again")).await;
            assert_eq!(park.drafts().await, 1, "{form}");
            park.goes_to(&format!("/orders/{ORDER}")).await;
            let named = "[...document.querySelectorAll('[data-tenure-draft-of], [data-tenure-sent]')].filter((place) => place.checkVisibility()).length";
            assert_eq!(park.finds::<u32>(named).await, 1, "{form}");
            park.finds::<()>("(localStorage.clear(), null)").await;
            story.clock.advance(Duration::from_secs(400));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_form_does_not_offer_text_any_more_that_was_saved_elsewhere() {
    let story = Story::begin().await;
    let (here, there) = (story.person("minji").await, story.person("minji").await);
    is_refused(&here, "Ring twice").await;
    there.goes_to(SHIPPING).await;
    assert!(there.reads("[data-tenure-sent]").await.contains("Ring twice"));
    here.types("[name='address.postal_code']", "06236").await;
    super::saves(&here).await;
    there.waits_until("document.querySelector('[data-tenure-sent]').hidden").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_comes_back_with_back_is_not_offered_beside_the_form() {
    let story = Story::begin().await;
    let minji = refused_and_opened_again(&story, "Ring twice").await;
    super::puts_back_what_was_sent(&minji).await;
    minji.types("[name='address.line2']", "Third floor").await;
    assert_eq!(minji.drafts().await, 1);
    minji.goes_back().await;
    minji.waits_until("location.search === '' && document.querySelector('form[data-tenure-state]')").await;
    assert_eq!(minji.value("[name=message]").await, "Ring twice");
    let shown = "[...document.querySelectorAll('[data-tenure-draft], [data-tenure-sent]')].filter((place) => place.checkVisibility()).length";
    assert_eq!(minji.finds::<u32>(shown).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_is_not_called_dropped_before_the_shop_knows() {
    let story = Story::begin().await;
    let minji = refused_and_opened_again(&story, "Ring twice").await;
    minji.is_online(false).await;
    minji.clicks("[data-tenure-sent-discard]").await;
    assert!(minji.reads("[data-tenure-sent]").await.contains("was not saved"));
    minji.is_online(true).await;
    minji.waits_until("document.querySelector('[data-tenure-sent-text]').textContent.includes('dropped')").await;
    assert!(!named_by_the_server(&minji).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_text_in_whose_place_a_draft_is_put_is_named_once() {
    let story = Story::begin().await;
    let (minji, park) = (story.person("minji").await, story.person("park").await);
    minji.goes_to(SHIPPING).await;
    park.goes_to(SHIPPING).await;
    park.types("[name='address.line2']", "Theirs").await;
    super::saves(&park).await;
    minji.types("[name='address.line2']", "Third floor").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("#conflict").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring twice").await;
    minji.goes_to(SHIPPING).await;
    minji.sees("[data-tenure-draft-restore]").await;
    super::puts_back_what_was_sent(&minji).await;
    assert_eq!(minji.value("[name='address.line2']").await, "Third floor");
    let before: f64 = minji.finds("performance.timeOrigin").await;
    minji.clicks("[data-tenure-draft-restore]").await;
    let is_there = "document.querySelector('form[data-tenure-state]')";
    minji.waits_until(&format!("performance.timeOrigin > {before} && {is_there}")).await;
    assert_eq!(minji.value("[name=message]").await, "Ring twice");
    super::saves(&minji).await;
    for page in [format!("/orders/{ORDER}"), SHIPPING.to_owned()] {
        minji.goes_to(&page).await;
        minji.sees("main[data-live=on], form[data-tenure-state]").await;
        let named = "[...document.querySelectorAll('[data-tenure-draft], [data-tenure-draft-of], [data-tenure-sent]')]
            .filter((place) => place.checkVisibility() && place.innerText.includes('Third floor')).length";
        assert_eq!(minji.finds::<u32>(named).await, 1, "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn offered_text_is_not_seen_out_of_the_browsers_memory_before_the_shop_says_whose_it_is() {
    let story = Story::begin().await;
    let minji = refused_and_opened_again(&story, "Ring twice").await;
    minji.sees("[data-tenure-sent]").await;
    let hang = "(window.send = fetch, window.fetch = (url, options) => /beat/.test(url) ? new Promise((go) => (window.arrive = () => go(send(url, options))))
        : send(url, options), null)";
    minji.finds::<()>(hang).await;
    minji.goes_to("/orders").await;
    minji.goes_back().await;
    minji.waits_until("window.arrive").await;
    let is_seen = "document.querySelector('[data-tenure-sent]').checkVisibility()";
    assert!(!minji.finds::<bool>(is_seen).await);
    minji.finds::<()>("(arrive(), null)").await;
    minji.waits_until(is_seen).await;
}

/// Minji's address is refused as "First", then as "First and more words", and she goes back to the page with the first.
async fn refused_twice_and_back(story: &Story) -> Person {
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    let mut page = String::new();
    for message in ["First", "First and more words"] {
        minji.types("[name=message]", message).await;
        minji.types("[name='receiver.phone']", "12").await;
        minji.clicks("[data-tenure-action=save]").await;
        minji
            .waits_until(&format!(
                "location.search.includes('kept') && location.search !== '{page}' && document.querySelector('#shipping[data-tenure-state]')"
            ))
            .await;
        page = minji.finds("location.search").await;
        assert!(!minji.finds::<bool>("Boolean(document.querySelector('[data-tenure-sent]'))").await);
    }
    minji.goes_back().await;
    minji.waits_until(&format!("location.search !== '{page}' && document.querySelector('[data-tenure-sent]')")).await;
    assert_eq!(minji.value("[name=message]").await, "First");
    assert!(minji.reads("[data-tenure-sent]").await.contains("First and more words"));
    minji
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_was_refused_after_the_page_to_which_one_goes_back_stays() {
    let story = Story::begin().await;
    let minji = refused_twice_and_back(&story).await;
    minji.types("[name='receiver.phone']", "010-2222-3333").await;
    // A draft of this form has not got it, nor takes it along.
    for _ in 0..2 {
        minji.reloads().await;
        minji.waits_until("document.querySelector('[name=\"receiver.phone\"]').value.startsWith('010')").await;
        minji.sees("[data-tenure-sent]").await;
    }
    minji.photo("refused-after-this-page").await;
    super::saves(&minji).await;
    assert_eq!(minji.reads("dd.typed").await, "First");
    let page = minji.reads("main").await;
    assert!(page.contains("was not saved") && page.contains("First and more words"), "{page}");
    minji.goes_to(SHIPPING).await;
    super::drops_what_was_sent(&minji).await;
    minji.goes_to(&format!("/orders/{ORDER}")).await;
    assert!(!minji.reads("main").await.contains("was not saved"));
}

#[tokio::test(flavor = "multi_thread")]
async fn draft_of_the_page_to_which_one_went_back_takes_no_later_text_along() {
    for is_outdated in [false, true] {
        let story = Story::begin().await;
        let minji = refused_twice_and_back(&story).await;
        minji.types("[name='address.line2']", "Room 7").await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        minji.closes_this_tab_and_opens_another().await;
        story.clock.advance(Duration::from_secs(400));
        if is_outdated {
            let park = story.person("park").await;
            park.goes_to(SHIPPING).await;
            park.types("[name='address.line1']", "2 Long Street").await;
            park.sees("#shipping[data-tenure-state=held]").await;
            super::saves(&park).await;
        }
        minji.goes_to(SHIPPING).await;
        minji.sees("[data-tenure-draft]").await;
        let is_offered = "document.querySelector('[data-tenure-sent]')?.checkVisibility() && document.querySelector('[data-tenure-sent]').innerText";
        assert!(minji.finds::<String>(is_offered).await.contains("First and more words"), "outdated: {is_outdated}");
        minji.clicks("[data-tenure-draft-restore]").await;
        if is_outdated {
            minji.waits_until("location.search.includes('kept')").await;
        }
        minji.waits_until("document.querySelector('[name=\"address.line2\"]')?.value === 'Room 7'").await;
        minji.types("[name='receiver.phone']", "010-2222-3333").await;
        if is_outdated {
            minji.clicks("[data-tenure-action=save]").await;
            minji.sees("main[data-state=CP-1]").await;
            minji.clicks("[name=both]").await;
            minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        } else {
            super::saves(&minji).await;
        }
        let page = minji.reads("main").await;
        assert!(
            page.contains("was not saved") && page.contains("First and more words"),
            "outdated: {is_outdated}: {page}"
        );
    }
}
