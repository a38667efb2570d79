//! Text travels only with its version and its person, for every way of restoring it.

use std::time::Duration;

use browser::{ORDER, Person, Story};

use super::saves;

const SHIPPING: &str = "/orders/2026-000300/shipping";
const OPEN: &str = "#shipping[data-tenure-state]";
/// As by an extension that blocks advertisements; the release of a page is lost then.
const NO_BEACON: &str = "(navigator.sendBeacon = () => false, null)";
const HELD: &str = "#shipping[data-tenure-state=held]";

/// The two forms that may contain typed text.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Shipping,
    Whole,
}

const BOTH: [Form; 2] = [Form::Shipping, Form::Whole];

async fn opens(person: &Person, form: Form) {
    match form {
        Form::Shipping => {
            person.goes_to(SHIPPING).await;
            person.sees(OPEN).await;
        }
        Form::Whole => person.edits_the_order().await,
    }
}

async fn types_an_address(person: &Person, street: &str) {
    person.types("[name='address.line1']", street).await;
    person.waits_until("Object.keys(localStorage).some((key) => key.startsWith('tenure draft'))").await;
}

async fn holds_the_order_with_an_address(person: &Person) {
    opens(person, Form::Shipping).await;
    types_an_address(person, "Sejong-daero 9").await;
    person.sees(HELD).await;
}

/// Emma's part of the story is Minji's here, because it is her order: she types a street and leaves; Olivia saves a message.
async fn typed_and_left_then_somebody_saves(story: &Story, form: Form) -> (Person, Person) {
    let (minji, olivia) = (story.person("minji").await, story.person("olivia").await);
    opens(&minji, form).await;
    types_an_address(&minji, "Sejong-daero 9").await;
    minji.goes_to("/orders").await;
    story.clock.advance(Duration::from_secs(11));
    opens(&olivia, Form::Shipping).await;
    olivia.types("[name=message]", "Ring twice").await;
    saves(&olivia).await;
    (minji, olivia)
}

