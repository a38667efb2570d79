//! [Leave without saving]: the form is left once the shop knows it, and nothing that was typed is lost.

use std::time::Duration;

use browser::{ORDER, Story};
use serde_json::json;

use super::saves;

#[tokio::test(flavor = "multi_thread")]
async fn leaving_on_a_dead_line_loses_nothing() {
    let mut story = Story::begin().await;
    for (language, told) in [("en", "No connection"), ("ko", "연결")] {
        let park = story.reader_of(language).await;
        park.sign_in("park").await;
        park.edits_the_order().await;
        park.types("[name=message]", language).await;
        story.closes().await;
        park.clicks("[form=leave]").await;
        park.sees_status(told).await;
        park.photo(&format!("{language}-left-in-vain")).await;
        assert_eq!(park.value("[name=message]").await, language);
        // It is edited further, or left once the shop answers again.
        park.types("[name=message]", &format!("{language}, twice")).await;
        story.opens_again().await;
        park.clicks("[form=leave]").await;
        park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        story.until_remaining("the end of the lease", |left| left.is_zero()).await;
        park.edits_the_order().await;
        park.clicks("[data-tenure-draft-restore]").await;
        assert_eq!(park.value("[name=message]").await, format!("{language}, twice"));
        saves(&park).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn form_that_is_left_while_its_save_waits_for_the_connection_is_not_saved() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.goes_to(&format!("/orders/{ORDER}/shipping")).await;
    park.types("[name=message]", "Ring twice").await;
    park.sees("#shipping[data-tenure-state=held]").await;
    let before = story.versions().await;
    park.is_online(false).await;
    park.clicks("[data-tenure-action=save]").await;
    park.sees("[data-tenure-stop]").await;
    park.clicks("[form=leave]").await;
    park.sees_status("this form is still open").await;
    park.is_online(true).await;
    park.sees("#shipping[data-tenure-state=held]").await;
    park.clicks("[form=leave]").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(story.versions().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_with_ctrl_leaves_this_tab() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=message]", "Ring twice").await;
    let (x, y): (f64, f64) = park
        .finds("((box) => [box.x + 9, box.y + 9])(document.querySelector('[form=leave]').getBoundingClientRect())")
        .await;
    // The browser would show the answer in another tab, and this form would say for good that it is being edited.
    for event in ["mousePressed", "mouseReleased"] {
        let click = json!({ "type": event, "x": x, "y": y, "button": "left", "clickCount": 1, "modifiers": 2 });
        park.emulates("Input.dispatchMouseEvent", click).await;
    }
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert!(story.holder().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_when_signed_out_says_so_beside_the_text() {
    let story = Story::begin().await;
    for (language, told, other) in
        [("en", "You are signed out", "by somebody else"), ("ko", "로그인이 풀려", "다른 사람이 연 양식")]
    {
        let park = story.reader_of(language).await;
        park.sign_in("park").await;
        park.edits_the_order().await;
        park.types("[name=message]", language).await;
        park.loses_the_session().await;
        park.clicks("[form=leave]").await;
        park.sees_status(told).await;
        park.sees("[data-tenure-signin]").await;
        assert_eq!(park.value("[name=message]").await, language);
        // Nor as somebody else.
        park.clears_all_cookies().await;
        park.signs_in_in_another_tab("lee").await;
        park.clicks("[form=leave]").await;
        park.sees_status(other).await;
        park.sees("[data-tenure-signin]").await;
        assert_eq!(park.value("[name=message]").await, language);
        // Also with the token of another session it can be left then.
        park.clears_all_cookies().await;
        park.signs_in_in_another_tab("park").await;
        park.clicks("[form=leave]").await;
        park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        story.clock.advance(Duration::from_secs(400));
    }
}
