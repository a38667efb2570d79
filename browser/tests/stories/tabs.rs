//! One lock id per tab: a duplicate of a form's tab is another form, and ends nothing of the first.

use std::time::Duration;

use browser::{ORDER, Person, Story};

const SHIPPING: &str = "/orders/2026-000300/shipping";
const FORM_ID: &str = "form[data-tenure-form] [name=form_id]";

async fn is_still_held_by_the_first_tab(story: &Story, park: &Person, generation: i64) {
    park.turns_to_tab(0).await;
    park.looks_away_and_back().await;
    park.sees("form[data-tenure-state=held]").await;
    let holder = story.holder().await.expect("the first tab holds it");
    assert_eq!((holder.generation, holder.remaining), (generation, Duration::from_secs(300)));
}

async fn edits_in_two_tabs(story: &Story) -> (Person, i64) {
    let park = story.person("park").await;
    park.edits_the_order().await;
    let generation = story.holder().await.expect("he edits").generation;
    let first = park.value(FORM_ID).await;
    park.duplicates_the_tab().await;
    park.sees("main[data-state=LP-16] form[data-tenure-state=refused]").await;
    assert_ne!(park.value(FORM_ID).await, first);
    (park, generation)
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_duplicated_tab_ends_nothing_of_the_first() {
    let story = Story::begin().await;
    let (park, generation) = edits_in_two_tabs(&story).await;
    park.photo("duplicate").await;
    park.closes_this_tab().await;
    is_still_held_by_the_first_tab(&story, &park, generation).await;
    assert_eq!(park.complaints().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_a_duplicated_tab_ends_nothing_of_the_first() {
    let story = Story::begin().await;
    let (park, generation) = edits_in_two_tabs(&story).await;
    park.clicks("[form=leave]").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    is_still_held_by_the_first_tab(&story, &park, generation).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_offers_to_move_what_is_edited_in_another_tab_while_it_is() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.opens_a_tab().await;
    park.goes_to(&format!("/orders/{ORDER}")).await;
    park.sees("main[data-state=OV-3] form[action$=move-here] button").await;
    park.turns_to_tab(0).await;
    park.clicks("[form=leave]").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    park.turns_to_tab(1).await;
    park.sees("main[data-state=OV-1]").await;
    assert_eq!(park.finds::<f64>("document.querySelector('form[action$=move-here] button').offsetWidth").await, 0.0);
    park.photo("not-edited-elsewhere").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn editing_moves_to_the_duplicate_and_back_to_nobody() {
    let story = Story::begin().await;
    let (park, generation) = edits_in_two_tabs(&story).await;
    park.clicks("[data-tenure-action=move]").await;
    park.sees("form[data-tenure-state=held]").await;
    assert!(story.holder().await.expect("the second tab").generation > generation);
    park.types("[name=message]", "In the second tab").await;
    park.turns_to_tab(0).await;
    park.sees("main[data-state=OE-12] form[data-tenure-state=lost]").await;
    park.turns_to_tab(1).await;
    super::saves(&park).await;
    assert_eq!(park.reads("dd.typed").await, "In the second tab");
}

#[tokio::test(flavor = "multi_thread")]
async fn reload_and_back_keep_the_form() {
    let story = Story::begin().await;
    for person in [story.person("park").await, story.person_without_memory("park").await] {
        person.edits_the_order().await;
        let form = person.value(FORM_ID).await;
        person.reloads().await;
        person.sees("form[data-tenure-state=held]").await;
        person.clicks("header .brand").await;
        person.waits_until("location.pathname === '/orders'").await;
        person.goes_back().await;
        person.sees("form[data-tenure-state=held]").await;
        // Longer than a page waits for its form: it would be another one by then.
        person.waits_until("performance.now() > 2500").await;
        assert_eq!(person.value(FORM_ID).await, form);
        person.sees("form[data-tenure-state=held]").await;
        person.clicks("[form=leave]").await;
        story.until_remaining("the end of the lease", |left| left.is_zero()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn page_that_hangs_after_its_reload_keeps_the_form() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    let form = park.value(FORM_ID).await;
    // As the layout of a very long text does.
    let hangs = "addEventListener('DOMContentLoaded', () => { const end = performance.now() + 1500; while (performance.now() < end); })";
    park.runs_before_each_page(hangs).await;
    park.reloads().await;
    // Longer than a page asks for its form: it would be another one by then.
    park.waits_until("performance.now() > 4000").await;
    park.sees("form[data-tenure-state=held]").await;
    assert_eq!(park.value(FORM_ID).await, form);
}

#[tokio::test(flavor = "multi_thread")]
async fn own_page_that_was_just_left_does_not_refuse_a_save() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring twice").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    // The same page again, within the grace of the one before; nothing is typed, so it asks for no lease.
    minji.goes_to(SHIPPING).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(story.versions().await, 1, "nothing was different");
}

#[tokio::test(flavor = "multi_thread")]
async fn editing_moves_into_the_form_in_which_the_text_was_typed() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.opens_a_tab().await;
    park.goes_to(SHIPPING).await;
    park.gets_nothing_from(&["*/beat?*"]).await;
    park.types("[name='address.line1']", "Seojak-ro 40").await;
    park.presses(browser::Key::Enter).await;
    park.sees("main[data-state=LP-16] form.moves button").await;
    park.gets_nothing_from(&[]).await;
    park.clicks("form.moves button").await;
    park.sees("#shipping[data-tenure-state=held]").await;
    assert_eq!(park.value("[name='address.line1']").await, "Seojak-ro 40");
    super::saves(&park).await;
    assert!(park.reads("main").await.contains("Seojak-ro 40"));
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_another_tab_has_saved_is_not_offered_any_more() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring twice").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    minji.opens_a_tab().await;
    minji.goes_to(SHIPPING).await;
    minji.sees("[data-tenure-draft-restore]").await;
    minji.turns_to_tab(0).await;
    super::saves(&minji).await;
    minji.turns_to_tab(1).await;
    minji.waits_until("document.querySelector('[data-tenure-draft]').hidden").await;
}
