//! Keyboard use without a mouse.

use browser::{EDIT, Key, ORDER, Story};

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_edit_can_be_done_by_keyboard_alone() {
    let story = Story::begin().await;
    let park = story.visitor().await;
    park.goes_to(&format!("/orders/{ORDER}")).await;
    park.tabs_to("#login").await;
    park.presses("park").await;
    park.tabs_to("#password").await;
    park.presses("tenure-demo").await;
    park.presses(Key::Enter).await;
    park.tabs_to(EDIT).await;
    park.presses(Key::Enter).await;
    park.sees("main[data-state=OE-1] form[data-tenure-state=held]").await;
    park.tabs_to("[name=message]").await;
    park.presses(Key::Control + "a").await;
    park.presses("Typed without a mouse").await;
    park.tabs_to("[data-tenure-action=save]").await;
    park.photo("focus").await;
    park.presses(Key::Enter).await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(park.reads("dd.typed").await, "Typed without a mouse");
}

#[tokio::test(flavor = "multi_thread")]
async fn focus_is_always_visible() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    let outline =
        "((style) => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== 'none')
        (getComputedStyle(document.activeElement))";
    for stop in ["header .brand", "[name=message]", "[type=checkbox]", "[data-tenure-action=save]", "[form=leave]"] {
        park.tabs_to(stop).await;
        assert!(park.finds::<bool>(outline).await, "{stop} has the focus and does not show it");
    }
}
