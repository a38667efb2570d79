//! [Drop it]: what the form has then, and that it can be put back.

use std::time::Duration;

use browser::{Person, Story};

const SHIPPING: &str = "/orders/2026-000300/shipping";

#[tokio::test(flavor = "multi_thread")]
async fn form_whose_older_text_is_dropped_has_what_was_saved_since() {
    let opens = async |person: &Person, form: &str| match form {
        "shipping" => person.goes_to(SHIPPING).await,
        _ => person.edits_the_order().await,
    };
    for form in ["shipping", "edit"] {
        let story = Story::begin().await;
        let minji = story.person("minji").await;
        opens(&minji, form).await;
        minji.types("[name=message]", "Mine").await;
        minji.sees("form[data-tenure-state=held]").await;
        minji.goes_to("/orders").await;
        story.clock.advance(Duration::from_secs(11));
        let park = story.person("park").await;
        park.edits_the_order().await;
        park.types("[name=message]", "Saved by Park").await;
        super::saves(&park).await;
        opens(&minji, form).await;
        minji.clicks("[data-tenure-draft-restore]").await;
        minji.waits_until("location.search.includes('kept')").await;
        minji.sees("form[data-tenure-state]").await;
        minji.types("[name=message]", "Mine and more").await;
        minji.reloads().await;
        minji.sees("[data-tenure-draft-discard]").await;
        let shows = "(document.querySelector('[data-tenure-draft-discard]').scrollIntoView({ block: 'center' }), null)";
        minji.finds::<()>(shows).await;
        minji.clicks("[data-tenure-draft-discard]").await;
        minji.waits_until("!location.search && document.querySelector('form[data-tenure-state]')").await;
        assert_eq!(minji.value("[name=message]").await, "Saved by Park", "{form}");
        minji.clicks("[data-tenure-draft-restore]").await;
        minji.waits_until("location.search.includes('kept')").await;
        assert_eq!(minji.value("[name=message]").await, "Mine and more", "{form}");
        minji.sees("form[data-tenure-state=held], form[data-tenure-state=free], form[data-tenure-state=moved]").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn double_click_that_drops_a_draft_does_not_put_it_back() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring twice").await;
    minji.reloads().await;
    minji.waits_until("document.querySelector('[name=message]').value === 'Ring twice'").await;
    minji.double_clicks("[data-tenure-draft-discard]").await;
    minji.sees("[data-tenure-draft-restore]").await;
    let before = minji.value("[name=message]").await;
    assert_ne!(before, "Ring twice");
    minji.clicks("[data-tenure-draft-restore]").await;
    assert_eq!(minji.value("[name=message]").await, "Ring twice");
}
