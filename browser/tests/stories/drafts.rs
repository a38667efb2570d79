//! Typed text is never lost: not by a refused save, nor by leaving the page.

use std::time::Duration;

use browser::{ORDER, Story};

#[tokio::test(flavor = "multi_thread")]
async fn typed_text_survives_a_refused_invalid_save() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=message]", "Third floor, no lift").await;
    park.types("[name='receiver.name']", "").await;
    park.clicks("[data-tenure-action=save]").await;
    park.sees("main[data-state=OE-17] form[data-tenure-state=held]").await;
    assert_eq!(park.value("[name=message]").await, "Third floor, no lift");
    assert!(story.holder().await.is_some(), "the order stays locked while a mistake is corrected");
    park.photo("mistake").await;
    park.types("[name='receiver.name']", "Lee").await;
    park.clicks("[data-tenure-action=save]").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(park.reads("dd.typed").await, "Third floor, no lift");
    assert!(story.holder().await.is_none(), "saving frees the order");
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_text_survives_a_save_by_somebody_else() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(&format!("/orders/{ORDER}/shipping")).await;
    let park = story.person("park").await;
    park.goes_to(&format!("/orders/{ORDER}/shipping")).await;
    park.types("[name=message]", "As the operator wants it").await;
    park.clicks("main form .main").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    minji.types("[name=message]", "As the customer wants it").await;
    minji.clicks("main form .main").await;
    minji.waits_until("document.body.innerText.includes('As the operator wants it')").await;
    let page: String = minji.finds("document.body.innerText").await;
    assert!(page.contains("As the customer wants it") && page.contains("As the operator wants it"), "{page}");
    minji.photo("conflict").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_text_survives_a_save_after_the_lease_ended() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=message]", "Written before lunch").await;
    park.gets_heartbeats_through(false).await;
    story.clock.advance(Duration::from_secs(301));
    let olivia = story.person("olivia").await;
    olivia.edits_the_order().await;
    park.clicks("[data-tenure-action=save]").await;
    park.sees("main[data-state]:not([data-state=OE-1])").await;
    assert!(park.finds::<String>("document.querySelector('main').innerHTML").await.contains("Written before lunch"));
    park.photo("lost").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reopened_form_offers_the_abandoned_draft() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    let saved = park.value("[name=message]").await;
    park.types("[name=message]", "Half a sentence").await;
    park.goes_to("/orders").await;
    story.clock.advance(Duration::from_secs(11));
    park.edits_the_order().await;
    assert_eq!(park.value("[name=message]").await, saved, "a draft is offered, not forced on anybody");
    park.photo("draft").await;
    park.clicks("[data-tenure-draft-restore]").await;
    assert_eq!(park.value("[name=message]").await, "Half a sentence");
    park.clicks("[data-tenure-action=save]").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(park.reads("dd.typed").await, "Half a sentence");
    assert_eq!(park.drafts().await, 0, "saved is no draft any more");
    assert_eq!(park.complaints().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_key_is_in_the_draft_at_once() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    let stored = "((field) => [...'Third floor'].map((key, at, all) => {
        field.value = all.slice(0, at + 1).join('');
        field.dispatchEvent(new InputEvent('input', { bubbles: true }));
        return Object.keys(localStorage).filter((key) => key.startsWith('tenure draft'))
            .map((key) => JSON.parse(localStorage[key]).typed.message[0]).join();
    }))(document.querySelector('[name=message]'))";
    let stored: Vec<String> = park.finds(stored).await;
    let typed: Vec<_> = (1..="Third floor".len()).map(|length| &"Third floor"[..length]).collect();
    assert_eq!(stored, typed, "a tab that crashes now loses nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_double_click_on_save_saves_once() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=message]", "Once is enough").await;
    park.finds::<Option<bool>>("(document.querySelector('[data-tenure-action=save]').click(), document.querySelector('[data-tenure-action=save]').click(), null)").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}' && document.querySelector('dd.typed')")).await;
    assert_eq!(park.reads("dd.typed").await, "Once is enough");
}
