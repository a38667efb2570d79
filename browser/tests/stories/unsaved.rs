//! Text is called unsaved as long as it is: on every page, in every tab, and after signing out.

use std::time::Duration;

use browser::{EDIT, ORDER, Person, Story};

use super::merging::compares;

const SHIPPING: &str = "/orders/2026-000300/shipping";

pub(super) const NO_DRAFT: &str = "!Object.keys(localStorage).some((key) => key.startsWith('tenure draft'))";

#[tokio::test(flavor = "multi_thread")]
async fn text_that_was_sent_and_refused_is_found_after_signing_out() {
    let story = Story::begin().await;
    let (minji, _park) = compares(&story).await;
    let order = format!("/orders/{ORDER}");
    let seen = "[...document.querySelectorAll('.notice a')].filter((link) => link.checkVisibility()).length";
    minji.goes_to(&order).await;
    assert_eq!(minji.finds::<usize>(seen).await, 1);
    minji.signs_out().await;
    minji.sees("main[data-state=sign-in]").await;
    minji.sign_in("minji").await;
    minji.goes_to(&order).await;
    assert_eq!(minji.finds::<usize>(seen).await, 1);
    minji.clicks(".notice a").await;
    minji.sees("main[data-state=CP-2]").await;
    assert!(minji.reads(".side.own").await.contains("Mine"));
}

#[tokio::test(flavor = "multi_thread")]
async fn list_of_unsaved_text_is_whole_when_it_is_opened_by_its_address() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    for no in [ORDER, "2026-000299"] {
        park.goes_to(&format!("/orders/{no}/shipping")).await;
        park.types("[name=message]", "Typed, and not sent").await;
    }
    // Only this browser knows of it.
    park.goes_to("/orders?only=drafts&sort=oldest").await;
    park.waits_until("location.search.includes('draft=2026-000299')").await;
    let listed = "[...document.querySelectorAll('[scope=row] a')].map((a) => a.innerText)";
    assert_eq!(park.finds::<Vec<String>>(listed).await, ["2026-000299", ORDER]);
    assert!(park.finds::<bool>("location.search.includes('sort=oldest')").await);
    // Its own link leads out of it.
    park.clicks("[data-tenure-drafts]").await;
    park.waits_until("!location.search.includes('only=drafts')").await;
}

/// Minji sends an address without a postal code: it is refused.
pub(super) async fn is_refused(minji: &Person, message: &str) {
    minji.goes_to(SHIPPING).await;
    minji.types("[name='address.postal_code']", "").await;
    minji.types("[name=message]", message).await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("main[data-state=OE-17]").await;
}