/// In any case both changes are in the order, or she has to decide.
async fn meets_the_other_change_when_saving(minji: &Person) {
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("main[data-state=CP-1] [name=both]").await;
    let page = minji.reads("main").await;
    assert!(page.contains("Sejong-daero 9") && page.contains("Ring twice"), "{page}");
    minji.clicks("[name=both]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    let order = minji.reads("main").await;
    assert!(order.contains("Sejong-daero 9") && order.contains("Ring twice"), "{order}");
    assert_eq!(minji.drafts().await, 0);
    assert_eq!(minji.complaints().await, [""; 0]);
}

async fn puts_the_draft_back_and_meets_the_other_change(minji: &Person) {
    assert!(minji.reads("[data-tenure-draft]").await.contains("on another version"));
    assert_ne!(minji.value("[name='address.line1']").await, "Sejong-daero 9");
    minji.clicks("[data-tenure-draft-restore]").await;
    minji.waits_until("document.querySelector(\"[name='address.line1']\")?.value === 'Sejong-daero 9'").await;
    assert!(minji.reads("main").await.contains("Olivia Reed"), "it names the version of the text");
    meets_the_other_change_when_saving(minji).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn draft_never_overwrites_a_save_made_in_between() {
    for form in BOTH {
        let story = Story::begin().await;
        let (minji, _) = typed_and_left_then_somebody_saves(&story, form).await;
        opens(&minji, form).await;
        minji.photo(if form == Form::Whole { "draft-older-whole" } else { "draft-older" }).await;
        puts_the_draft_back_and_meets_the_other_change(&minji).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn draft_of_one_form_is_not_restored_into_another() {
    let story = Story::begin().await;
    let (minji, _) = typed_and_left_then_somebody_saves(&story, Form::Shipping).await;
    opens(&minji, Form::Whole).await;
    assert!(minji.finds::<bool>("document.querySelector('[data-tenure-draft]').hidden").await);
}

/// Minji types a street and leaves; Olivia corrects the street; Minji goes back, and saves the restored form.
async fn goes_back_to_a_street_that_was_corrected(minji: Person, story: &Story, scripts: bool) {
    minji.has_scripts(scripts).await;
    minji.goes_to(SHIPPING).await;
    minji.sees("#shipping").await;
    minji.types("[name='address.line1']", "Sejong-daero 9").await;
    minji.goes_to("/orders").await;
    story.clock.advance(Duration::from_secs(11));
    let olivia = story.person("olivia").await;
    opens(&olivia, Form::Shipping).await;
    olivia.types("[name='address.line1']", "The corrected street 1").await;
    saves(&olivia).await;
    minji.goes_back().await;
    minji.sees("#shipping").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("main:not([data-state=OE-0b], [data-state=OE-25])").await;
    assert_eq!(story.order().await.shipping().address().line1, "The corrected street 1");
}

#[tokio::test(flavor = "multi_thread")]
async fn back_never_overwrites_a_save_made_in_between() {
    let story = Story::begin().await;
    goes_back_to_a_street_that_was_corrected(story.person("minji").await, &story, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn back_to_fields_that_the_browser_restores_never_saves_over_it() {
    let story = Story::begin().await;
    goes_back_to_a_street_that_was_corrected(story.person_without_memory("minji").await, &story, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn back_without_scripts_never_saves_over_it() {
    let story = Story::begin().await;
    goes_back_to_a_street_that_was_corrected(story.person("minji").await, &story, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn back_without_scripts_to_restored_fields_never_saves_over_it() {
    let story = Story::begin().await;
    goes_back_to_a_street_that_was_corrected(story.person_without_memory("minji").await, &story, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_restored_text_is_offered_on_its_own_version() {
    let story = Story::begin().await;
    let minji = story.person_without_memory("minji").await;
    opens(&minji, Form::Shipping).await;
    types_an_address(&minji, "Sejong-daero 9").await;
    minji.goes_to("/orders").await;
    story.clock.advance(Duration::from_secs(11));
    let olivia = story.person("olivia").await;
    opens(&olivia, Form::Shipping).await;
    olivia.types("[name=message]", "Ring twice").await;
    saves(&olivia).await;
    minji.goes_back().await;
    minji.sees(OPEN).await;
    puts_the_draft_back_and_meets_the_other_change(&minji).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_typed_before_the_script_runs_stays() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.gets_nothing_from(&["*/tenure/tenure.js"]).await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name='address.line1']", "Sejong-daero 9").await;
    assert_eq!(minji.drafts().await, 0, "the script has not run");
    minji.gets_nothing_from(&[]).await;
    minji.finds::<()>("import('/tenure/tenure.js?late').then(() => null)").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    assert_eq!((minji.value("[name='address.line1']").await.as_str(), minji.drafts().await), ("Sejong-daero 9", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn forward_and_reload_bring_the_text_back_on_its_own_version() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to("/orders").await;
    opens(&minji, Form::Shipping).await;
    types_an_address(&minji, "Sejong-daero 9").await;
    let version = minji.value("[name=version]").await;
    minji.reloads().await;
    minji.sees(OPEN).await;
    minji.waits_until("document.querySelector(\"[name='address.line1']\").value === 'Sejong-daero 9'").await;
    minji.photo("draft-back").await;
    minji.goes_back().await;
    minji.waits_until("location.pathname === '/orders'").await;
    minji.goes_forward().await;
    minji.sees(OPEN).await;
    minji.waits_until("document.querySelector(\"[name='address.line1']\").value === 'Sejong-daero 9'").await;
    assert_eq!(minji.value("[name=version]").await, version);
    saves(&minji).await;
    assert!(minji.reads("main").await.contains("Sejong-daero 9"));
}

#[tokio::test(flavor = "multi_thread")]
async fn own_page_in_this_tab_never_counts_as_another_tab() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to("/orders").await;
    holds_the_order_with_an_address(&minji).await;
    minji.finds::<()>(NO_BEACON).await;
    minji.reloads().await;
    minji.sees(HELD).await;
    minji.finds::<()>(NO_BEACON).await;
    minji.goes_back().await;
    minji.waits_until("location.pathname === '/orders'").await;
    minji.goes_forward().await;
    minji.sees(HELD).await;
    saves(&minji).await;
    assert!(minji.reads("main").await.contains("Sejong-daero 9"));
}

#[tokio::test(flavor = "multi_thread")]
async fn page_that_is_left_before_its_first_answer_does_not_count_as_another_tab() {
    // The release of the first page is lost. The second acquires the lock, and does not hear of it.
    const UNHEARD: &str = "window.fetch = ((send) => (to, ...more) => {
        const answer = send(to, ...more);
        if (sessionStorage.hears || !`${to.url ?? to}`.includes('/beat')) return answer;
        return answer.then(() => new Promise(() => { window.arrived = true; }));
    })(window.fetch)";
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    holds_the_order_with_an_address(&minji).await;
    minji.finds::<()>(NO_BEACON).await;
    minji.runs_before_each_page(UNHEARD).await;
    minji.reloads().await;
    minji.waits_until("window.arrived").await;
    minji.finds::<()>("(sessionStorage.hears = 1, null)").await;
    minji.reloads().await;
    minji.sees(HELD).await;
    saves(&minji).await;
    assert!(minji.reads("main").await.contains("Sejong-daero 9"));
}

#[tokio::test(flavor = "multi_thread")]
async fn page_that_is_left_while_it_saves_does_not_count_as_another_tab() {
    // The save hangs, and is given up with its page.
    const HANGS: &str = "(window.send = fetch, window.fetch = (to, ...more) =>
        /[/]shipping$/.test(to) ? new Promise(() => {}) : send(to, ...more), null)";
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    holds_the_order_with_an_address(&minji).await;
    minji.finds::<()>(HANGS).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("#shipping[data-tenure-state=saving]").await;
    minji.reloads().await;
    minji.sees(HELD).await;
    saves(&minji).await;
    assert!(minji.reads("main").await.contains("Sejong-daero 9"));
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_reload_never_counts_as_another_tab() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    holds_the_order_with_an_address(&minji).await;
    minji.finds::<()>(NO_BEACON).await;
    // The next page needs two minutes until its script runs, and its first heartbeat is late.
    minji.runs_before_each_page("Date.now = ((now) => () => now() + 120000)(Date.now)").await;
    minji.gets_heartbeats_through(false).await;
    minji.reloads().await;
    minji.sees("#shipping[data-tenure-state=refused]").await;
    assert!(minji.finds::<bool>("document.querySelector('[data-tenure-banner]').hidden").await, "it was this tab");
    minji.gets_heartbeats_through(true).await;
    minji.looks_away_and_back().await;
    minji.sees(HELD).await;
    assert!(minji.reads("[data-tenure-status]").await.starts_with("You are editing"));
}

#[tokio::test(flavor = "multi_thread")]
async fn reload_after_a_save_restores_nothing_unasked() {
    let story = Story::begin().await;
    let (minji, olivia) = (story.person("minji").await, story.person("olivia").await);
    opens(&minji, Form::Shipping).await;
    minji.gets_nothing_from(&["*/beat?*"]).await;
    types_an_address(&minji, "Sejong-daero 9").await;
    opens(&olivia, Form::Shipping).await;
    olivia.types("[name=message]", "Ring twice").await;
    saves(&olivia).await;
    minji.gets_nothing_from(&[]).await;
    minji.reloads().await;
    minji.sees("[data-tenure-draft-restore]").await;
    puts_the_draft_back_and_meets_the_other_change(&minji).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_and_crashed_tabs_leave_a_draft() {
    for crashed in [false, true] {
        let story = Story::begin().await;
        let minji = story.person("minji").await;
        opens(&minji, Form::Shipping).await;
        types_an_address(&minji, "Sejong-daero 9").await;
        if crashed {
            minji.crashes_and_comes_back().await;
        } else {
            minji.closes_this_tab_and_opens_another().await;
            minji.goes_to(SHIPPING).await;
        }
        minji.sees("[data-tenure-draft-restore]").await;
        assert_ne!(minji.value("[name='address.line1']").await, "Sejong-daero 9");
        minji.clicks("[data-tenure-draft-restore]").await;
        assert_eq!(minji.value("[name='address.line1']").await, "Sejong-daero 9");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_text_is_in_the_form_after_the_language_was_changed() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    for (form, link) in [(Form::Shipping, "a[hreflang=ko]"), (Form::Whole, "a[hreflang=en]")] {
        opens(&minji, form).await;
        types_an_address(&minji, "1 Travelling Street").await;
        minji.opens_the_menu().await;
        minji.clicks(link).await;
        minji.waits_until("new URLSearchParams(location.search).has('lang')").await;
        minji.sees("form[data-tenure-state=held]").await;
        assert_eq!(minji.value("[name='address.line1']").await, "1 Travelling Street");
        assert!(minji.finds::<bool>("document.querySelector('[data-tenure-draft-restore]').hidden").await);
        minji.clicks("[form=leave]").await;
        minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn draft_is_neither_offered_to_nor_saved_by_another_person() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    opens(&park, Form::Shipping).await;
    types_an_address(&park, "Hangang-daero 2").await;
    // His session expires, and another person signs in in the same tab.
    park.loses_the_session().await;
    park.sign_in("olivia").await;
    opens(&park, Form::Shipping).await;
    assert!(park.finds::<bool>("document.querySelector('[data-tenure-draft]').hidden").await);
    assert_ne!(park.value("[name='address.line1']").await, "Hangang-daero 2");
    // When he has signed in again, it is his again.
    park.loses_the_session().await;
    park.sign_in("park").await;
    opens(&park, Form::Shipping).await;
    park.sees("[data-tenure-draft-restore]").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_form_is_not_saved_in_the_name_of_the_next_person() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    opens(&park, Form::Shipping).await;
    types_an_address(&park, "Hangang-daero 2").await;
    park.loses_the_session().await;
    park.signs_in_in_another_tab("olivia").await;
    park.waits_until("document.querySelector('[data-tenure-state]').dataset.tenureState === 'lost'").await;
    assert!(park.reads("[data-tenure-status]").await.contains("somebody else"));
    park.sees("[data-tenure-signin]").await;
    assert_eq!(park.value("[name='address.line1']").await, "Hangang-daero 2");
    park.finds::<()>("(document.forms.shipping.requestSubmit(), null)").await;
    park.waits_until("!/saving/.test(document.forms.shipping.dataset.tenureState)").await;
    assert!(story.order().await.shipping().address().line1 != "Hangang-daero 2");
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_out_erases_drafts_of_this_browser() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    opens(&park, Form::Shipping).await;
    types_an_address(&park, "Hangang-daero 2").await;
    let field = "[name='address.line1']";
    park.signs_out().await;
    park.answers(false).await;
    assert_eq!((park.value(field).await.as_str(), park.drafts().await), ("Hangang-daero 2", 1));
    park.signs_out().await;
    park.answers(true).await;
    park.sees("main[data-state=sign-in]").await;
    assert_eq!(park.drafts().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_typed_is_visible_by_back_after_sign_out() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    opens(&park, Form::Shipping).await;
    types_an_address(&park, "Hangang-daero 2").await;
    park.signs_out().await;
    park.answers(true).await;
    park.sees("main[data-state=sign-in]").await;
    park.goes_back().await;
    park.waits_until(
        "!document.documentElement.outerHTML.includes('Hangang-daero 2') && !document.querySelector('#shipping')",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_draft_can_be_brought_back() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    opens(&park, Form::Shipping).await;
    types_an_address(&park, "Hangang-daero 2").await;
    park.goes_to("/orders").await;
    opens(&park, Form::Shipping).await;
    park.clicks("[data-tenure-draft-discard]").await;
    assert!(park.reads("[data-tenure-draft]").await.contains("dropped"));
    park.photo("draft-dropped").await;
    opens(&park, Form::Shipping).await;
    park.clicks("[data-tenure-draft-restore]").await;
    assert_eq!(park.value("[name='address.line1']").await, "Hangang-daero 2");
    // Leaving without saving drops it too, and it is not offered again.
    park.clicks("[form=leave]").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    opens(&park, Form::Shipping).await;
    assert!(park.reads("[data-tenure-draft]").await.contains("dropped"));
}

#[tokio::test(flavor = "multi_thread")]
async fn taking_their_version_does_not_offer_mine_again() {
    let story = Story::begin().await;
    let (minji, _) = typed_and_left_then_somebody_saves(&story, Form::Shipping).await;
    opens(&minji, Form::Shipping).await;
    minji.clicks("[data-tenure-draft-restore]").await;
    minji.waits_until("document.querySelector(\"[name='address.line1']\")?.value === 'Sejong-daero 9'").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("main[data-state=CP-1]").await;
    minji.clicks("[form=leave]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    opens(&minji, Form::Shipping).await;
    assert!(minji.reads("[data-tenure-sent]").await.contains("dropped"));
    assert!(minji.finds::<bool>("document.querySelector('[data-tenure-draft]').hidden").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn drafts_of_two_tabs_do_not_overwrite_each_other() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    opens(&park, Form::Shipping).await;
    types_an_address(&park, "Hangang-daero 2").await;
    // He was away from the first tab until the lease expired.
    story.clock.advance(Duration::from_secs(301));
    park.opens_a_tab().await;
    opens(&park, Form::Shipping).await;
    park.types("[name='address.line2']", "Third floor").await;
    park.waits_until("Object.keys(localStorage).filter((key) => key.startsWith('tenure draft')).length === 2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_expires_after_a_day() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    opens(&park, Form::Shipping).await;
    types_an_address(&park, "Hangang-daero 2").await;
    park.goes_to("/orders").await;
    let age = "(Object.keys(localStorage).filter((key) => key.startsWith('tenure draft')).forEach((key) => {
        const draft = JSON.parse(localStorage[key]);
        localStorage[key] = JSON.stringify({ ...draft, at: draft.at - 24 * 60 * 60 * 1000 });
    }), null)";
    park.finds::<()>(age).await;
    opens(&park, Form::Shipping).await;
    assert!(park.finds::<bool>("document.querySelector('[data-tenure-draft]').hidden").await);
    assert_eq!(park.drafts().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn added_rows_are_restored_with_the_draft() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    opens(&park, Form::Whole).await;
    park.types("#new-product-1", "Tea").await;
    park.types("#new-price-1", "9000").await;
    park.clicks("[name=more]").await;
    park.types("#new-product-2", "Cup").await;
    park.types("#new-price-2", "12000").await;
    park.waits_until("Object.values(localStorage).some((draft) => draft.includes('Cup') && draft.includes('12000'))")
        .await;
    park.goes_to("/orders").await;
    story.clock.advance(Duration::from_secs(11));
    opens(&park, Form::Whole).await;
    park.clicks("[data-tenure-draft-restore]").await;
    park.sees("#new-product-2").await;
    let rows: Vec<String> =
        park.finds("[...document.querySelectorAll('[name=new-product]')].map((field) => field.value)").await;
    assert_eq!(rows[..2], ["Tea", "Cup"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_typed_beside_a_draft_survives_restoring_it() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    opens(&park, Form::Shipping).await;
    types_an_address(&park, "Typed first").await;
    park.goes_to("/orders").await;
    story.clock.advance(Duration::from_secs(11));
    opens(&park, Form::Shipping).await;
    park.types("[name='address.line1']", "Typed second").await;
    park.finds::<()>("(scrollTo(0, 0), null)").await;
    for there in ["Typed first", "Typed second", "Typed first"] {
        park.clicks("[data-tenure-draft-restore]").await;
        assert_eq!(park.value("[name='address.line1']").await, there);
        assert!(park.reads("[data-tenure-draft-text]").await.contains("that it replaced"), "it is offered at once");
    }
    park.photo("draft-replaced").await;
    saves(&park).await;
    opens(&park, Form::Shipping).await;
    park.clicks("[data-tenure-draft-restore]").await;
    park.waits_until("document.querySelector(\"[name='address.line1']\")?.value === 'Typed second'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_a_draft_does_not_replace_is_saved_with_the_form() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    for (form, first) in [(Form::Shipping, "one"), (Form::Whole, "two")] {
        opens(&park, form).await;
        park.types("[name=message]", first).await;
        park.goes_to("/orders").await;
        story.clock.advance(Duration::from_secs(11));
        opens(&park, form).await;
        park.types("[name='receiver.name']", &format!("Receiver {first}")).await;
        park.types("[name=message]", "replaced").await;
        park.clicks("[data-tenure-draft-restore]").await;
        let said = park.reads("[data-tenure-draft-text]").await;
        assert!(said.contains("replaced") && !said.contains("Receiver"), "{said}");
        // The form as it was left comes back, not what it replaced, which is as old: it is made the first of the two.
        let first_of_two =
            "(Object.keys(localStorage).filter((key) => localStorage[key].includes('replaced')).forEach((key) =>
            (localStorage[key] = localStorage[key].replace(/\"at\":(\\d+)/, (_, at) => `\"at\":${+at + 1}`))), null)";
        park.finds::<()>(first_of_two).await;
        for _ in 0..2 {
            park.reloads().await;
            park.sees("form[data-tenure-state=held]").await;
            assert_eq!(park.value("[name=message]").await, first);
            assert_eq!(park.value("[name='receiver.name']").await, format!("Receiver {first}"));
        }
        saves(&park).await;
        park.waits_until("document.querySelector('[data-tenure-draft-said]')?.checkVisibility()").await;
        let said = park.reads("[data-tenure-draft-said]").await;
        assert!(said.contains("replaced") && !said.contains("Receiver"), "{said}");
        assert_eq!(story.order().await.shipping().receiver().name, format!("Receiver {first}"));
        park.finds::<()>("(localStorage.clear(), null)").await;
    }
}
