//! A lost lease: the form says so, keeps the typed text, and takes more.

use std::time::Duration;

use browser::{ORDER, Person, Story};

const TTL: Duration = Duration::from_secs(300);

/// Olivia ends the editing of the order, as operators can.
async fn olivia_ends_the_editing(story: &Story, reason: &str) {
    let olivia = story.person("olivia").await;
    olivia.goes_to("/locks").await;
    olivia.photo("locks").await;
    olivia.clicks("details.confirm summary").await;
    olivia.types("details.confirm [name=reason]", reason).await;
    olivia.photo("locks-end").await;
    olivia.clicks("details.confirm .danger").await;
    olivia.waits_until("!document.querySelector('details.confirm')").await;
}

/// Everything is still there, and one key more; there is one way to continue.
async fn sees_that_the_lease_is_lost(person: &Person, text: &str) -> String {
    person.sees("form[data-tenure-state=lost]").await;
    assert_eq!(person.value("[name=message]").await, text);
    person.presses("!").await;
    assert_eq!(person.value("[name=message]").await, format!("{text}!"));
    assert!(person.finds::<bool>("document.querySelector('[data-tenure-action=save]').hidden").await);
    person.sees("[data-tenure-action=again]").await;
    person.sees("[data-tenure-banner][role=alert]").await;
    person.reads("[data-tenure-status]").await
}

/// Another person has the order, so that the lease cannot be resumed.
async fn olivia_edits(story: &Story) -> Person {
    let olivia = story.person("olivia").await;
    olivia.edits_the_order().await;
    olivia
}