/// Whether the order's page names it in a browser without drafts: by what the server knows.
pub(super) async fn named_by_the_server(minji: &Person) -> bool {
    minji.goes_to(&format!("/orders/{ORDER}")).await;
    minji.finds::<()>("(localStorage.clear(), null)").await;
    minji.reloads().await;
    minji.reads("main").await.contains("was not saved")
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_one_text_hides_no_other() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    is_refused(&minji, "The first").await;
    assert!(named_by_the_server(&minji).await);
    is_refused(&minji, "The second").await;
    minji.clicks("[form=leave]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert!(minji.reads("main").await.contains("was not saved"), "the first");
    minji.clicks("form[action$='/text'] button").await;
    minji.waits_until("document.querySelector('[role=status]').innerText.includes('Discarded')").await;
    assert!(!minji.reads("main").await.contains("was not saved"));
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_saved_in_one_tab_is_unsaved_in_no_other() {
    // As it was, and edited further; the other tab only looked at it.
    for message in ["Ring twice", "Ring three times"] {
        let story = Story::begin().await;
        let minji = story.person("minji").await;
        is_refused(&minji, "Ring twice").await;
        minji.types("[name=message]", message).await;
        minji.duplicates_the_tab().await;
        minji.sees("#shipping[data-tenure-state=refused]").await;
        minji.closes_this_tab().await;
        minji.types("[name='address.postal_code']", "06236").await;
        super::saves(&minji).await;
        minji.goes_to("/orders?only=drafts").await;
        assert!(!minji.reads("main").await.contains(ORDER));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_goes_on_in_another_tab_and_is_saved_there_is_not_offered_again() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring twice").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    minji.opens_a_tab().await;
    minji.goes_to(SHIPPING).await;
    minji.clicks("[data-tenure-draft-restore]").await;
    minji.clicks("[data-tenure-action=move]").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    super::saves(&minji).await;
    minji.turns_to_tab(0).await;
    minji.looks_away_and_back().await;
    minji.sees("#shipping[data-tenure-state=lost]").await;
    assert_eq!((minji.value("[name=message]").await.as_str(), minji.drafts().await), ("Ring twice", 0));
}

/// Opens the note of the order.
pub(super) async fn opens_the_note(person: &Person) {
    person.goes_to(&format!("/orders/{ORDER}")).await;
    person.clicks(&format!("form[action='/orders/{ORDER}/note/edit'] button")).await;
    person.sees("#note").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn comparison_of_a_note_that_is_left_at_once_is_not_open_any_more() {
    let story = Story::begin().await;
    let (park, olivia) = (story.person("park").await, story.person("olivia").await);
    opens_the_note(&park).await;
    park.types("[name=text]", "Of park").await;
    park.sees("form[data-tenure-state=held]").await;
    opens_the_note(&olivia).await;
    olivia.types("[name=text]", "Of Olivia").await;
    super::saves(&olivia).await;
    // It is left before it has an answer.
    park.gets_heartbeats_through(false).await;
    park.clicks("[data-tenure-action=save]").await;
    park.sees("#conflict").await;
    park.goes_to("/orders").await;
    story.clock.advance(Duration::from_secs(11));
    olivia.goes_to("/locks").await;
    assert!(!olivia.reads("main").await.contains("Note on order"));
    olivia.goes_to(&format!("/orders/{ORDER}")).await;
    assert!(!olivia.reads("#note").await.contains("박서연 has had"));
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_note_of_a_frozen_order_is_named_on_its_page() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    opens_the_note(&park).await;
    park.types("[name=text]", "Call the customer").await;
    park.goes_to(&format!("/orders/{ORDER}")).await;
    // Left, it is not open any more for who left it.
    park.waits_until("!document.querySelector('#note').textContent.includes('You have had')").await;
    park.clicks("form[action='/orders/2026-000300/start-shipping'] button").await;
    park.waits_until("!document.querySelector(\"form[action$='/start-shipping']\")").await;
    let said = park.reads("[data-tenure-draft-said]").await;
    assert!(said.contains("[Edit the note]") && said.contains("Call the customer"), "{said}");
    // What was typed into a form that cannot be opened any more is to be read and copied only.
    park.finds::<()>(
        "(Object.keys(localStorage).filter((key) => localStorage[key].includes('note 2026')).forEach((key) =>
        (localStorage[key] = localStorage[key].replace('note 2026', 'shipping 2026'))), null)",
    )
    .await;
    park.reloads().await;
    park.sees("[data-tenure-kept]").await;
    assert!(!park.finds::<bool>("document.querySelector('[data-tenure-draft-of]').checkVisibility()").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_only_offered_stays_when_the_form_is_saved_without_it() {
    const LONG: &str = "The customer called twice and wants the parcel after six";
    let story = Story::begin().await;
    let (park, olivia) = (story.person("park").await, story.person("olivia").await);
    opens_the_note(&park).await;
    park.types("[name=text]", "Of before").await;
    super::saves(&park).await;
    opens_the_note(&park).await;
    park.types("[name=text]", "Of before, and of park").await;
    opens_the_note(&olivia).await;
    olivia.types("[name=text]", LONG).await;
    super::saves(&olivia).await;
    for language in ["ko", "en"] {
        park.opens_the_menu().await;
        park.clicks(&format!("a[hreflang={language}]")).await;
        park.sees(&format!("html[lang={language}] [data-tenure-draft-restore]")).await;
        let label = if language == "ko" { "메모" } else { "Note" };
        let offer = park.reads("[data-tenure-draft-text]").await;
        assert!(offer.contains(&format!("{label}: Of before, and of park")), "{offer}");
    }
    park.types("[name=text]", &format!("{LONG}, or on Friday")).await;
    super::saves(&park).await;
    opens_the_note(&park).await;
    park.sees("[data-tenure-draft-restore]").await;
    assert!(park.reads("[data-tenure-draft-text]").await.contains("and of park"));
    // The same, with text that took the place of another.
    park.types("[name=text]", &format!("{LONG}, or on Monday")).await;
    park.clicks("[data-tenure-draft-restore]").await;
    park.waits_until("document.querySelector('[name=text]').value === 'Of before, and of park'").await;
    park.sees("#note[data-tenure-state=held], #note[data-tenure-state=moved]").await;
    park.clicks("[data-tenure-action=save]").await;
    park.clicks(".side.own input").await;
    super::saves(&park).await;
    opens_the_note(&park).await;
    park.sees("[data-tenure-draft-restore]").await;
    let offer = park.reads("[data-tenure-draft-text]").await;
    assert!(offer.contains("Note: …") && offer.contains("or on Monday"), "what is new of a long text: {offer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_dropped_on_the_page_that_refused_it_stays_dropped() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    is_refused(&minji, "Leave it outside").await;
    let shipping = story.order().await.shipping().clone();
    minji.types("[name=message]", "Ring twice").await;
    minji.reloads().await;
    minji.clicks("[data-tenure-draft-discard]").await;
    let said = "[...document.querySelectorAll('.summary, .mistake, [aria-invalid]')].filter((said) => said.checkVisibility()).length";
    let again = async |minji: &Person| {
        minji.sees("[data-tenure-draft-restore]").await;
        let offered = minji.reads("[data-tenure-draft-text]").await;
        assert!(
            offered.contains("Ring twice")
                && !minji
                    .finds::<bool>("document.querySelector('[data-tenure-draft-discard]').checkVisibility()")
                    .await,
            "{offered}"
        );
        assert_eq!(
            (minji.value("[name=message]").await.as_str(), minji.finds::<u32>(said).await),
            (shipping.message(), 0)
        );
    };
    again(&minji).await;
    for _ in 0..2 {
        minji.reloads().await;
        again(&minji).await;
    }
    minji.opens_the_menu().await;
    minji.clicks("a[hreflang=ko]").await;
    minji.sees("html[lang=ko]").await;
    again(&minji).await;
    // What it takes the place of was typed by nobody.
    minji.clicks("[data-tenure-draft-restore]").await;
    minji.waits_until("document.querySelector('[name=message]').value === 'Ring twice'").await;
    assert_eq!(minji.drafts().await, 1);
    minji.clicks("[data-tenure-draft-discard]").await;
    again(&minji).await;
    minji.goes_to(SHIPPING).await;
    again(&minji).await;
    minji.clicks("[data-tenure-draft-restore]").await;
    minji.waits_until("document.querySelector('[name=message]').value === 'Ring twice'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_whose_comparison_was_saved_on_another_device_is_not_called_unsaved() {
    let story = Story::begin().await;
    let (minji, _park) = compares(&story).await;
    let there = story.person("minji").await;
    assert_eq!(minji.drafts().await, 0);
    there.goes_to(&format!("/orders/{ORDER}")).await;
    there.clicks(".notice a").await;
    there.sees("main[data-state=CP-2]").await;
    there.clicks(".side.own input").await;
    super::saves(&there).await;
    minji.goes_to(&format!("/orders/{ORDER}")).await;
    minji.waits_until(NO_DRAFT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removal_of_a_product_that_is_gone_is_put_back_once() {
    const NO: &str = "2026-000290";
    let story = Story::begin().await;
    let (minji, park) = (story.person("minji").await, story.person("park").await);
    let edits = async |person: &Person| {
        person.goes_to(&format!("/orders/{NO}")).await;
        person.clicks(&EDIT.replace(ORDER, NO)).await;
        person.clicks("[name=remove-1]").await;
    };
    edits(&minji).await;
    minji.types("[name=quantity-2]", "7").await;
    minji.goes_to("/orders").await;
    story.clock.advance(Duration::from_secs(11));
    edits(&park).await;
    park.clicks("[data-tenure-action=save]").await;
    park.waits_until(&format!("location.pathname === '/orders/{NO}'")).await;
    minji.goes_to(&format!("/orders/{NO}")).await;
    minji.clicks(&EDIT.replace(ORDER, NO)).await;
    minji.clicks("[data-tenure-draft-restore]").await;
    minji.waits_until("location.search.includes('kept')").await;
    minji.sees("#edit[data-tenure-state=held], #edit[data-tenure-state=moved]").await;
    assert_eq!(minji.value("[name=quantity-2]").await, "7");
    assert!(minji.finds::<bool>("document.querySelector('[data-tenure-draft]').hidden").await);
    minji.clicks("[data-tenure-action=save]").await;
    minji.clicks("#conflict button.main").await;
    minji.waits_until(&format!("location.pathname === '/orders/{NO}'")).await;
    minji.waits_until(NO_DRAFT).await;
}

/// Minji's message is offered to her, and park has saved since she typed it.
async fn offered_on_another_version(story: &Story) -> (Person, Person) {
    let (minji, park) = (story.person("minji").await, story.person("park").await);
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "The first").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    minji.closes_this_tab_and_opens_another().await;
    story.clock.advance(Duration::from_secs(400));
    park.goes_to(SHIPPING).await;
    park.types("[name='address.line2']", "Theirs").await;
    super::saves(&park).await;
    minji.goes_to(SHIPPING).await;
    minji.sees("[data-tenure-draft-restore]").await;
    (minji, park)
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_put_back_in_vain_is_offered_again() {
    let story = Story::begin().await;
    let (minji, _park) = offered_on_another_version(&story).await;
    minji.is_online(false).await;
    minji.types("[name='address.line1']", "Typed here").await;
    minji.clicks("[data-tenure-draft-restore]").await;
    minji.sees_status("still open").await;
    assert_eq!(minji.value("[name='address.line1']").await, "Typed here");
    assert!(minji.reads("[data-tenure-draft-text]").await.contains("The first"));
    assert_eq!(minji.drafts().await, 2);
    minji.is_online(true).await;
    minji.clicks("[data-tenure-draft-restore]").await;
    minji.waits_until("location.search.includes('kept')").await;
    assert_eq!(minji.value("[name=message]").await, "The first");
    minji.sees("[data-tenure-draft-restore]").await;
    assert!(minji.reads("[data-tenure-draft-text]").await.contains("Typed here"));
    minji.goes_to(SHIPPING).await;
    minji.sees("[data-tenure-draft-restore]").await;
    assert!(minji.reads("[data-tenure-sent]").await.contains("The first"));
    assert_eq!(minji.drafts().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_saved_while_another_is_put_back_is_not_lost() {
    // The answer to the draft follows that to the save.
    const LATE: &str = "(window.send = fetch, window.saved = new Promise((go) => (window.go = go)), window.fetch = (url, options) =>
        options?.method !== 'POST' || !/[/]shipping$/.test(url) ? send(url, options)
        : /edit-first/.test(options.body) ? send(url, options).then(async (answer) => {
            const text = await answer.text();
            await saved;
            return new Response(text, answer);
        }) : send(url, options).then((answer) => ((answer.json = () => new Response(answer.body).json().finally(() => setTimeout(go))), answer)), null)";
    let story = Story::begin().await;
    let (minji, park) = offered_on_another_version(&story).await;
    park.goes_to(SHIPPING).await;
    park.types("[name='address.line1']", "Theirs again").await;
    super::saves(&park).await;
    minji.is_online(true).await;
    let slow =
        serde_json::json!({ "offline": false, "latency": 300, "downloadThroughput": -1, "uploadThroughput": -1 });
    minji.emulates("Network.emulateNetworkConditions", slow).await;
    minji.finds::<()>(LATE).await;
    minji.clicks("[data-tenure-draft-restore]").await;
    minji.types("[name='address.line1']", "Typed here").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until(&format!("location.href.includes('kept') || location.pathname === '/orders/{ORDER}'")).await;
    minji.sees("#conflict .side.own").await;
    assert!(minji.reads(".side.own").await.contains("Typed here"));
    let kept = "Object.entries(localStorage).filter(([key]) => key.startsWith('tenure draft')).map(([, draft]) => draft).join()";
    let kept: String = minji.finds(kept).await;
    assert!(kept.contains("The first") && !kept.contains("Typed here"), "{kept}");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_was_taken_back_after_a_refusal_does_not_return() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    let before = story.order().await.shipping().message().to_owned();
    is_refused(&minji, "Leave it outside").await;
    minji.types("[name=message]", &before).await;
    // The mistake stays: the only change is that the message is as it was.
    minji.reloads().await;
    assert_eq!((minji.value("[name=message]").await, minji.drafts().await), (before.clone(), 1));
    minji.types("[name='address.postal_code']", "04524").await;
    minji.reloads().await;
    assert_eq!(minji.value("[name=message]").await, before);
    super::saves(&minji).await;
    let order = story.order().await;
    assert_eq!((order.shipping().message(), order.shipping().address().postal_code.as_str()), (&*before, "04524"));
}

#[tokio::test(flavor = "multi_thread")]
async fn product_that_is_kept_after_all_is_not_removed_by_a_reload() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    let lines = story.order().await.lines().len();
    park.clicks("label:has([name=remove-1])").await;
    park.types("[name=new-product]", "Ghost").await;
    park.types("[name=new-price]", "abc").await;
    park.clicks("[data-tenure-action=save]").await;
    park.sees("main[data-state=OE-17]").await;
    park.clicks("label:has([name=remove-1])").await;
    park.types("[name=new-product]", "").await;
    park.types("[name=new-price]", "").await;
    park.types("[name=quantity-1]", "5").await;
    park.reloads().await;
    park.sees("form[data-tenure-state=held]").await;
    super::saves(&park).await;
    let order = story.order().await;
    assert_eq!((order.lines().len(), order.lines()[0].line_no(), order.lines()[0].quantity()), (lines, 1, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn text_of_a_comparison_that_is_dropped_is_not_called_unsaved() {
    let story = Story::begin().await;
    let (minji, _park) = compares(&story).await;
    minji.clicks("[name=edit-first]").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    minji.goes_back().await;
    minji.waits_until("location.pathname.includes('/kept/')").await;
    story.clock.advance(Duration::from_secs(11));
    minji.reloads().await;
    minji.sees("#conflict [data-tenure-choices]").await;
    minji.clicks("button[form=leave]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    minji.reads("[role=status]").await;
    let open = "Object.entries(localStorage).filter(([key, draft]) => key.startsWith('tenure draft') && !JSON.parse(draft).dropped).length";
    assert_eq!(minji.finds::<u32>(open).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_was_typed_beside_an_older_draft_has_its_own_time() {
    const AT: &str = "Object.values(localStorage).map((draft) => Date.now() - JSON.parse(draft).at < 60000)";
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring twice").await;
    minji.closes_this_tab_and_opens_another().await;
    story.clock.advance(Duration::from_secs(400));
    minji.goes_to("/orders").await;
    let older = "Object.keys(localStorage).filter((key) => key.startsWith('tenure draft'))
        .forEach((key) => (localStorage[key] = JSON.stringify({ ...JSON.parse(localStorage[key]), at: Date.now() - 600000 })))";
    minji.finds::<()>(&format!("({older}, null)")).await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name='address.line2']", "Third floor").await;
    // The banner may be above it by now.
    minji.finds::<()>("(document.querySelector('[data-tenure-draft-restore]').click(), null)").await;
    minji.waits_until("document.querySelector('[name=message]').value === 'Ring twice'").await;
    assert_eq!(
        minji
            .finds::<Vec<bool>>(&AT.replace(
                "values(localStorage)",
                "entries(localStorage).filter(([key]) => key.startsWith('tenure draft')).map(([, draft]) => draft)"
            ))
            .await,
        [true]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_was_taken_back_whole_is_not_called_unsaved() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    let shipping = story.order().await.shipping().clone();
    is_refused(&minji, "Leave it outside").await;
    minji.types("[name=message]", shipping.message()).await;
    minji.types("[name='address.postal_code']", &shipping.address().postal_code).await;
    minji.goes_to(&format!("/orders/{ORDER}")).await;
    let named = "[...document.querySelectorAll('[data-tenure-draft-of], [data-tenure-sent]')].filter((place) => place.checkVisibility()).map((place) => place.innerText)";
    let named: Vec<String> = minji.finds(named).await;
    assert!(named.len() == 1 && named[0].contains("Your text of"), "{named:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_refused_text_that_is_dropped_speaks_of_no_mistake() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    is_refused(&minji, "Leave it outside").await;
    minji.types("[name=message]", "Ring twice").await;
    minji.reloads().await;
    minji.sees(".summary").await;
    minji.clicks("[data-tenure-draft-discard]").await;
    let said = "[...document.querySelectorAll('.summary, .mistake, [aria-invalid]')].filter((said) => said.checkVisibility()).length";
    assert_eq!(minji.finds::<u32>(said).await, 0);
    assert_eq!(minji.value("[name=message]").await, story.order().await.shipping().message());
    minji.clicks("[data-tenure-draft-restore]").await;
    assert!(minji.value("[name=message]").await.contains("Ring twice"));
}

/// A form with the lease, text, and a draft of an older version.
async fn types_beside_an_older_draft(story: &Story, minji: &Person, park: &Person) {
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring the bell").await;
    minji.goes_to("/orders").await;
    story.clock.advance(Duration::from_secs(11));
    park.goes_to(SHIPPING).await;
    park.types("[name='receiver.name']", "Lee").await;
    super::saves(park).await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name='address.line2']", "Floor 3").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn form_into_which_an_older_draft_is_put_is_not_another_tab() {
    let story = Story::begin().await;
    let (minji, park) = (story.person("minji").await, story.person("park").await);
    types_beside_an_older_draft(&story, &minji, &park).await;
    minji.clicks("[data-tenure-draft-restore]").await;
    minji.waits_until("location.search.includes('kept=')").await;
    // Text of an older version takes no lock, and nothing is left of the one before.
    minji.sees("#shipping[data-tenure-state=moved]").await;
    minji.goes_to(&format!("/orders/{ORDER}")).await;
    story.clock.advance(Duration::from_secs(11));
    minji.reloads().await;
    assert!(minji.reads("main").await.contains("Nobody is editing"));
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_text_in_whose_place_an_older_draft_is_put_stays_when_that_is_saved() {
    let story = Story::begin().await;
    let (minji, park) = (story.person("minji").await, story.person("park").await);
    types_beside_an_older_draft(&story, &minji, &park).await;
    minji.types("[name='address.postal_code']", " ").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.waits_until("location.search.includes('kept=')").await;
    minji.waits_until("document.querySelector(\"[name='address.line2']\").value === 'Floor 3'").await;
    let refused = minji.finds::<String>("location.href").await;
    minji.clicks("[data-tenure-draft-restore]").await;
    minji.waits_until(&format!("location.href !== '{refused}' && document.readyState === 'complete'")).await;
    minji.sees("#shipping[data-tenure-state]").await;
    assert_eq!(minji.value("[name=message]").await, "Ring the bell");
    minji.clicks("[data-tenure-action=save]").await;
    minji.clicks("#conflict [name=both]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    let page = minji.reads("main").await;
    assert!(page.contains("Ring the bell") && page.contains("Floor 3"), "it was neither saved nor dropped: {page}");
}
