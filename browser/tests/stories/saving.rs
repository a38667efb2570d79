//! A save is sent without leaving the page until it has a response.

use std::time::Duration;

use browser::{ORDER, Person, Story};

use super::saves;

const SHIPPING: &str = "/orders/2026-000300/shipping";

async fn types_a_message(story: &Story, login: &str, language: &str, text: &str) -> Person {
    let person = story.reader_of(language).await;
    person.sign_in(login).await;
    person.goes_to(SHIPPING).await;
    person.sees("#shipping[data-tenure-state]").await;
    person.types("[name=message]", text).await;
    person
}

/// The save arrives; its answer, and each later one, does not, until the page has its own `fetch` again.
async fn saves_without_an_answer(person: &Person) {
    let cut = "(window.send = fetch, window.fetch = (url, options) => /[/]shipping$/.test(url)
        ? send(url, options).then(() => Promise.reject(new TypeError())) : send(url, options), null)";
    person.finds::<()>(cut).await;
    person.clicks("[data-tenure-action=save]").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn offline_save_stays_on_the_page_and_saves_on_reconnect() {
    let story = Story::begin().await;
    for (language, told) in [("en", "No connection"), ("ko", "연결이 끊겨")] {
        let text = format!("Typed in a tunnel, {language}");
        let minji = types_a_message(&story, "minji", language, &text).await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        minji.is_online(false).await;
        minji.clicks("[data-tenure-action=save]").await;
        minji
            .waits_until(&format!("document.querySelector('[data-tenure-status]').textContent.startsWith('{told}')"))
            .await;
        minji.photo(&format!("{language}-unsent")).await;
        assert_eq!((minji.path().await.as_str(), minji.value("[name=message]").await), (SHIPPING, text.clone()));
        minji.is_online(true).await;
        minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        assert_eq!(minji.reads("dd.typed").await, text);
        assert_eq!((story.versions().await, minji.drafts().await), (if language == "en" { 2 } else { 3 }, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_response_is_retried_and_saves_once() {
    let story = Story::begin().await;
    let minji = types_a_message(&story, "minji", "en", "Saved, but nobody said so").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    // The first response is lost.
    let lossy = "(window.send = fetch, window.lost = 0, window.fetch = async (url, options) => {
        const answer = await send(url, options);
        if (!/beat/.test(url) && !window.lost++) throw new TypeError('lost');
        return answer;
    }, null)";
    minji.finds::<()>(lossy).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.clicks("[data-tenure-check]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert!(minji.reads("[role=status]").await.contains("Saved."));
    assert_eq!((minji.reads("dd.typed").await.as_str(), story.versions().await), ("Saved, but nobody said so", 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn continuing_after_a_lost_response_saves_on_top() {
    let story = Story::begin().await;
    let minji = types_a_message(&story, "minji", "en", "First").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    let lossy = "(window.send = fetch, window.isLost = true, window.fetch = async (url, options) => {
        if (/beat/.test(url)) throw new TypeError('lost');
        const answer = await send(url, options);
        if (window.isLost) throw new TypeError('lost');
        return answer;
    }, null)";
    minji.finds::<()>(lossy).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.clicks("[data-tenure-stop]").await;
    minji.sees("#shipping:not([data-tenure-state=saving])").await;
    minji.types("[name=message]", "Second").await;
    minji.finds::<()>("(window.isLost = false, null)").await;
    saves(&minji).await;
    assert_eq!((minji.reads("dd.typed").await.as_str(), story.versions().await), ("Second", 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_save_that_was_never_sent_may_not_have_been_saved() {
    let story = Story::begin().await;
    for (language, never) in [("en", "may have been saved"), ("ko", "저장되었을 수도")] {
        let minji = types_a_message(&story, "minji", language, &format!("In a tunnel, {language}")).await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        minji.is_online(false).await;
        minji.clicks("[data-tenure-action=save]").await;
        minji.clicks("[data-tenure-stop]").await;
        minji.sees("#shipping:not([data-tenure-state=saving])").await;
        assert!(!minji.reads("main").await.contains(never));
        minji.is_online(true).await;
        saves(&minji).await;
        story.clock.advance(Duration::from_secs(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mistake_is_not_said_any_more_when_its_correction_may_be_saved() {
    let story = Story::begin().await;
    let minji = types_a_message(&story, "minji", "en", "Ring twice").await;
    minji.types("[name='address.postal_code']", "").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("[data-tenure-refused]").await;
    minji.sees("#shipping[data-tenure-state]").await;
    minji.types("[name='address.postal_code']", "06236").await;
    saves_without_an_answer(&minji).await;
    minji.clicks("[data-tenure-stop]").await;
    minji.sees("#shipping:not([data-tenure-state=saving])").await;
    let page = minji.reads("main").await;
    assert!(!page.contains("was not saved"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_typed_after_a_stopped_save_is_not_called_saved() {
    let story = Story::begin().await;
    for (language, told) in [("en", "If you typed more"), ("ko", "더 입력했다면")] {
        let minji = types_a_message(&story, "minji", language, &format!("First {language}")).await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        saves_without_an_answer(&minji).await;
        minji.clicks("[data-tenure-stop]").await;
        minji.sees("#shipping:not([data-tenure-state=saving])").await;
        minji.types("[name=message]", &format!("Second {language}")).await;
        minji.finds::<()>("(window.fetch = send, null)").await;
        minji.looks_away_and_back().await;
        minji.sees("main[data-state=OE-20]").await;
        let said = minji.reads("[data-tenure-status]").await;
        assert!(said.contains(told), "{said}");
        minji.clicks("[data-tenure-action=again]").await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        assert_eq!(minji.value("[name=message]").await, format!("Second {language}"));
        saves(&minji).await;
        assert_eq!(minji.reads("dd.typed").await, format!("Second {language}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_save_is_seen_and_after_fifteen_seconds_can_be_checked() {
    let story = Story::begin().await;
    for (language, saving, unknown) in
        [("en", "Saving …", "We do not know yet"), ("ko", "저장하는 중…", "아직 알 수 없습니다")]
    {
        let minji = types_a_message(&story, "minji", language, &format!("Slow {language}")).await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        // The story controls the page's clock: fifteen seconds pass on its command.
        let slow = "(window.real = setTimeout, window.timers = [],
            window.setTimeout = (run, ms, ...rest) => ms === 15000 ? timers.push(run) : real(run, ms, ...rest),
            window.send = fetch, window.fetch = (url, options) => /beat/.test(url) || window.isQuick ? send(url, options)
                : new Promise((_, fail) => options.signal.addEventListener('abort', () => fail(new TypeError('aborted')))), null)";
        minji.finds::<()>(slow).await;
        minji.clicks("[data-tenure-action=save]").await;
        minji.sees("#shipping[data-tenure-state=saving]").await;
        assert_eq!(minji.reads("[data-tenure-status]").await, saving);
        minji.photo(&format!("{language}-saving")).await;
        assert!(minji.finds::<bool>("document.querySelector('[data-tenure-check]').hidden").await);
        minji.finds::<()>("(timers.at(-1)(), null)").await;
        minji.sees("[data-tenure-check]").await;
        assert!(minji.reads("[data-tenure-status]").await.contains(unknown));
        minji.photo(&format!("{language}-unknown")).await;
        minji.finds::<()>("(window.isQuick = true, null)").await;
        minji.clicks("[data-tenure-check]").await;
        minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn form_goes_on_when_its_person_stops_the_page_that_follows() {
    for (phone, page) in [("12", "*kept=*"), ("010-2222-3333", "*/orders/2026-000300")] {
        let story = Story::begin().await;
        let minji = types_a_message(&story, "minji", "en", "Ring twice").await;
        minji.types("[name='receiver.phone']", phone).await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        minji.emulates("Fetch.enable", serde_json::json!({ "patterns": [{ "urlPattern": page }] })).await;
        minji.finds::<()>("(navigation.addEventListener('navigate', () => setTimeout(() => stop(), 500)), null)").await;
        minji.clicks("[data-tenure-action=save]").await;
        minji.sees_status("Stopped.").await;
        minji.emulates("Fetch.disable", serde_json::json!({})).await;
        minji.types("[name='receiver.phone']", "010-4444-5555").await;
        let before: f64 = minji.finds("performance.timeOrigin").await;
        minji
            .waits_until(
                "document.querySelector('#shipping[data-tenure-state=held], #shipping[data-tenure-state=saved]')",
            )
            .await;
        minji.finds::<()>("(document.querySelector('#shipping').requestSubmit(), null)").await;
        minji
            .waits_until(&format!("performance.timeOrigin > {before} && location.pathname === '/orders/{ORDER}'"))
            .await;
        let order = story.order().await;
        assert_eq!(
            (order.shipping().receiver().phone.as_str(), order.shipping().message()),
            ("010-4444-5555", "Ring twice")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn save_that_is_pressed_again_while_it_waits_is_sent_at_once() {
    let story = Story::begin().await;
    let minji = types_a_message(&story, "minji", "en", "Ring twice").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    // The wait before the next try does not end by itself.
    let fails = "(window.tries = 0, window.send = fetch, window.real = setTimeout, window.setTimeout = (run, ms, ...rest) => ms === 5000 ? 0 : real(run, ms, ...rest),
        window.fetch = (url, options) => /beat/.test(url) || tries++ ? send(url, options) : Promise.reject(new TypeError('stopped')), null)";
    minji.finds::<()>(fails).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees_status("this page asks again by itself").await;
    saves(&minji).await;
    assert_eq!(minji.reads("dd.typed").await, "Ring twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn save_that_hangs_is_asked_again() {
    let story = Story::begin().await;
    let minji = types_a_message(&story, "minji", "en", "Ring twice").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    // The story controls the page's clock: thirty seconds pass on its command.
    let hangs = "(window.limit = new AbortController(), window.timeout = AbortSignal.timeout.bind(AbortSignal),
        AbortSignal.timeout = (ms) => (ms === 30000 ? limit.signal : timeout(ms)), window.send = fetch,
        window.fetch = (url, options) => /beat/.test(url) || limit.signal.aborted ? send(url, options)
            : new Promise((_, fail) => options.signal.addEventListener('abort', () => fail(new TypeError('aborted')))), null)";
    minji.finds::<()>(hangs).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("#shipping[data-tenure-state=saving]").await;
    minji.finds::<()>("(limit.abort(), AbortSignal.timeout = timeout, null)").await;
    minji.sees_status("this page asks again by itself").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(minji.reads("dd.typed").await, "Ring twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_submit_after_signing_in_again_is_enough() {
    let story = Story::begin().await;
    for language in ["en", "ko"] {
        let text = format!("Typed all morning {language}");
        let minji = types_a_message(&story, "minji", language, &text).await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        minji.loses_the_session().await;
        minji.clicks("[data-tenure-action=save]").await;
        minji.sees("[data-tenure-signin]").await;
        minji.photo(&format!("{language}-signed-out-saving")).await;
        assert_eq!((minji.path().await.as_str(), minji.value("[name=message]").await), (SHIPPING, text.clone()));
        minji.signs_in_in_another_tab("minji").await;
        saves(&minji).await;
        assert_eq!(minji.reads("dd.typed").await, text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_fails_or_is_busy_leaves_the_text_where_it_is() {
    let story = Story::begin().await;
    let minji = types_a_message(&story, "minji", "en", "Still here").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    const COLOUR: &str = "getComputedStyle(document.querySelector('.banner.lease')).backgroundColor";
    let calm: String = minji.finds(COLOUR).await;
    let failing = "(window.send = fetch, window.answers = 500, window.fetch = (url, options) => /beat/.test(url) || !window.answers
        ? send(url, options) : Promise.resolve(new Response('', { status: window.answers })), null)";
    minji.finds::<()>(failing).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees_status("wrong on our side").await;
    assert_ne!(minji.finds::<String>(COLOUR).await, calm, "that is no calm message");
    minji.finds::<()>("(window.answers = 503, null)").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees_status("busy").await;
    assert_eq!(minji.value("[name=message]").await, "Still here");
    minji.finds::<()>("(window.answers = 0, null)").await;
    minji.clicks("[data-tenure-check]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(minji.reads("dd.typed").await, "Still here");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_restart_during_a_save_loses_nothing() {
    let mut story = Story::begin().await;
    let minji = types_a_message(&story, "minji", "en", "Through a restart").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    story.closes().await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees_status("We do not know yet").await;
    story.opens_again().await;
    minji.clicks("[data-tenure-check]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!((minji.reads("dd.typed").await.as_str(), story.versions().await), ("Through a restart", 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn back_to_a_form_that_was_saved_says_that_it_was_saved() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=message]", "Saved once").await;
    saves(&park).await;
    park.goes_back().await;
    park.sees("main[data-state=OE-20]").await;
    park.photo("back-after-saving").await;
    park.reloads().await;
    park.sees("main[data-state=OE-20]").await;
    park.goes_forward().await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(story.versions().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn conflict_and_locked_pages_can_be_reloaded_and_left_by_back() {
    let story = Story::begin().await;
    let (minji, park) = (story.person("minji").await, story.person("park").await);
    minji.goes_to(SHIPPING).await;
    minji.sees("#shipping[data-tenure-state=free]").await;
    minji.gets_nothing_from(&["*/beat?*"]).await;
    park.goes_to(SHIPPING).await;
    park.types("[name=message]", "As the operator wants it").await;
    saves(&park).await;
    minji.types("[name=message]", "As the customer wants it").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("main[data-state=CP-2]").await;
    minji.reloads().await;
    minji.sees("main[data-state=CP-2]").await;
    assert!(minji.reads("main").await.contains("As the customer wants it"));
    minji.goes_back().await;
    minji.waits_until(&format!("location.pathname === '{SHIPPING}'")).await;
    minji.goes_forward().await;
    minji.sees("main[data-state=CP-2]").await;
    minji.clicks(".side.own [name=message]").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(minji.reads("dd.typed").await, "As the customer wants it");
    assert_eq!(minji.drafts().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_form_works_as_a_plain_post_without_scripts() {
    let story = Story::begin().await;
    for language in ["en", "ko"] {
        let minji = story.reader_of(language).await;
        minji.sign_in("minji").await;
        minji.has_scripts(false).await;
        minji.goes_to(&format!("/orders/{ORDER}")).await;
        minji.clicks(browser::EDIT).await;
        minji.sees("main[data-state=OE-1] #edit").await;
        minji.photo(&format!("{language}-edit-without-scripts")).await;
        minji.types("[name='receiver.name']", "").await;
        minji.types("[name=message]", &format!("Plain {language}")).await;
        minji.clicks("[data-tenure-action=save]").await;
        minji.sees("main[data-state=OE-17]").await;
        assert_eq!(minji.value("[name=message]").await, format!("Plain {language}"));
        minji.types("[name='receiver.name']", "Kim Minji").await;
        minji.clicks("[data-tenure-action=save]").await;
        minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        assert_eq!(minji.reads("dd.typed").await, format!("Plain {language}"));
        story.clock.advance(Duration::from_secs(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_text_without_scripts_is_found_on_the_orders_page() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    for (language, told, see) in [("en", "was not saved", "See it"), ("ko", "저장되지 않았습니다", "내용 보기")]
    {
        let (minji, path) = (story.reader_of(language).await, format!("/orders/{ORDER}"));
        minji.sign_in("minji").await;
        minji.has_scripts(false).await;
        minji.goes_to(SHIPPING).await;
        park.goes_to(SHIPPING).await;
        park.types("[name='address.line2']", language).await;
        super::saves(&park).await;
        minji.types("[name=message]", &format!("Ring twice, {language}")).await;
        minji.types("[name='address.line2']", "left").await;
        minji.clicks("[data-tenure-action=save]").await;
        minji.waits_until("location.pathname.includes('/kept/')").await;
        // She closes the page, and comes back another way.
        minji.goes_to(&path).await;
        assert!(minji.reads(".notice:not([hidden])").await.contains(told));
        minji.photo(&format!("{language}-refused-text")).await;
        park.goes_to(&path).await;
        assert!(!park.reads("main").await.contains(told), "it is hers alone");
        assert_eq!(minji.reads(".notice:not([hidden]) a").await, see);
        minji.clicks(".notice:not([hidden]) a").await;
        minji.clicks("[name=edit-first]").await;
        minji.sees("form#shipping").await;
        assert_eq!(minji.value("[name=message]").await, format!("Ring twice, {language}"));
        minji.clicks("[data-tenure-action=save]").await;
        minji.waits_until(&format!("location.pathname === '{path}'")).await;
        assert_eq!(minji.reads("dd.typed").await, format!("Ring twice, {language}"));
        assert!(!minji.reads("main").await.contains(told), "it is saved");
        story.clock.advance(Duration::from_secs(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_shop_without_scripts_keeps_the_text_and_saves_it_once() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.has_scripts(false).await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Plain").await;
    let stuck = story.writes_without_an_end().await;
    minji.clicks("[data-tenure-action=save]").await;
    // Nothing can be kept, so the text is in the answer only: it stands at the address of the form, and is there again after a reload.
    for _ in 0..2 {
        minji.sees("main[data-state=OE-23]").await;
        assert!(minji.reads("main").await.contains("Plain"));
        minji.reloads().await;
    }
    minji.photo("busy-without-scripts").await;
    stuck.rollback().await.expect("the shop's database");
    minji.clicks("main form .main").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!((minji.reads("dd.typed").await.as_str(), story.versions().await), ("Plain", 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn save_whose_answer_was_lost_is_not_called_unsaved() {
    let story = Story::begin().await;
    for (language, told) in [("en", "We do not know yet"), ("ko", "저장되었는지 아직 알 수 없습니다")] {
        let text = format!("Saved in silence, {language}");
        let minji = types_a_message(&story, "minji", language, &text).await;
        minji.sees("#shipping[data-tenure-state=held]").await;
        saves_without_an_answer(&minji).await;
        minji.sees("[data-tenure-check]").await;
        let said = minji.reads("[data-tenure-status]").await;
        assert!(said.starts_with(told), "{said}");
        let versions = story.versions().await;
        minji.photo(&format!("{language}-answer-lost")).await;
        minji.finds::<()>("(window.fetch = send, null)").await;
        minji.clicks("[data-tenure-check]").await;
        minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        assert_eq!((minji.reads("dd.typed").await, story.versions().await), (text, versions));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn save_without_an_answer_is_not_called_unsaved_when_the_session_ends() {
    const LOST: &str = "(window.send = fetch, window.fetch = (url, options) => !/[/]shipping$/.test(url) || window.arrived ? send(url, options)
        : send(url, options).then(() => { window.arrived = true; throw new TypeError() }), null)";
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring twice").await;
    minji.finds::<()>(LOST).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until("window.arrived").await;
    minji.loses_the_session().await;
    minji.clicks("[data-tenure-check]").await;
    minji.sees("[data-tenure-signin]").await;
    let said = minji.reads("[data-tenure-status]").await;
    assert!(said.contains("It may have been saved"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn first_key_while_nothing_new_is_saved_belongs_to_the_next_form() {
    // The answer waits until the story lets it go.
    const SLOW: &str =
        "(window.send = fetch, window.fetch = (url, options) => !/[/]shipping$/.test(url) ? send(url, options)
        : send(url, options).then(async (answer) => {
            window.arrived = true;
            await new Promise((go) => (window.answers = go));
            return answer;
        }), null)";
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.sees("#shipping[data-tenure-state]").await;
    minji.finds::<()>(SLOW).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until("window.arrived").await;
    minji.types("[name=message]", "Ring twice").await;
    minji.finds::<()>("(window.fetch = send, answers(), null)").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    saves(&minji).await;
    let page = minji.reads("main").await;
    assert!(page.contains("Ring twice") && page.contains("Nobody is editing"), "{page}");
}
