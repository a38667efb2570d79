//! Signing out beside typed text: what it asks, erases and ends, in this tab and in others.

use std::time::Duration;

use browser::{ORDER, Story};

const SHIPPING: &str = "/orders/2026-000300/shipping";

#[tokio::test(flavor = "multi_thread")]
async fn sign_out_in_another_tab_erases_the_text_for_good() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring twice").await;
    assert_eq!(minji.drafts().await, 1);
    minji.opens_a_tab().await;
    minji.goes_to("/orders").await;
    minji.signs_out().await;
    minji.answers(true).await;
    minji.sees("main[data-state=sign-in]").await;
    assert_eq!(minji.drafts().await, 0);
    minji.turns_to_tab(0).await;
    minji.looks_away_and_back().await;
    minji.sees("[data-tenure-signin]").await;
    assert_eq!(minji.drafts().await, 0, "nobody typed since");
}

#[tokio::test(flavor = "multi_thread")]
async fn accepted_sign_out_asks_nothing_more() {
    // The field loses the focus only after the sign-out was sent.
    const SIGNS_OUT: &str = "(confirm = () => true,
        addEventListener('submit', () => document.activeElement.blur()),
        addEventListener('beforeunload', (event) => (sessionStorage.asked = event.defaultPrevented)),
        document.querySelector('form[data-tenure-erase]').requestSubmit(), null)";
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring twice").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    minji.finds::<()>(SIGNS_OUT).await;
    minji.sees("main[data-state=sign-in]").await;
    assert_eq!(minji.finds::<String>("sessionStorage.asked").await, "false");
}

#[tokio::test(flavor = "multi_thread")]
async fn form_does_not_call_the_order_ones_own_while_a_sign_out_hangs() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=message]", "Ring twice").await;
    park.sees("#edit[data-tenure-state=held]").await;
    // The answer does not arrive; its person stops the page once it says something else.
    let hangs = serde_json::json!({ "patterns": [{ "urlPattern": "*/sign-out*", "requestStage": "Response" }] });
    park.emulates("Fetch.enable", hangs).await;
    let stops = "(window.confirm = () => true, setInterval(() => document.querySelector('[data-tenure-status]').textContent.includes('You are editing') || stop(), 50), null)";
    park.finds::<()>(stops).await;
    park.signs_out().await;
    park.sees_status("You are signed out").await;
    assert_eq!(park.value("[name=message]").await, "Ring twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_key_after_a_sign_out_acquires_the_order_again() {
    let story = Story::begin().await;
    for form in ["#shipping", "#edit"] {
        let minji = story.person("minji").await;
        if form == "#edit" {
            minji.edits_the_order().await;
        } else {
            minji.goes_to(SHIPPING).await;
        }
        minji.types("[name=message]", "Ring").await;
        minji.sees(&format!("{form}[data-tenure-state=held]")).await;
        minji.opens_a_tab().await;
        minji.goes_to("/orders").await;
        minji.signs_out().await;
        minji.answers(true).await;
        minji.sees("main[data-state=sign-in]").await;
        minji.sign_in("minji").await;
        minji.turns_to_tab(0).await;
        minji.sees(&format!("{form}[data-tenure-state=free]")).await;
        assert_eq!(minji.drafts().await, 1, "she is signed in again, so that signing out asks for it");
        let said = minji.reads("[data-tenure-status]").await;
        assert!(said.contains("go on typing, and it is yours"), "{said}");
        minji.clicks("[name=message]").await;
        minji.presses(" twice").await;
        minji.sees(&format!("{form}[data-tenure-state=held]")).await;
        minji.clicks("[data-tenure-action=save]").await;
        minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        assert!(minji.reads("dd.typed").await.contains("twice"));
        story.clock.advance(Duration::from_secs(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_out_asks_only_who_typed_and_erases_nobody_elses_text() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring twice").await;
    // Her session expires, and another person signs in in this browser.
    minji.loses_the_session().await;
    minji.sign_in("park").await;
    minji.signs_out().await;
    minji.sees("main[data-state=sign-in]").await;
    assert_eq!(minji.drafts().await, 1);
    minji.sign_in("minji").await;
    minji.signs_out().await;
    minji.answers(true).await;
    minji.sees("main[data-state=sign-in]").await;
    assert_eq!(minji.drafts().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn form_that_ended_with_a_sign_out_says_that_its_text_is_still_there() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.edits_the_order().await;
    minji.opens_a_tab().await;
    minji.goes_to("/orders").await;
    minji.signs_out().await;
    minji.sees("main[data-state=sign-in]").await;
    minji.sign_in("minji").await;
    minji.turns_to_tab(0).await;
    minji.types("[name=message]", "Ring twice").await;
    minji.waits_until("Object.values(localStorage).some((draft) => draft.includes('Ring twice'))").await;
    let form = minji.path().await;
    minji.opens_a_tab().await;
    minji.goes_to(&form).await;
    let main = minji.reads("main").await;
    assert!(main.contains("Ring twice"), "{main}");
}