async fn edits_again_and_saves(person: &Person, text: &str) {
    person.clicks("[data-tenure-action=again]").await;
    person.sees("main[data-state=OE-1] form[data-tenure-state=held]").await;
    assert_eq!(person.value("[name=message]").await, text);
    person.clicks("[data-tenure-action=save]").await;
    person.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(person.reads("dd.typed").await, text);
    assert_eq!(person.complaints().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_lease_keeps_the_text_and_takes_more() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.has_a_quick_heart().await;
    park.edits_the_order().await;
    park.types("[name=message]", "Leave it with the neighbour").await;
    olivia_ends_the_editing(&story, "The parcel goes out now").await;
    let said = sees_that_the_lease_is_lost(&park, "Leave it with the neighbour").await;
    assert!(said.contains("Olivia Reed") && said.contains("The parcel goes out now"), "{said}");
    park.photo("broken").await;
    edits_again_and_saves(&park, "Leave it with the neighbour!").await;
}

/// Minji types, and Olivia ends her editing.
async fn is_ended_while_she_types(story: &Story) -> Person {
    let minji = story.person("minji").await;
    minji.has_a_quick_heart().await;
    minji.goes_to(&format!("/orders/{ORDER}/shipping")).await;
    minji.types("[name=message]", "Leave it with the neighbour").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    olivia_ends_the_editing(story, "The parcel goes out now").await;
    minji.sees("form[data-tenure-state=lost]").await;
    minji
}

#[tokio::test(flavor = "multi_thread")]
async fn reload_of_a_form_whose_lock_was_ended_tells_the_reason_and_takes_nothing() {
    let story = Story::begin().await;
    let minji = is_ended_while_she_types(&story).await;
    for reload in ["first", "second"] {
        minji.reloads().await;
        minji.sees("form[data-tenure-state=lost]").await;
        let said = minji.reads("[data-tenure-status]").await;
        assert!(said.contains("The parcel goes out now"), "{reload}: {said}");
        assert!(story.holder().await.is_none(), "{reload}");
    }
    minji.photo("ended-and-reloaded").await;
    minji.clicks("[name=message]").await;
    minji.presses(browser::Key::End).await;
    sees_that_the_lease_is_lost(&minji, "Leave it with the neighbour").await;
    minji.clicks("[data-tenure-action=again]").await;
    minji.sees("form[data-tenure-state=held]").await;
    super::saves(&minji).await;
    assert_eq!(minji.reads("dd.typed").await, "Leave it with the neighbour!");
}

#[tokio::test(flavor = "multi_thread")]
async fn form_that_is_opened_again_after_its_lock_was_ended_is_a_new_one() {
    let story = Story::begin().await;
    for way in ["left without saving", "left by an address", "left before it heard", "left by [Edit again]"] {
        let minji = story.person("minji").await;
        if way != "left before it heard" {
            minji.has_a_quick_heart().await;
        }
        minji.goes_to(&format!("/orders/{ORDER}/shipping")).await;
        minji.types("[name=message]", "Leave it with the neighbour").await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        if way == "left before it heard" {
            minji.gets_heartbeats_through(false).await;
        }
        olivia_ends_the_editing(&story, "The parcel goes out now").await;
        if way != "left before it heard" {
            minji.sees("form[data-tenure-state=lost]").await;
        }
        match way {
            "left without saving" => minji.clicks("[form=leave]").await,
            "left by [Edit again]" => minji.clicks("[data-tenure-action=again]").await,
            _ => minji.goes_to("/orders").await,
        }
        minji.gets_heartbeats_through(true).await;
        if way != "left by [Edit again]" {
            minji.waits_until("!document.querySelector('#shipping')").await;
            minji.goes_to(&format!("/orders/{ORDER}/shipping")).await;
            // Nor does its reload say how the one before it ended.
            minji.reloads().await;
        }
        minji.sees("#shipping[data-tenure-state=free], #shipping[data-tenure-state=held]").await;
        minji.types("[name=message]", way).await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        super::saves(&minji).await;
        assert_eq!(minji.reads("dd.typed").await, way);
        story.clock.advance(Duration::from_secs(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reload_of_a_form_whose_lock_was_ended_promises_no_reservation_when_the_order_was_saved_since() {
    let story = Story::begin().await;
    let minji = is_ended_while_she_types(&story).await;
    let park = story.person("park").await;
    park.goes_to(&format!("/orders/{ORDER}/shipping")).await;
    park.types("[name=message]", "Ring twice").await;
    super::saves(&park).await;
    minji.gets_heartbeats_through(false).await;
    minji.reloads().await;
    minji.sees("#shipping[data-tenure-state=free]").await;
    assert!(!minji.reads("main").await.contains("reserved for you"));
    minji.gets_heartbeats_through(true).await;
    minji.sees_status("The parcel goes out now").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_form_and_its_comparison_follow_what_is_saved_since() {
    let saves_theirs = async |story: &Story, message: &str| {
        let park = story.person("park").await;
        park.edits_the_order().await;
        park.types("[name=message]", message).await;
        super::saves(&park).await;
    };
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.edits_the_order().await;
    minji.types("[name=message]", "Ring twice").await;
    for at in ["the form", "the comparison"] {
        olivia_ends_the_editing(&story, &format!("It goes out now: {at}")).await;
        minji.sees_status(at).await;
        saves_theirs(&story, at).await;
        minji.sees_status("edited the order").await;
        let said = minji.reads("[data-tenure-status]").await;
        assert!(said.contains(at), "and how it ended: {said}");
        if at == "the form" {
            minji.clicks("[data-tenure-action=again]").await;
            minji.waits_until("location.search.includes('kept')").await;
            minji.sees("#edit[data-tenure-state]").await;
            minji.clicks("[data-tenure-action=save]").await;
            minji.sees("#conflict[data-tenure-state=held]").await;
        }
    }
    assert!(minji.reads("[data-tenure-status]").await.contains("What this page shows as “now” is older"));
    let asks = "[...document.querySelectorAll('#conflict .said p, [data-tenure-choices]')].filter((e) => e.checkVisibility()).map((e) => e.innerText)";
    let asked = minji.finds::<Vec<String>>(asks).await;
    assert!(asked.iter().all(|said| !said.contains("decide") && !said.contains("Choose")), "{asked:?}");
    minji.photo("comparison-ended").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_of_an_ended_form_is_not_called_unsaved_once_it_is_saved() {
    let story = Story::begin().await;
    for way in ["the form", "the page about the refusal"] {
        let minji = story.person("minji").await;
        minji.has_a_quick_heart().await;
        minji.goes_to(&format!("/orders/{ORDER}/shipping")).await;
        minji.types("[name='address.line1']", &format!("Seojak-ro 40, from {way}")).await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        olivia_ends_the_editing(&story, "The parcel goes out now").await;
        minji.sees("form[data-tenure-state=lost]").await;
        if way == "the form" {
            minji.clicks("[data-tenure-action=again]").await;
        } else {
            minji.clicks("[name='address.line1']").await;
            minji.presses(browser::Key::Enter).await;
            minji.sees("main[data-state=OE-11]").await;
            minji.clicks("#again .main").await;
        }
        minji.sees("#shipping[data-tenure-state=held]").await;
        super::saves(&minji).await;
        assert!(minji.reads("main").await.contains(way));
        let shown =
            "[...document.querySelectorAll('.notice')].filter((e) => e.checkVisibility()).map((e) => e.innerText)";
        assert_eq!(minji.finds::<Vec<String>>(shown).await, [""; 0], "{way}");
        minji.goes_to("/orders").await;
        minji.clicks("[data-tenure-drafts]").await;
        minji.waits_until("location.search.includes('only=drafts')").await;
        assert!(!minji.reads("main").await.contains(ORDER), "{way}");
        story.clock.advance(Duration::from_secs(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_met_another_editor_is_offered_once() {
    for way in ["save", "drop"] {
        let story = Story::begin().await;
        let minji = story.person("minji").await;
        minji.has_a_quick_heart().await;
        minji.edits_the_order().await;
        minji.types("[name=message]", "Ring twice").await;
        olivia_ends_the_editing(&story, "The parcel goes out now").await;
        minji.sees("form[data-tenure-state=lost]").await;
        let olivia = olivia_edits(&story).await;
        minji.clicks("[data-tenure-action=again]").await;
        minji.sees("main[data-state=LP-1]").await;
        olivia.clicks("button[form=leave]").await;
        olivia.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        minji.edits_the_order().await;
        if way == "save" {
            super::puts_back_what_was_sent(&minji).await;
            super::saves(&minji).await;
            assert_eq!(minji.reads("dd.typed").await, "Ring twice");
        } else {
            super::drops_what_was_sent(&minji).await;
            minji.goes_to(&format!("/orders/{ORDER}")).await;
        }
        assert!(!minji.reads("main").await.contains("was not saved"), "{way}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reason_of_the_end_is_on_the_orders_page_for_who_was_away() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(&format!("/orders/{ORDER}/shipping")).await;
    minji.types("[name=message]", "Leave it with the neighbour").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    minji.gets_nothing_from(&["*/beat?*", "*/now*", "*/release*"]).await;
    olivia_ends_the_editing(&story, "The parcel goes out now").await;
    minji.closes_this_tab_and_opens_another().await;
    minji.goes_to(&format!("/orders/{ORDER}")).await;
    assert!(minji.reads("main").await.contains("The parcel goes out now"));
    minji.photo("ended-while-away").await;
    minji.goes_to(&format!("/orders/{ORDER}/shipping")).await;
    minji.clicks("[data-tenure-draft-restore]").await;
    // The pressed button is gone, and one goes on in the field.
    assert_eq!(minji.finds::<String>("document.activeElement.name").await, "message");
    minji.sees("#shipping[data-tenure-state=held]").await;
    super::saves(&minji).await;
    assert!(!minji.reads("main").await.contains("The parcel goes out now"), "she has edited since");
}

#[tokio::test(flavor = "multi_thread")]
async fn returning_detects_a_lease_that_expired_and_was_taken() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=message]", "Written before lunch").await;
    // So no heartbeat can detect it.
    park.gets_heartbeats_through(false).await;
    story.clock.advance(TTL + Duration::from_secs(1));
    let olivia = olivia_edits(&story).await;
    park.gets_heartbeats_through(true).await;
    park.looks_away_and_back().await;
    sees_that_the_lease_is_lost(&park, "Written before lunch").await;
    olivia.clicks("[form=leave]").await;
    // She changed nothing: the form goes on by its version, without a word of its person.
    super::saves(&park).await;
    assert_eq!(park.reads("dd.typed").await, "Written before lunch!");
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_order_names_the_new_holder() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=message]", "Written before lunch").await;
    park.gets_heartbeats_through(false).await;
    story.clock.advance(TTL + Duration::from_secs(1));
    let olivia = story.person("olivia").await;
    olivia.edits_the_order().await;
    park.gets_heartbeats_through(true).await;
    park.looks_away_and_back().await;
    let said = sees_that_the_lease_is_lost(&park, "Written before lunch").await;
    assert!(said.contains("Olivia Reed"), "{said}");
    park.photo("taken").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn boxes_of_a_lost_form_can_be_ticked() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    let is_ticked = "document.querySelector('[type=checkbox]').checked";
    assert!(!park.finds::<bool>(is_ticked).await);
    park.gets_heartbeats_through(false).await;
    story.clock.advance(TTL + Duration::from_secs(1));
    let _olivia = olivia_edits(&story).await;
    park.gets_heartbeats_through(true).await;
    park.looks_away_and_back().await;
    park.sees("form[data-tenure-state=lost]").await;
    park.clicks(".tick").await;
    assert!(park.finds::<bool>(is_ticked).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_out_is_reported_and_loses_neither_text_nor_lease() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.has_a_quick_heart().await;
    park.edits_the_order().await;
    park.types("[name=message]", "Written all morning").await;
    park.loses_the_session().await;
    park.sees("form[data-tenure-state=offline]").await;
    assert_ne!(park.reads("[data-tenure-status]").await, "");
    park.types("[name=message]", "Written all morning, and longer").await;
    assert!(story.holder().await.is_some(), "the lease is kept until its time is up");
    park.photo("signed-out").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conflicting_text_of_a_lapsed_form_is_edited_in_another_form() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=message]", "Before tea").await;
    park.gets_heartbeats_through(false).await;
    story.clock.advance(TTL + Duration::from_secs(1));
    let olivia = story.person("olivia").await;
    olivia.edits_the_order().await;
    olivia.types("[name=message]", "Olivia was here").await;
    super::saves(&olivia).await;
    park.clicks("[data-tenure-action=save]").await;
    park.sees("main[data-state^=CP] [name=edit-first]").await;
    park.gets_heartbeats_through(true).await;
    park.clicks("[name=edit-first]").await;
    park.sees("#edit[data-tenure-state=held]").await;
    assert_eq!(park.value("[name=message]").await, "Before tea");
    let draft = "[document.querySelector('[data-tenure-draft]').hidden, document.querySelector('[data-tenure-draft]').innerText, JSON.stringify(localStorage)]";
    let (hidden, said, stored): (bool, String, String) = park.finds(draft).await;
    assert!(hidden, "the text is in the form, and not offered again: {said} {stored}");
    super::saves(&park).await;
    assert_eq!(park.reads("dd.typed").await, "Before tea");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_text_of_an_ended_form_is_saved_with_the_form_into_which_it_is_put() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    let shipping = format!("/orders/{ORDER}/shipping");
    minji.goes_to(&shipping).await;
    minji.types("[name=message]", "Ring twice").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    minji.types("[name='address.postal_code']", "").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("main[data-state=OE-17]").await;
    olivia_ends_the_editing(&story, "The parcel goes out now").await;
    // Each of these pages is a new form.
    minji.reloads().await;
    minji.reloads().await;
    minji.goes_to(&shipping).await;
    super::puts_back_what_was_sent(&minji).await;
    minji.types("[name='address.postal_code']", "06236").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    super::saves(&minji).await;
    minji.reloads().await;
    assert_eq!(minji.reads("dd.typed").await, "Ring twice");
    assert!(!minji.reads("main").await.contains("not saved"));
}
