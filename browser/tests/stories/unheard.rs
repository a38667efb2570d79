//! A save whose answer is lost: its text is neither called unsaved, nor taken for saved when there is more.

use browser::{ORDER, Person, Story};

use super::merging::compares;
use super::unsaved::{NO_DRAFT, opens_the_note};

const SHIPPING: &str = "/orders/2026-000300/shipping";

/// The save arrives, and its answer does not.
const UNHEARD: &str =
    "(window.send = fetch, window.fetch = (url, options) => !/(shipping|save)$/.test(url) ? send(url, options)
    : send(url, options).then(() => (window.arrived = true)).then(() => new Promise(() => {})), null)";

#[tokio::test(flavor = "multi_thread")]
async fn text_that_was_saved_after_its_page_was_left_is_not_called_unsaved() {
    let story = Story::begin().await;
    let (minji, park) = (story.person("minji").await, story.person("park").await);
    for text in ["Ring the bell", " Ring the bell twice "] {
        minji.goes_to(SHIPPING).await;
        minji.types("[name=message]", text).await;
        minji.finds::<()>(UNHEARD).await;
        minji.clicks("[data-tenure-action=save]").await;
        minji.waits_until("window.arrived").await;
        assert_eq!(minji.drafts().await, 1);
        minji.closes_this_tab_and_opens_another().await;
        park.goes_to(SHIPPING).await;
        park.types("[name=message]", &format!("Not that: {text}")).await;
        super::saves(&park).await;
        minji.goes_to(&format!("/orders/{ORDER}")).await;
        minji.waits_until(NO_DRAFT).await;
        minji.waits_until("document.querySelector('[data-tenure-draft-of]:not([data-tenure-else])').hidden").await;
        minji.goes_to(SHIPPING).await;
        assert!(minji.finds::<bool>("document.querySelector('[data-tenure-draft]').hidden").await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_the_same_again_while_it_is_sent_is_asked_about() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    let before = minji.value("[name='address.line2']").await;
    minji.types("[name=message]", "Ring the bell").await;
    minji.finds::<()>(UNHEARD).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until("window.arrived").await;
    minji.types("[name='address.line2']", "Somewhere else").await;
    minji.types("[name='address.line2']", &before).await;
    minji.closes_this_tab_and_opens_another().await;
    minji.goes_to(&format!("/orders/{ORDER}")).await;
    assert_eq!(minji.reads("dd.typed").await, "Ring the bell");
    minji.waits_until(NO_DRAFT).await;
}

/// The next save arrives, and its answer is lost.
const LOST_ONCE: &str =
    "(window.send = fetch, window.fetch = (url, options) => !/(shipping|save)$/.test(url) ? send(url, options)
    : (window.fetch = send, send(url, options).then(() => { throw new TypeError() })), null)";

#[tokio::test(flavor = "multi_thread")]
async fn text_whose_save_was_stopped_too_late_is_not_called_unsaved() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring the bell").await;
    minji.finds::<()>(LOST_ONCE).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.clicks("[data-tenure-stop]").await;
    assert!(minji.finds::<bool>("document.activeElement.name === 'message'").await, "the pressed button is gone");
    minji.sees("#shipping[data-tenure-state=saved]").await;
    minji.clicks("[data-tenure-action=see]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(minji.reads("dd.typed").await, "Ring the bell");
    minji.waits_until(NO_DRAFT).await;
    minji.waits_until("document.querySelector('[data-tenure-draft-of]:not([data-tenure-else])').hidden").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_was_saved_unheard_and_left_is_neither_dropped_nor_unsaved() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    for way in ["form", "order"] {
        let typed = format!("Ring the bell, {way}");
        minji.goes_to(SHIPPING).await;
        // The shop takes the blanks off.
        minji.types("[name=message]", &format!(" {typed} ")).await;
        minji.finds::<()>(LOST_ONCE).await;
        minji.clicks("[data-tenure-action=save]").await;
        minji.clicks("[data-tenure-stop]").await;
        minji.clicks("[form=leave]").await;
        minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        assert_eq!(minji.reads("dd.typed").await, typed);
        if way == "form" {
            minji.goes_to(SHIPPING).await;
        }
        minji.waits_until(NO_DRAFT).await;
        minji.goes_to(SHIPPING).await;
        minji.sees("#shipping[data-tenure-state=free]").await;
        assert!(!minji.finds::<bool>("document.querySelector('[data-tenure-draft]').checkVisibility()").await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_save_without_an_answer_nothing_is_said_to_be_reserved() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring the bell").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    minji.finds::<()>(LOST_ONCE).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("[data-tenure-stop]").await;
    minji.is_online(false).await;
    minji.clicks("[form=leave]").await;
    let said = "document.querySelector('[data-tenure-status]').textContent";
    minji.waits_until(&format!("{said}.includes('still open')")).await;
    minji.waits_until(&format!("!{said}.includes('still open')")).await;
    let said: String = minji.finds(said).await;
    assert!(!said.contains("nobody else") && said.contains("could not be reserved"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn note_that_was_saved_without_an_answer_goes_on_with_what_was_typed_since() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    for (typed, more) in [("Called", " twice"), ("Called", "")] {
        opens_the_note(&park).await;
        park.types("[name=text]", typed).await;
        park.finds::<()>(LOST_ONCE).await;
        park.clicks("[data-tenure-action=save]").await;
        park.sees("[data-tenure-stop]").await;
        if !more.is_empty() {
            park.types("[name=text]", &format!("{typed}{more}")).await;
        }
        park.clicks("[data-tenure-stop]").await;
        park.clicks("[data-tenure-action=again]").await;
        park.sees("#note[data-tenure-state=held]").await;
        assert_eq!(park.value("[name=text]").await, format!("{typed}{more}"));
        park.clicks("[data-tenure-action=save]").await;
        park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
        assert_eq!(park.reads(".typed.note").await, format!("{typed}{more}"));
        park.waits_until(NO_DRAFT).await;
        let named = "[...document.querySelectorAll('[data-tenure-draft-of]')].filter((place) => place.checkVisibility()).length";
        assert_eq!(park.finds::<u32>(named).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_was_typed_after_a_save_without_an_answer_is_not_taken_for_saved() {
    // The first save arrives, and its answer does not; the second does not arrive.
    const LOST: &str =
        "(window.send = fetch, window.fetch = (url, options) => !/[/]shipping$/.test(url) ? send(url, options)
        : window.arrived ? new Promise(() => {})
        : send(url, options).then(() => { window.arrived = true; throw new TypeError() }), null)";
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Saved").await;
    minji.finds::<()>(LOST).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.clicks("[data-tenure-stop]").await;
    minji.types("[name=message]", "Never arrived").await;
    minji.presses(browser::Key::Tab).await;
    minji.finds::<()>("(document.querySelector('#shipping').requestSubmit(), null)").await;
    minji
        .waits_until(
            "Object.values(localStorage).some((draft) => /\"sent\":true/.test(draft) && /Never arrived/.test(draft))",
        )
        .await;
    minji.closes_this_tab_and_opens_another().await;
    minji.goes_to(&format!("/orders/{ORDER}")).await;
    minji.sees("main[data-live=on]").await;
    assert!(minji.reads("[data-tenure-draft-said]").await.contains("Never arrived"));
    assert_eq!(minji.reads("dd.typed").await, "Saved");
}

/// The save is on its way for longer than its page stays.
const LATE: &str =
    "(window.send = fetch, window.fetch = (url, options) => !/(shipping|save)$/.test(url) ? send(url, options)
    : ([sessionStorage.to, sessionStorage.late] = [url, options.body], new Promise(() => {})), null)";

async fn saves_late_and_reloads(minji: &Person, form: &str) {
    minji.types("[name=message]", "Ring the bell").await;
    minji.sees(&format!("{form}[data-tenure-state=held]")).await;
    minji.finds::<()>(LATE).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until("sessionStorage.late").await;
    minji.reloads().await;
    minji.waits_until("!document.querySelector('[data-tenure-draft]').hidden").await;
    assert_eq!(minji.value("[name=message]").await, "Ring the bell");
}

/// Returns the status of the response.
async fn the_save_arrives(minji: &Person) -> u16 {
    let arrives = "fetch(sessionStorage.to, { method: 'POST', body: new URLSearchParams(sessionStorage.late) })";
    minji.finds::<()>(&format!("({arrives}.then(({{ status }}) => (window.arrived = status)), null)")).await;
    minji.waits_until("window.arrived").await;
    minji.finds("window.arrived").await
}

#[tokio::test(flavor = "multi_thread")]
async fn text_whose_save_arrives_after_a_reload_is_not_called_unsaved() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji
        .runs_before_each_page(
            "window.fetch = ((send) => (to, ...more) =>
        `${to}`.includes('/beat') && sessionStorage.late ? new Promise(() => {}) : send(to, ...more))(window.fetch)",
        )
        .await;
    minji.goes_to(SHIPPING).await;
    saves_late_and_reloads(&minji, "#shipping").await;
    assert_eq!(the_save_arrives(&minji).await, 200);
    minji.waits_until(NO_DRAFT).await;
    minji.waits_until("document.querySelector('[data-tenure-draft]').hidden").await;
    // What is typed on is the next change.
    minji.types("[name=message]", "Ring twice").await;
    assert_eq!(minji.drafts().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn late_save_of_text_that_goes_on_in_the_page_of_now_is_not_called_unsaved() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    saves_late_and_reloads(&minji, "#shipping").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    // The page of now has the lease.
    assert_eq!(the_save_arrives(&minji).await, 410);
    minji.types("[name=message]", "Ring twice").await;
    super::saves(&minji).await;
    minji.waits_until("!document.body.textContent.includes('was not saved')").await;
    minji.goes_to(&format!("/orders/{ORDER}")).await;
    let page = minji.reads("main").await;
    assert!(
        page.contains("Ring twice") && !page.contains("was not saved") && !page.contains("Ring the bell"),
        "{page}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn button_that_does_not_save_does_not_ask_whether_it_was_saved() {
    let story = Story::begin().await;
    let (minji, _park) = compares(&story).await;
    minji.gets_nothing_from(&["*/shipping"]).await;
    minji.clicks("[name=edit-first]").await;
    minji.waits_until("!document.querySelector('[data-tenure-stop]').hidden").await;
    let said = minji.reads("[data-tenure-status]").await;
    assert!(said.contains("No connection yet") && !said.contains("whether it was saved"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_overtaken_on_its_way_does_not_replace_a_later_one() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.edits_the_order().await;
    // The same form: its id is in its address.
    saves_late_and_reloads(&minji, "#edit").await;
    minji.types("[name=message]", "second").await;
    super::saves(&minji).await;
    assert_eq!(the_save_arrives(&minji).await, 410);
    minji.reloads().await;
    let page = minji.reads("main").await;
    assert!(page.contains("second") && !page.contains("Ring the bell") && !page.contains("was not saved"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_text_that_was_typed_on_after_a_save_without_an_answer_only_the_rest_is_called_unsaved() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    let street = minji.value("[name='address.line1']").await;
    minji.types("[name='address.line1']", "Sejong-daero 9").await;
    minji.types("[name=message]", "Ring the bell").await;
    minji.finds::<()>(UNHEARD).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until("window.arrived").await;
    // One more, and one taken back.
    minji.types("[name='address.line2']", "Floor 3").await;
    minji.types("[name='address.line1']", &street).await;
    minji.closes_this_tab_and_opens_another().await;
    minji.goes_to(&format!("/orders/{ORDER}")).await;
    minji
        .waits_until("!document.querySelector('[data-tenure-draft-said]').textContent.includes('Ring the bell')")
        .await;
    let typed = minji.reads("[data-tenure-draft-said]").await;
    assert!(typed.contains("Floor 3") && typed.contains(&street), "{typed}");
    minji.goes_to(SHIPPING).await;
    assert_eq!(minji.value("[name='address.line1']").await, "Sejong-daero 9");
    minji.clicks("[data-tenure-draft-restore]").await;
    assert_eq!(minji.value("[name='address.line1']").await, street);
    super::saves(&minji).await;
    let page = minji.reads("main").await;
    assert!(page.contains("Floor 3") && page.contains("Ring the bell") && !page.contains("Sejong-daero 9"), "{page}");
    minji.waits_until(NO_DRAFT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn product_that_was_saved_without_an_answer_is_not_called_unsaved_once_it_is_put_back_and_saved() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    for (field, text) in [("new-product", "Cup"), ("new-price", "2000"), ("new-quantity", "2"), ("message", "Ring")] {
        park.types(&format!("[name={field}]"), text).await;
    }
    park.finds::<()>(UNHEARD).await;
    park.clicks("[data-tenure-action=save]").await;
    park.waits_until("window.arrived").await;
    park.types("[name=message]", "Ring twice").await;
    park.closes_this_tab_and_opens_another().await;
    park.edits_the_order().await;
    park.clicks("[data-tenure-draft-restore]").await;
    park.waits_until("location.search.includes('kept=')").await;
    park.sees("#edit[data-tenure-state=held]").await;
    assert!(park.finds::<bool>("document.querySelector('[data-tenure-draft]').hidden").await);
    super::saves(&park).await;
    park.waits_until(NO_DRAFT).await;
    let page = park.reads("main").await;
    assert!(
        page.contains("Ring twice") && page.matches("₩2,000").count() == 1 && !page.contains("did not save"),
        "{page}"
    );
}
