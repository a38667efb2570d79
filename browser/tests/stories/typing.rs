//! A field takes every key: in each state of a form, and while the form is asking, with fast, slow and no answers.

use std::time::Duration;

use browser::{ORDER, Person, Story};

use super::saves;

const SHIPPING: &str = "/orders/2026-000300/shipping";
const MESSAGE: &str = "[name=message]";

/// What is typed, pasted and composed by [`writes`].
const WRITTEN: &str = "abcPASTED한글";

/// The times until a heartbeat is answered, in milliseconds. The last one never is.
const ANSWERS: [&str; 4] = ["0", "400", "1200", "Infinity"];

/// Heartbeats of this page are answered after this time from now on.
async fn is_answered_after(person: &Person, ms: &str) {
    let slow = format!(
        "(window.quick ??= fetch, window.fetch = (url, options) => !/beat/.test(url) || {ms} === 0 ? quick(url, options)
            : new Promise((go, fail) => (options.signal.addEventListener('abort', () => fail(new TypeError('aborted'))),
                {ms} < Infinity && setTimeout(go, {ms}))).then(() => quick(url, options)), null)"
    );
    person.finds::<()>(&slow).await;
}

/// Types, pastes and composes at the end of the message, and sees that it all arrived.
async fn writes(person: &Person, during: &str) {
    let before = person.value(MESSAGE).await;
    let to_the_end = "((field) => (field.focus(), field.setSelectionRange(field.value.length, field.value.length)))";
    person.finds::<()>(&format!("{to_the_end}(document.querySelector('{MESSAGE}'))")).await;
    person.presses("abc").await;
    person.pastes("PASTED").await;
    person.composes("한글").await;
    assert_eq!(person.value(MESSAGE).await, format!("{before}{WRITTEN}"), "{during}");
}

async fn opens_the_address(story: &Story, login: &str) -> Person {
    let person = story.person(login).await;
    person.goes_to(SHIPPING).await;
    person.sees("#shipping[data-tenure-state=free]").await;
    person
}

async fn holds_the_address(story: &Story, login: &str) -> Person {
    let person = opens_the_address(story, login).await;
    person.types(MESSAGE, "Ring ").await;
    person.sees("#shipping[data-tenure-state=held]").await;
    person
}

