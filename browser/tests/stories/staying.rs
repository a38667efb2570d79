//! An open form keeps its lease, and a left one releases it.

use std::time::Duration;

use browser::Story;

const MINUTE: Duration = Duration::from_secs(60);
const FULL: Duration = Duration::from_secs(300);
/// The remaining lease of a left page.
const GRACE: Duration = Duration::from_secs(10);

async fn generation(story: &Story) -> i64 {
    story.holder().await.expect("the order is being edited").generation
}

#[tokio::test(flavor = "multi_thread")]
async fn open_edit_form_keeps_its_lease_by_heartbeats() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.has_a_quick_heart().await;
    park.edits_the_order().await;
    park.photo("edit").await;
    let generation_at_first = generation(&story).await;
    for _ in 0..3 {
        story.clock.advance(4 * MINUTE);
        story.until_remaining("a beat", |left| left == FULL).await;
    }
    assert_eq!(generation(&story).await, generation_at_first);
    park.sees("form[data-tenure-state=held]").await;
    assert_eq!(park.complaints().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn heartbeats_do_not_move_the_focus() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.has_a_quick_heart().await;
    park.edits_the_order().await;
    park.types("[name=message]", "Ring ").await;
    let beats = "performance.getEntriesByType('resource').filter((entry) => /beat/.test(entry.name)).length";
    let before: u32 = park.finds(beats).await;
    park.waits_until(&format!("{beats} > {before} + 1")).await;
    park.presses("twice").await;
    assert_eq!(park.value("[name=message]").await, "Ring twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_the_page_frees_the_order_within_the_parting_grace() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.clicks("header .brand").await;
    story.until_remaining("a farewell", |left| left <= GRACE).await;
    story.clock.advance(GRACE + Duration::from_millis(1));
    let olivia = story.person("olivia").await;
    olivia.edits_the_order().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn back_to_a_just_left_form_keeps_the_lease() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.has_a_quick_heart().await;
    park.edits_the_order().await;
    let generation_at_first = generation(&story).await;
    park.clicks("header .brand").await;
    story.until_remaining("a farewell", |left| left <= GRACE).await;
    park.goes_back().await;
    park.sees("form[data-tenure-state=held]").await;
    story.until_remaining("a beat after coming back", |left| left == FULL).await;
    assert_eq!(generation(&story).await, generation_at_first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reloaded_edit_form_keeps_its_lease() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.has_a_quick_heart().await;
    park.edits_the_order().await;
    let generation_at_first = generation(&story).await;
    for _ in 0..3 {
        park.reloads().await;
        park.sees("form[data-tenure-state=held]").await;
        // The release of the previous page and the first heartbeat of this one have both happened.
        park.waits_until("performance.getEntriesByType('resource').filter((e) => /beat/.test(e.name)).length > 1")
            .await;
        story.clock.advance(MINUTE);
        story.until_remaining("a beat after reloading", |left| left == FULL).await;
    }
    assert_eq!(generation(&story).await, generation_at_first);
}

/// With the heartbeat interval of the shop: a page that sent no heartbeat by itself would lose its lease here.
#[tokio::test(flavor = "multi_thread")]
async fn typed_text_that_reload_or_back_restores_keeps_its_lease() {
    let story = Story::begin().await;
    let park = story.person_without_memory("park").await;
    park.edits_the_order().await;
    let generation_at_first = generation(&story).await;
    park.types("[name=message]", "Ring twice").await;
    for is_back in [false, true] {
        if is_back {
            park.clicks("header .brand").await;
            story.until_remaining("a farewell", |left| left <= GRACE).await;
            park.goes_back().await;
        } else {
            park.reloads().await;
        }
        park.sees("form[data-tenure-state=held]").await;
        assert_eq!(park.value("[name=message]").await, "Ring twice");
        // The release of the previous page and the first heartbeat of this one have both happened.
        park.waits_until("performance.getEntriesByType('resource').filter((e) => /beat/.test(e.name)).length > 1")
            .await;
        park.presses("!").await;
        story.clock.advance(MINUTE);
        park.looks_away_and_back().await;
        story.until_remaining("a beat after coming back", |left| left == FULL).await;
        assert!(park.reads("[data-tenure-status]").await.starts_with("You are editing"));
    }
    assert_eq!(generation(&story).await, generation_at_first);
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_without_saving_releases_the_order_silently() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=message]", "Never mind").await;
    assert!(!park.is_asked_before(park.clicks("[form=leave]")).await);
    story.until_remaining("the end of the lease", |left| left.is_zero()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_asks_only_after_typing() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    assert!(!park.is_asked_before(park.clicks("header .brand")).await, "nothing was typed");
    story.clock.advance(GRACE + Duration::from_millis(1));
    park.edits_the_order().await;
    park.types("[name=message]", "Wait").await;
    assert!(park.is_asked_before(park.clicks("header .brand")).await, "this would be forgotten");
    story.clock.advance(GRACE + Duration::from_millis(1));
    park.edits_the_order().await;
    park.types("[name=message]", "Saved").await;
    assert!(!park.is_asked_before(park.clicks("[data-tenure-action=save]")).await, "this is being saved");
}

#[tokio::test(flavor = "multi_thread")]
async fn offline_typing_continues_and_the_form_recovers() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.has_a_quick_heart().await;
    park.edits_the_order().await;
    park.is_online(false).await;
    park.sees("form[data-tenure-state=offline]").await;
    park.types("[name=message]", "Typed in a tunnel").await;
    assert!(park.reads("[data-tenure-status]").await.starts_with("No connection."));
    park.photo("offline").await;
    park.is_online(true).await;
    park.sees("form[data-tenure-state=held]").await;
    assert_eq!(park.value("[name=message]").await, "Typed in a tunnel");
    assert!(park.reads("[data-tenure-status]").await.contains("You are editing"));
}

#[tokio::test(flavor = "multi_thread")]
async fn editors_of_one_note_see_each_other() {
    let story = Story::begin().await;
    let (park, olivia) = (story.person("park").await, story.person("olivia").await);
    park.has_a_quick_heart().await;
    for person in [&park, &olivia] {
        person.goes_to("/orders/2026-000300").await;
        person.clicks("form[action='/orders/2026-000300/note/edit'] button").await;
        person.sees("form[action='/orders/2026-000300/note/save']").await;
    }
    assert!(olivia.reads("[data-tenure-banner]").await.contains("박서연"));
    // He was there first, and sees her after his next heartbeat.
    park.sees_status("Olivia Reed").await;
    assert_eq!(park.complaints().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn note_whose_person_is_signed_out_speaks_of_the_note() {
    let story = Story::begin().await;
    for (language, told, never) in [("en", "write in the note", "the order"), ("ko", "메모를 바꾸면", "주문")] {
        let park = story.reader_of(language).await;
        park.sign_in("park").await;
        super::unsaved::opens_the_note(&park).await;
        park.sees("#note[data-tenure-state=held]").await;
        park.types("#note textarea", language).await;
        for way in ["an answer to a heartbeat", "an answer to a save"] {
            park.loses_the_session().await;
            match way {
                "an answer to a heartbeat" => park.looks_away_and_back().await,
                _ => park.clicks("[data-tenure-action=save]").await,
            }
            park.sees_status(told).await;
            park.sees("[data-tenure-signin]").await;
            let said = park.reads("[data-tenure-status]").await;
            assert!(!said.contains(never), "{way}: {said}");
            park.signs_in_in_another_tab("park").await;
            park.looks_away_and_back().await;
            park.sees("#note[data-tenure-state=held]").await;
        }
        super::saves(&park).await;
        story.clock.advance(Duration::from_secs(1));
    }
}
