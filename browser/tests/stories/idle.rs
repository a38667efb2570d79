//! Presence is the person's: an open form with nobody at it warns, and gives the order back.

use std::time::Duration;

use browser::{ORDER, Person, Story};

const SHIPPING: &str = "/orders/2026-000300/shipping";

/// Nobody is at this page for so long: by its own clock, and by the shop's. It goes on sending heartbeats.
async fn is_away_for(person: &Person, story: &Story, minutes: u64) {
    const LIMIT: u64 = 15 * 60;
    for away in (2..=minutes).step_by(2) {
        let later = "(Date.now = ((now) => () => now() + 120000)(Date.now), null)";
        person.finds::<()>(later).await;
        story.clock.advance(Duration::from_secs(120));
        // Three minutes are left at the twelfth, and none at the sixteenth.
        let left = Duration::from_secs(LIMIT.saturating_sub(away * 60).min(300));
        story.until_remaining("a beat", |remaining| remaining.abs_diff(left) <= Duration::from_secs(60)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_person_is_asked_and_any_key_continues() {
    for (language, told) in [("en", "Are you still there?"), ("ko", "계속")] {
        let story = Story::begin().await;
        let minji = story.reader_of(language).await;
        minji.has_a_quick_heart().await;
        minji.sign_in("minji").await;
        minji.goes_to(SHIPPING).await;
        minji.types("[name=message]", "Ring ").await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        is_away_for(&minji, &story, 14).await;
        minji.sees_status(told).await;
        minji.photo(&format!("{language}-idle")).await;
        minji.looks_away_and_back().await;
        assert!(minji.reads("[data-tenure-status]").await.contains(told), "a page that is only looked at is idle");
        minji.presses("twice").await;
        minji
            .waits_until(&format!("!document.querySelector('[data-tenure-status]').textContent.includes('{told}')"))
            .await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        assert_eq!(minji.value("[name=message]").await, "Ring twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_person_loses_the_order_and_keeps_the_text() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.has_a_quick_heart().await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring ").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    is_away_for(&minji, &story, 16).await;
    story.until_remaining("the idle limit", |left| left.is_zero()).await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.clicks("[form=leave]").await;
    // Nothing was saved meanwhile: any key continues.
    story.until_remaining("he has left", |left| left.is_zero()).await;
    minji.presses("twice").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    assert_eq!(minji.value("[name=message]").await, "Ring twice");
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(minji.reads("dd.typed").await, "Ring twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_and_is_not_there_takes_no_lock_until_the_next_key() {
    let story = Story::begin().await;
    let (park, minji) = (story.person("park").await, story.person("minji").await);
    park.goes_to(SHIPPING).await;
    park.types("[name='address.line2']", "Third floor").await;
    park.sees("#shipping[data-tenure-state=held]").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring ").await;
    minji.sees("#shipping[data-tenure-state=refused]").await;
    minji.finds::<()>("(Date.now = ((now) => () => now() + 40000)(Date.now), null)").await;
    park.clicks("[form=leave]").await;
    minji.sees("#shipping[data-tenure-state=free]").await;
    assert!(minji.reads("[data-tenure-status]").await.contains("not reserved for you now"));
    assert!(story.holder().await.is_none());
    minji.presses("twice").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    super::saves(&minji).await;
    assert_eq!(minji.reads("dd.typed").await, "Ring twice");
}