#[tokio::test(flavor = "multi_thread")]
async fn every_key_counts_while_the_lock_is_requested() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    for answer in ANSWERS {
        minji.goes_to(SHIPPING).await;
        minji.sees("#shipping[data-tenure-state=free]").await;
        is_answered_after(&minji, answer).await;
        writes(&minji, answer).await;
        minji.clicks("[form=leave]").await;
        minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_key_counts_on_coming_back_to_the_tab() {
    let story = Story::begin().await;
    let minji = holds_the_address(&story, "minji").await;
    for answer in ANSWERS {
        is_answered_after(&minji, answer).await;
        minji.looks_away_and_back().await;
        writes(&minji, answer).await;
    }
    is_answered_after(&minji, "0").await;
    saves(&minji).await;
    assert_eq!(minji.reads("dd.typed").await, format!("Ring {}", WRITTEN.repeat(4)));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_key_counts_when_the_first_edit_is_refused() {
    let story = Story::begin().await;
    let park = holds_the_address(&story, "park").await;
    for answer in ["0", "400", "1200"] {
        let minji = story.person("minji").await;
        minji.goes_to(SHIPPING).await;
        is_answered_after(&minji, answer).await;
        writes(&minji, answer).await;
        minji.sees("#shipping[data-tenure-state=refused]").await;
        writes(&minji, answer).await;
        minji.looks_away_and_back().await;
        writes(&minji, answer).await;
    }
    park.sees("#shipping[data-tenure-state=held]").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_sentence_is_saved_whole_once_the_order_is_free() {
    let story = Story::begin().await;
    let park = holds_the_address(&story, "park").await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types(MESSAGE, "please ring twice").await;
    minji.sees("#shipping[data-tenure-state=refused]").await;
    park.clicks("[form=leave]").await;
    // The light question finds that the order is free; the text that waits for it takes the lock.
    minji.sees("#shipping[data-tenure-state=held]").await;
    saves(&minji).await;
    assert_eq!(minji.reads("dd.typed").await, "please ring twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_key_counts_when_the_lease_is_lost() {
    let story = Story::begin().await;
    let minji = holds_the_address(&story, "minji").await;
    minji.gets_heartbeats_through(false).await;
    story.clock.advance(Duration::from_secs(301));
    writes(&minji, "its time is over").await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    minji.gets_heartbeats_through(true).await;
    for answer in ["0", "400", "1200"] {
        is_answered_after(&minji, answer).await;
        minji.looks_away_and_back().await;
        writes(&minji, answer).await;
    }
    minji.sees("#shipping[data-tenure-state=lost]").await;
    writes(&minji, "lost").await;
    assert_eq!(minji.drafts().await, 1, "and it is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_key_counts_offline_and_signed_out() {
    let story = Story::begin().await;
    let minji = holds_the_address(&story, "minji").await;
    minji.is_online(false).await;
    minji.looks_away_and_back().await;
    minji.sees("#shipping[data-tenure-state=offline]").await;
    writes(&minji, "offline").await;
    minji.is_online(true).await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    minji.loses_the_session().await;
    minji.looks_away_and_back().await;
    minji.sees("[data-tenure-signin]").await;
    writes(&minji, "signed out").await;
    // The link that was pressed is gone once one is signed in: the focus is where the person goes on.
    minji.finds::<()>("(document.querySelector('[data-tenure-signin]').focus(), null)").await;
    minji.signs_in_in_another_tab("minji").await;
    minji.looks_away_and_back().await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    minji.waits_until("document.activeElement.name === 'message'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_typed_after_a_save_and_taken_back_is_not_called_unsaved() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types(MESSAGE, "Ring").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    saves_on_a_slow_line(&minji).await;
    minji.clicks(MESSAGE).await;
    minji.presses("s").await;
    is_answered(&minji).await;
    let says =
        |is: &str| format!("{is}document.querySelector('[data-tenure-status]').textContent.startsWith('Saved.')");
    minji.waits_until(&says("")).await;
    minji.presses(browser::Key::Backspace).await;
    assert!(minji.finds::<bool>(&says("!")).await, "at once, not with the next heartbeat");
    minji.waits_until("!Object.keys(localStorage).some((key) => key.startsWith('tenure draft'))").await;
}

/// The next save of this page is answered when [`is_answered`] says so.
async fn saves_on_a_slow_line(person: &Person) {
    let slow =
        "(window.send ??= fetch, window.fetch = (url, options) => /beat|now|tenure/.test(url) ? send(url, options)
        : send(url, options).then((answer) => new Promise((go) => (window.arrive = () => go(answer)))), null)";
    person.finds::<()>(slow).await;
    person.clicks("[data-tenure-action=save]").await;
    person.sees("#shipping[data-tenure-state=saving], #edit[data-tenure-state=saving]").await;
}

async fn is_answered(person: &Person) {
    person.waits_until("window.arrive").await;
    person.finds::<()>("(window.fetch = send, window.arrive(), null)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_typed_while_saving_is_the_next_change() {
    for (language, told) in [("en", "Saved."), ("ko", "저장했습니다.")] {
        let story = Story::begin().await;
        let minji = story.reader_of(language).await;
        minji.sign_in("minji").await;
        minji.goes_to(SHIPPING).await;
        minji.types(MESSAGE, "Ring ").await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        let form: String = minji.value("#shipping [name=form_id]").await;
        saves_on_a_slow_line(&minji).await;
        writes(&minji, "saving").await;
        is_answered(&minji).await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        assert!(minji.reads("[data-tenure-status]").await.starts_with(told));
        minji.photo(&format!("{language}-saved-and-more")).await;
        assert_ne!(minji.value("#shipping [name=form_id]").await, form);
        assert_eq!((story.versions().await, minji.path().await.as_str()), (2, SHIPPING));
        writes(&minji, "the next change").await;
        assert_eq!(minji.drafts().await, 1);
        saves(&minji).await;
        assert_eq!(minji.reads("dd.typed").await, format!("Ring {}", WRITTEN.repeat(2)));
        assert_eq!((story.versions().await, minji.drafts().await), (3, 0));
        assert!(story.holder().await.is_none());
        assert_eq!(minji.complaints().await, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn how_a_save_ended_is_not_said_again_above_text_that_is_not_saved() {
    let story = Story::begin().await;
    let minji = holds_the_address(&story, "minji").await;
    saves_on_a_slow_line(&minji).await;
    writes(&minji, "saving").await;
    is_answered(&minji).await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    minji.reloads().await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    assert_eq!(minji.value(MESSAGE).await, format!("Ring {WRITTEN}"));
    assert_eq!(minji.finds::<u32>("document.querySelectorAll('.flash').length").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_typed_after_leaving_was_answered_is_offered() {
    let story = Story::begin().await;
    let minji = holds_the_address(&story, "minji").await;
    // The next page does not come.
    minji.finds::<()>("(navigation.onnavigate = (event) => event.preventDefault(), null)").await;
    minji.clicks("[form=leave]").await;
    minji
        .waits_until(
            "JSON.parse(localStorage[Object.keys(localStorage).find((key) => key.startsWith('tenure draft'))]).dropped",
        )
        .await;
    minji.types(MESSAGE, "Ring twice").await;
    minji.finds::<()>("(navigation.onnavigate = null, null)").await;
    minji.goes_to(SHIPPING).await;
    minji.clicks("[data-tenure-draft-restore]").await;
    assert_eq!(minji.value(MESSAGE).await, "Ring twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_typed_while_the_next_page_loads_is_offered() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types(MESSAGE, "Ring ").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    // The next page does not come.
    minji.finds::<()>("(navigation.onnavigate = (event) => event.preventDefault(), null)").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("#shipping[data-tenure-state=leaving]").await;
    writes(&minji, "leaving").await;
    minji.finds::<()>("(navigation.onnavigate = null, null)").await;
    minji.goes_to(&format!("/orders/{ORDER}")).await;
    minji.sees("[data-tenure-draft-of]").await;
    minji.photo("saved-and-typed-further").await;
    minji.goes_to(SHIPPING).await;
    assert_eq!((story.versions().await, minji.value(MESSAGE).await.as_str()), (2, "Ring"));
    minji.clicks("[data-tenure-draft-restore]").await;
    assert_eq!(minji.value(MESSAGE).await, format!("Ring {WRITTEN}"));
    minji.sees("#shipping[data-tenure-state=held]").await;
    saves(&minji).await;
    assert_eq!(minji.reads("dd.typed").await, format!("Ring {WRITTEN}"));
    assert_eq!((story.versions().await, minji.drafts().await), (3, 0));
    let is_told = "document.querySelector('[data-tenure-draft-of]').checkVisibility()";
    assert!(!minji.finds::<bool>(is_told).await, "all of it is saved");
}

#[tokio::test(flavor = "multi_thread")]
async fn first_edit_without_an_answer_is_not_called_reserved() {
    let story = Story::begin().await;
    let minji = opens_the_address(&story, "minji").await;
    minji.gets_heartbeats_through(false).await;
    let notes_the_end = "(window.fetch = ((quick) => (url, options) => (/beat/.test(url) &&
        options.signal.addEventListener('abort', () => (window.isGivenUp = true)), quick(url, options)))(fetch), null)";
    minji.finds::<()>(notes_the_end).await;
    minji.types(MESSAGE, "Ring").await;
    minji.waits_until("/could not be reserved/.test(document.querySelector('[data-tenure-status]').textContent)").await;
    assert!(!minji.finds::<bool>("Boolean(window.isGivenUp)").await, "it is said before the request is given up");
    minji.gets_heartbeats_through(true).await;
    minji.sees("#shipping[data-tenure-state=held]").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_form_goes_on_after_its_save_too() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types(MESSAGE, "Ring ").await;
    saves_on_a_slow_line(&park).await;
    writes(&park, "saving").await;
    is_answered(&park).await;
    park.sees("#edit[data-tenure-state=held]").await;
    assert_eq!(story.versions().await, 2);
    saves(&park).await;
    assert_eq!(park.reads("dd.typed").await, format!("Ring {WRITTEN}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn form_whose_rows_are_saved_stays_while_somebody_types() {
    for goes_on in ["again", "save"] {
        let story = Story::begin().await;
        let park = story.person("park").await;
        park.edits_the_order().await;
        park.types("[name=new-product]", "Tea").await;
        park.types("[name=new-price]", "9000").await;
        park.types("[name=new-quantity]", "1").await;
        saves_on_a_slow_line(&park).await;
        writes(&park, "saving").await;
        is_answered(&park).await;
        park.sees_status("after that is not saved yet").await;
        assert_eq!((story.order().await.lines().last().expect("a line").product(), park.drafts().await), ("Tea", 1));
        assert!(park.value(MESSAGE).await.ends_with(WRITTEN));
        park.finds::<()>("(window.fetch = window.send, null)").await;
        // By the button that its state has then, or before that is known.
        if goes_on == "again" {
            park.sees("#edit[data-tenure-state=saved]").await;
            park.clicks("[data-tenure-action=again]").await;
            let is_open = "location.search.includes('kept') && document.querySelector('#edit[data-tenure-state=held]')";
            park.waits_until(is_open).await;
            assert!(park.value(MESSAGE).await.ends_with(WRITTEN));
        }
        saves(&park).await;
        assert!(park.reads("dd.typed").await.ends_with(WRITTEN), "{goes_on}");
        assert_eq!(story.order().await.lines().iter().filter(|line| line.product() == "Tea").count(), 1, "{goes_on}");
        assert!(!park.reads("main").await.contains("not save"), "{goes_on}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mistake_is_not_said_any_more_above_its_saved_correction() {
    for form in ["shipping", "edit", "edit with a new product"] {
        let story = Story::begin().await;
        let park = story.person("park").await;
        if form == "shipping" {
            park.goes_to(SHIPPING).await;
            park.sees("form[data-tenure-state]").await;
        } else {
            park.edits_the_order().await;
        }
        if form == "edit with a new product" {
            park.types("[name=new-product]", "Tea").await;
            park.types("[name=new-price]", "9000").await;
            park.types("[name=new-quantity]", "1").await;
        }
        park.types("[name='address.postal_code']", "").await;
        park.clicks("[data-tenure-action=save]").await;
        park.sees("[data-tenure-refused]").await;
        park.sees("#shipping[data-tenure-state], #edit[data-tenure-state]").await;
        park.types("[name='address.postal_code']", "06236").await;
        saves_on_a_slow_line(&park).await;
        writes(&park, "saving").await;
        let said = "[...document.querySelectorAll('[data-tenure-refused]')]
            .filter((said) => said.checkVisibility({ visibilityProperty: true })).length";
        assert_eq!(park.finds::<u32>(said).await, 0, "{form}: it is sent once more");
        is_answered(&park).await;
        park.waits_until("document.querySelector('[data-tenure-status]').textContent.startsWith('Saved.')").await;
        park.photo(&format!("corrected-{}", form.replace(' ', "-"))).await;
        assert_eq!(park.finds::<u32>(said).await, 0, "{form}");
        assert!(!park.finds::<bool>("Boolean(document.querySelector('[aria-invalid=true]'))").await, "{form}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_save_takes_what_was_typed_meanwhile() {
    let story = Story::begin().await;
    let minji = opens_the_address(&story, "minji").await;
    minji.gets_heartbeats_through(false).await;
    let park = story.person("park").await;
    park.goes_to(SHIPPING).await;
    park.types(MESSAGE, "Ring once").await;
    saves(&park).await;
    minji.types(MESSAGE, "Ring ").await;
    saves_on_a_slow_line(&minji).await;
    writes(&minji, "saving").await;
    is_answered(&minji).await;
    minji.sees("main[data-state^=CP]").await;
    assert!(minji.reads("main").await.contains(&format!("Ring {WRITTEN}")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_not_offered_while_a_save_is_in_flight() {
    let story = Story::begin().await;
    let minji = holds_the_address(&story, "minji").await;
    minji.goes_to("/orders").await;
    minji.goes_to(SHIPPING).await;
    minji.sees("[data-tenure-draft-restore]").await;
    minji.types(MESSAGE, "Other text").await;
    saves_on_a_slow_line(&minji).await;
    assert!(minji.finds::<bool>("document.querySelector('[data-tenure-draft]').hidden").await);
    is_answered(&minji).await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(minji.drafts().await, 1, "the other draft is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn undo_and_drag_count_as_typing() {
    let story = Story::begin().await;
    let minji = holds_the_address(&story, "minji").await;
    let typed = minji.value(MESSAGE).await;
    minji.presses("x").await;
    minji.presses(browser::Key::Control + "z").await;
    assert_ne!(minji.value(MESSAGE).await, format!("{typed}x"));
    let dropped = "((field) => (field.focus(), field.select(), document.execCommand('insertText', false, 'Dropped')))";
    minji.finds::<()>(&format!("({dropped}(document.querySelector('{MESSAGE}')), null)")).await;
    let draft = "JSON.parse(localStorage[Object.keys(localStorage).find((key) => key.startsWith('tenure draft'))]).typed.message[0]";
    minji.waits_until(&format!("{draft} === 'Dropped'")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_loser_of_a_command_learns_it_within_five_seconds() {
    let story = Story::begin().await;
    let minji = holds_the_address(&story, "minji").await;
    let park = story.person("park").await;
    park.goes_to(&format!("/orders/{ORDER}")).await;
    park.clicks("form[action='/orders/2026-000300/start-shipping'] button").await;
    park.sees("main[data-state=OV-7]").await;
    let learns = async {
        minji
            .finds::<()>(
                "(window.shipped = null, new MutationObserver(() => window.shipped ??= performance.now()).observe(
            document.querySelector('main'), { attributeFilter: ['data-state'] }), null)",
            )
            .await;
        park.clicks("main .danger").await;
        let began: f64 = minji.finds("performance.now()").await;
        minji.sees("main[data-state=OE-15]").await;
        minji.finds::<f64>("window.shipped").await - began
    };
    let took = learns.await;
    println!("the loser learns it after {took:.0} ms");
    assert!(took < 5_000.0, "{took} ms, without waiting for a heartbeat");
}

#[tokio::test(flavor = "multi_thread")]
async fn cleared_cookies_cost_one_more_request_and_no_save() {
    let story = Story::begin().await;
    let minji = holds_the_address(&story, "minji").await;
    minji.clears_all_cookies().await;
    minji.signs_in_in_another_tab("minji").await;
    writes(&minji, "after signing in again").await;
    saves(&minji).await;
    assert_eq!(minji.reads("dd.typed").await, format!("Ring {WRITTEN}"));
}
