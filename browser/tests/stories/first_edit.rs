//! A form that most people open only to read: the first key acquires the lock.

use std::time::Duration;

use browser::{ORDER, Person, Story};
use tenure::{LockPolicy, lease::Acquire};

use super::layout::wide;

const GRACE: Duration = Duration::from_secs(10);
/// The number of heartbeat requests of this page.
const ASKED: &str = "performance.getEntriesByType('resource').filter((entry) => /beat/.test(entry.name)).length";

/// Opens the form for the delivery address.
async fn looks(person: &Person) {
    person.goes_to(&format!("/orders/{ORDER}/shipping")).await;
    person.sees("form[data-tenure-state=free]").await;
}

async fn looks_as(story: &Story, login: &str, language: &str) -> Person {
    let person = story.reader_of(language).await;
    person.sign_in(login).await;
    looks(&person).await;
    person
}

/// Puts the cursor to the end of a field and presses a key there.
async fn begins_to_type(person: &Person, text: &str) {
    person.clicks("[name=message]").await;
    person.presses(browser::Key::End + text).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn first_key_takes_the_lock_and_opening_does_not() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    looks(&minji).await;
    assert!(story.holder().await.is_none());
    begins_to_type(&minji, "R").await;
    minji.sees("form[data-tenure-state=held]").await;
    minji.presses("ing twice").await;
    assert!(minji.value("[name=message]").await.ends_with("Ring twice"));
    assert_eq!(story.holder().await.expect("the first key took it").owner.id, "minji");
    assert!(minji.reads("[data-tenure-status]").await.contains("You are editing"));
    let park = story.person("park").await;
    park.goes_to(&format!("/orders/{ORDER}")).await;
    assert!(park.reads(".line").await.contains("김민지"));
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert!(minji.reads("dd.typed").await.ends_with("Ring twice"));
    assert!(story.holder().await.is_none(), "saving frees the order");
    assert_eq!(minji.complaints().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn first_edit_lock_is_kept_alive_and_released_on_leaving() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.has_a_quick_heart().await;
    looks(&minji).await;
    begins_to_type(&minji, "R").await;
    minji.sees("form[data-tenure-state=held]").await;
    for _ in 0..2 {
        story.clock.advance(Duration::from_secs(240));
        story.until_remaining("a beat", |left| left == Duration::from_secs(300)).await;
    }
    minji.clicks("header .brand").await;
    story.until_remaining("a farewell", |left| left <= GRACE).await;
    // A person who returns at once gets no message about themselves.
    looks(&minji).await;
    begins_to_type(&minji, "R").await;
    minji.sees("form[data-tenure-state=held]").await;
    minji.clicks("[form=leave]").await;
    story.until_remaining("the end of the lease", |left| left.is_zero()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_without_typing_takes_nothing_and_gives_nothing_back() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    looks(&park).await;
    // A wrong release would end another person's lock.
    let minji = story.person("minji").await;
    looks(&minji).await;
    begins_to_type(&minji, "R").await;
    minji.sees("form[data-tenure-state=held]").await;
    park.finds::<()>(
        "(navigator.sendBeacon = (url) => url.endsWith('/left') || (sessionStorage.farewell = url), null)",
    )
    .await;
    park.looks_away_and_back().await;
    park.sees("form[data-tenure-state=refused]").await;
    assert!(!park.is_asked_before(park.clicks("header .brand")).await, "nothing was typed");
    assert!(park.finds::<bool>("!sessionStorage.farewell").await, "there is nothing to say good-bye to");
    assert_eq!(story.holder().await.expect("minji is still there").owner.id, "minji");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_the_order_is_said_also_while_the_next_question_hangs() {
    let story = Story::begin().await;
    let (park, minji) = (looks_as(&story, "park", "en").await, looks_as(&story, "minji", "en").await);
    begins_to_type(&minji, "R").await;
    minji.sees("form[data-tenure-state=held]").await;
    begins_to_type(&park, "Third floor").await;
    park.sees("form[data-tenure-state=refused]").await;
    // What takes five seconds takes a tenth of one, and is over soon after the question.
    let hangs = "(window.real = setTimeout, window.setTimeout = (run, ms, ...rest) => real(run, ms === 5000 ? 100 : ms, ...rest),
        window.send = fetch, window.fetch = (url, options) => /beat/.test(url)
            ? (real(() => (window.isOver = true), 300), new Promise(() => {})) : send(url, options), null)";
    park.finds::<()>(hangs).await;
    park.looks_away_and_back().await;
    park.presses("!").await;
    park.waits_until("window.isOver").await;
    let said = park.reads("[data-tenure-status]").await;
    assert!(said.contains("김민지 has been editing since"), "{said}");
    park.clicks("[data-tenure-action=retry]").await;
    park.sees_status("The shop is busy").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_typist_keeps_the_text_and_can_retry() {
    let story = Story::begin().await;
    let mut found = Vec::new();
    for (language, told) in [("en", "김민지 has been editing since"), ("ko", "김민지 님이")] {
        let named = |page: &str| format!("{language}-first-{page}");
        let (park, minji) = (looks_as(&story, "park", language).await, looks_as(&story, "minji", language).await);
        park.photo(&named("free")).await;
        begins_to_type(&minji, "R").await;
        minji.sees("form[data-tenure-state=held]").await;
        minji.photo(&named("held")).await;
        found.extend(wide(&minji, &named("held")).await);

        begins_to_type(&park, "Third floor").await;
        park.sees("[data-tenure-banner][role=alert]").await;
        park.sees("form[data-tenure-state=refused]").await;
        let kept = park.value("[name=message]").await;
        let said = park.reads("[data-tenure-status]").await;
        assert!(said.contains(told), "{said}");
        park.photo(&named("refused")).await;
        found.extend(wide(&park, &named("refused")).await);
        park.presses(", please").await;
        let kept = format!("{kept}, please");
        assert_eq!(park.value("[name=message]").await, kept);
        let asked: u32 = park.finds(ASKED).await;
        park.clicks("[data-tenure-action=retry]").await;
        park.waits_until(&format!("{ASKED} > {asked}")).await;
        park.sees("form[data-tenure-state=refused]").await;

        // His page does not learn by itself that it is free again.
        let deaf = "((ask) => { fetch = (url, of) => /now/.test(url) ? new Promise(() => {}) : ask(url, of); })(fetch)";
        park.finds::<()>(&format!("({deaf}, null)")).await;
        minji.clicks("[form=leave]").await;
        story.until_remaining("the end of the lease", |left| left.is_zero()).await;
        park.clicks("[data-tenure-action=retry]").await;
        park.sees("form[data-tenure-state=held]").await;
        assert!(park.finds::<bool>("document.querySelector('[data-tenure-action=retry]').hidden").await);
        // The cursor keeps its position.
        park.presses("!").await;
        assert_eq!(park.value("[name=message]").await, format!("{kept}!"));
        park.clicks("[data-tenure-action=save]").await;
        park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        assert_eq!(park.reads("dd.typed").await, format!("{kept}!"));
        assert_eq!(park.complaints().await, [""; 0]);
    }
    assert!(found.is_empty(), "pages that scroll sideways: {found:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn editing_in_another_window_can_continue_here() {
    let story = Story::begin().await;
    for language in ["en", "ko"] {
        let there = story.reader_of(language).await;
        there.has_a_quick_heart().await;
        there.sign_in("minji").await;
        looks(&there).await;
        begins_to_type(&there, "There").await;
        there.sees("form[data-tenure-state=held]").await;
        let here = story.reader_of(language).await;
        here.sign_in("minji").await;
        here.goes_to(&format!("/orders/{ORDER}/shipping")).await;
        here.sees("form[data-tenure-state=refused]").await;
        here.photo(&format!("{language}-first-elsewhere")).await;
        assert_eq!(wide(&here, &format!("{language}-first-elsewhere")).await, [""; 0]);
        here.clicks("[data-tenure-action=move]").await;
        here.sees("form[data-tenure-state=held]").await;
        begins_to_type(&here, "Here").await;
        assert!(here.value("[name=message]").await.ends_with("Here"));
        there.sees("form[data-tenure-state=lost]").await;
        assert!(there.value("[name=message]").await.ends_with("There"));
        here.clicks("[form=leave]").await;
        story.until_remaining("the end of the lease", |left| left.is_zero()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_typed_before_the_response_are_neither_lost_nor_resent() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    looks(&minji).await;
    // A slow connection: the response arrives when the story lets it.
    let slow = "(window.send = fetch, window.asked = 0, window.fetch = (...request) => !/beat/.test(request[0]) ? send(...request)
        : new Promise((go) => (window.go = go, window.asked += 1)).then(() => send(...request)), null)";
    minji.finds::<()>(slow).await;
    begins_to_type(&minji, "Ring").await;
    minji.presses(" twice").await;
    minji.sees("form[data-tenure-state=free]").await;
    minji.finds::<()>("(window.go(), null)").await;
    minji.sees("form[data-tenure-state=held]").await;
    assert!(minji.value("[name=message]").await.ends_with("Ring twice"));
    assert_eq!(minji.finds::<u32>("window.asked").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn offline_typing_continues_and_locks_after_reconnect() {
    let story = Story::begin().await;
    for language in ["en", "ko"] {
        let minji = looks_as(&story, "minji", language).await;
        minji.is_online(false).await;
        begins_to_type(&minji, "Typed in a tunnel").await;
        minji.waits_until("document.querySelector('[data-tenure-status]').textContent").await;
        minji.photo(&format!("{language}-first-offline")).await;
        minji.presses(", and longer").await;
        assert!(story.holder().await.is_none());
        minji.is_online(true).await;
        minji.sees("form[data-tenure-state=held]").await;
        assert!(minji.value("[name=message]").await.ends_with("Typed in a tunnel, and longer"));
        minji.clicks("[form=leave]").await;
        story.until_remaining("the end of the lease", |left| left.is_zero()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn form_without_a_lock_is_still_saved() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    looks(&minji).await;
    minji.finds::<()>("(window.send = fetch, window.fetch = (url, options) => /beat/.test(url) ? Promise.reject() : send(url, options), null)").await;
    begins_to_type(&minji, "Never asked").await;
    minji.presses(browser::Key::Tab).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert!(minji.reads("dd.typed").await.ends_with("Never asked"));
}

#[tokio::test(flavor = "multi_thread")]
async fn first_key_reports_sign_out_and_typing_continues() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    looks(&minji).await;
    minji.loses_the_session().await;
    begins_to_type(&minji, "Still here").await;
    minji.waits_until("document.querySelector('[data-tenure-status]').textContent").await;
    assert!(minji.reads("[data-tenure-status]").await.contains("signed out"));
    minji.presses(", and longer").await;
    assert!(minji.value("[name=message]").await.ends_with("Still here, and longer"));
    assert!(story.holder().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn stale_form_names_the_author_and_typing_continues() {
    let story = Story::begin().await;
    for (language, told) in [("en", "박서연 changed the shipping details"), ("ko", "박서연 님이 배송 정보를")]
    {
        let (minji, park) = (looks_as(&story, "minji", language).await, looks_as(&story, "park", language).await);
        park.types("[name='address.line2']", &format!("Floor {}", language.len() + told.len())).await;
        park.clicks("[data-tenure-action=save]").await;
        park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        begins_to_type(&minji, "Ring").await;
        minji.sees("form[data-tenure-state=moved]").await;
        minji.presses(" twice").await;
        let said = minji.reads("[data-tenure-status]").await;
        assert!(said.contains(told), "{said}");
        // A request for the lock is compared under the lock, and gives it back.
        story.until_remaining("the lock is given back", |left| left.is_zero()).await;
        minji.photo(&format!("{language}-first-moved")).await;
        minji.clicks("[data-tenure-action=save]").await;
        minji.sees("main[data-state=CP-1] [name=both]").await;
        minji.clicks("[name=both]").await;
        minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        assert!(minji.reads("dd.typed").await.ends_with("Ring twice"));
        assert_eq!(minji.complaints().await, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_first_edit_lock_can_be_retaken_with_the_text() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    looks(&minji).await;
    begins_to_type(&minji, "Written before lunch").await;
    minji.sees("form[data-tenure-state=held]").await;
    let kept = minji.value("[name=message]").await;
    let park = story.person("park").await;
    park.goes_to("/locks").await;
    park.clicks("details.confirm summary").await;
    park.types("details.confirm [name=reason]", "The parcel goes out now").await;
    park.clicks("details.confirm .danger").await;
    story.until_remaining("the end of the lease", |left| left.is_zero()).await;
    minji.looks_away_and_back().await;
    minji.sees("form[data-tenure-state=lost]").await;
    minji.photo("en-first-lost").await;
    minji.clicks("[data-tenure-action=again]").await;
    // It contains text already, so it is locked again at once.
    minji.sees("form[data-tenure-state=held]").await;
    assert_eq!(minji.value("[name=message]").await, kept);
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(minji.reads("dd.typed").await, kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_first_edit_lock_leaves_the_form_to_its_version() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    looks(&minji).await;
    begins_to_type(&minji, "Written before lunch").await;
    minji.sees("form[data-tenure-state=held]").await;
    let kept = minji.value("[name=message]").await;
    // Her page would resume the lease as soon as it learns of the end.
    minji.gets_nothing_from(&["*/now", "*/beat?*"]).await;
    story.clock.advance(Duration::from_secs(301));
    // Another person opened the page and left: the order is unchanged.
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.clicks("[form=leave]").await;
    story.until_remaining("the end of the lease", |left| left.is_zero()).await;
    minji.gets_nothing_from(&[]).await;
    minji.looks_away_and_back().await;
    minji.sees("form[data-tenure-state=free]").await;
    minji.photo("en-first-expired").await;
    assert_eq!(minji.value("[name=message]").await, kept);
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(minji.reads("dd.typed").await, kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_policy_says_so_opening_takes_the_lock() {
    let policy = LockPolicy::exclusive().acquiring(Acquire::OnOpen);
    let story = Story::begin_with(|shop| shop.with_order_policy(policy)).await;
    let minji = story.person("minji").await;
    minji.goes_to(&format!("/orders/{ORDER}/shipping")).await;
    minji.sees("form[data-tenure-state=held]").await;
    assert_eq!(story.holder().await.expect("opening took it").owner.id, "minji");
}
