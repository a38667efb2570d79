//! Typed text is never lost: not by a refused save, nor by leaving the page.

use std::time::Duration;

use browser::{EDIT, ORDER, Story};

const SHIPPING: &str = "/orders/2026-000300/shipping";

#[tokio::test(flavor = "multi_thread")]
async fn typed_text_survives_a_refused_invalid_save() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=message]", "Third floor, no lift").await;
    park.types("[name='receiver.name']", "").await;
    park.clicks("[data-tenure-action=save]").await;
    park.sees("main[data-state=OE-17] form[data-tenure-state=held]").await;
    assert_eq!(park.value("[name=message]").await, "Third floor, no lift");
    assert!(story.holder().await.is_some(), "the order stays locked while a mistake is corrected");
    park.photo("mistake").await;
    park.types("[name='receiver.name']", "Lee").await;
    park.clicks("[data-tenure-action=save]").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(park.reads("dd.typed").await, "Third floor, no lift");
    assert!(story.holder().await.is_none(), "saving frees the order");
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_text_survives_a_save_by_somebody_else() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    let park = story.person("park").await;
    park.goes_to(SHIPPING).await;
    park.types("[name=message]", "As the operator wants it").await;
    park.clicks("main form .main").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    minji.types("[name=message]", "As the customer wants it").await;
    minji.clicks("main form .main").await;
    minji.waits_until("document.body.innerText.includes('As the operator wants it')").await;
    let page: String = minji.finds("document.body.innerText").await;
    assert!(page.contains("As the customer wants it") && page.contains("As the operator wants it"), "{page}");
    minji.photo("conflict").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_text_survives_a_save_after_the_lease_ended() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=message]", "Written before lunch").await;
    park.gets_heartbeats_through(false).await;
    story.clock.advance(Duration::from_secs(301));
    let olivia = story.person("olivia").await;
    olivia.edits_the_order().await;
    park.clicks("[data-tenure-action=save]").await;
    park.sees("main[data-state]:not([data-state=OE-1])").await;
    assert!(park.finds::<String>("document.querySelector('main').innerHTML").await.contains("Written before lunch"));
    park.photo("lost").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reopened_form_offers_the_abandoned_draft() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    let saved = park.value("[name=message]").await;
    park.types("[name=message]", "Half a sentence").await;
    park.goes_to("/orders").await;
    story.clock.advance(Duration::from_secs(11));
    park.edits_the_order().await;
    assert_eq!(park.value("[name=message]").await, saved, "a draft is offered, not forced on anybody");
    park.photo("draft").await;
    park.clicks("[data-tenure-draft-restore]").await;
    assert_eq!(park.value("[name=message]").await, "Half a sentence");
    park.clicks("[data-tenure-action=save]").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    assert_eq!(park.reads("dd.typed").await, "Half a sentence");
    assert_eq!(park.drafts().await, 0, "saved is no draft any more");
    assert_eq!(park.complaints().await, [""; 0]);
}

/// What the script does while a person types: it reads fields, and stores drafts.
const COUNTS: &str = "(window.stored = 0, window.read = 0,
    window.text = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value'),
    Object.defineProperty(HTMLTextAreaElement.prototype, 'value', { ...text, get() { window.read++; return text.get.call(this); } }),
    window.stringify = JSON.stringify, JSON.stringify = (of, ...how) => (window.stored += Boolean(of?.typed), stringify(of, ...how)), null)";

/// Types these keys one after the other, without a pause.
fn typing(keys: usize) -> String {
    format!(
        "((field) => {{ for (let key = 0; key < {keys}; key++) {{
            text.set.call(field, `${{text.get.call(field)}}x`);
            field.dispatchEvent(new InputEvent('input', {{ bubbles: true }}));
        }} return [window.stored, window.read]; }})(document.querySelector('[name=message]'))"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_in_a_row_cost_one_draft_and_the_last_is_in_it() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.finds::<()>(COUNTS).await;
    let first: (u32, u32) = park.finds(&typing(1)).await;
    assert_eq!(first.0, 1, "the first key is in the draft at once");
    let more: (u32, u32) = park.finds(&typing(300)).await;
    assert_eq!(more, first, "300 keys store nothing and read no text");
    let kept = "JSON.parse(localStorage[Object.keys(localStorage).find((key) => key.startsWith('tenure draft'))]).typed.message[0]";
    park.waits_until(&format!("{kept} === document.querySelector('[name=message]').value")).await;
    assert_eq!(park.finds::<u32>("window.stored").await, 2);
    // Left in the middle of a word.
    park.finds::<(u32, u32)>(&typing(2)).await;
    park.finds::<()>("(dispatchEvent(new PageTransitionEvent('pagehide')), null)").await;
    assert!(park.finds::<bool>(&format!("{kept} === document.querySelector('[name=message]').value")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_double_click_on_save_saves_once() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=message]", "Once is enough").await;
    park.finds::<Option<bool>>("(document.querySelector('[data-tenure-action=save]').click(), document.querySelector('[data-tenure-action=save]').click(), null)").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}' && document.querySelector('dd.typed')")).await;
    assert_eq!(park.reads("dd.typed").await, "Once is enough");
}

#[tokio::test(flavor = "multi_thread")]
async fn field_that_was_emptied_is_named_in_its_draft() {
    for (language, said) in [("en", "Message to the courier: (empty)"), ("ko", "배송 메시지: (비어 있음)")] {
        let story = Story::begin().await;
        let minji = story.reader_of(language).await;
        minji.sign_in("minji").await;
        for (left, after) in [("", ""), (" ", ", ")] {
            minji.goes_to(SHIPPING).await;
            minji.sees("#shipping[data-tenure-state]").await;
            let empties = "((field) => (field.focus(), field.select(), document.execCommand('delete'), null))(document.querySelector('[name=message]'))";
            minji.finds::<()>(empties).await;
            minji.presses(left).await;
            if !after.is_empty() {
                minji.types("[name='receiver.phone']", "010-4444-4444").await;
            }
            minji.goes_to(&format!("/orders/{ORDER}")).await;
            let of_page = minji.reads("[data-tenure-draft-said]").await;
            assert!(of_page.contains(said) && of_page.contains(after), "{of_page}");
            minji.goes_to(SHIPPING).await;
            let offered = minji.reads("[data-tenure-draft-text]").await;
            assert!(offered.contains(said), "{offered}");
            if after.is_empty() {
                minji.clicks("[data-tenure-draft-restore]").await;
                assert_eq!(minji.value("[name=message]").await, "");
                minji.clicks("[data-tenure-draft-discard]").await;
            }
        }
        story.clock.advance(Duration::from_secs(400));
        let park = story.person("park").await;
        park.goes_to(&format!("/orders/{ORDER}")).await;
        park.clicks("form[action='/orders/2026-000300/start-shipping'] button").await;
        park.sees(".flash").await;
        minji.goes_to(&format!("/orders/{ORDER}")).await;
        minji.sees("[data-tenure-kept]").await;
        let text = minji.value("[data-tenure-kept-text]").await;
        assert!(text.lines().any(|line| line == said), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn draft_of_a_shipped_order_is_shown_on_its_page() {
    for (language, field, copied, gone) in [
        ("en", "Message to the courier", "Copied.", "Discarded."),
        ("ko", "배송 메시지", "복사했습니다.", "버렸습니다."),
    ] {
        let story = Story::begin().await;
        let minji = story.reader_of(language).await;
        minji.sign_in("minji").await;
        minji.goes_to(SHIPPING).await;
        minji.types("[name=message]", "Ring twice").await;
        minji.goes_to("/orders").await;
        story.until_remaining("the parting", |left| left <= Duration::from_secs(10)).await;
        story.clock.advance(Duration::from_secs(11));
        let park = story.person("park").await;
        park.goes_to(&format!("/orders/{ORDER}")).await;
        park.clicks("form[action='/orders/2026-000300/start-shipping'] button").await;
        park.sees(".flash").await;
        minji.goes_to(SHIPPING).await;
        minji.sees("[data-tenure-kept]").await;
        assert_eq!(minji.path().await, format!("/orders/{ORDER}"));
        let text = minji.value("[data-tenure-kept-text]").await;
        assert!(text.contains(field) && text.contains("Ring twice"), "{text}");
        minji.photo(&format!("{language}-kept")).await;
        minji.clicks("[data-tenure-kept-copy]").await;
        assert_eq!(minji.reads("[data-tenure-kept-status]").await, copied);
        minji.clicks("[data-tenure-kept-discard]").await;
        assert_eq!(minji.reads("[data-tenure-kept-status]").await, gone);
        assert_eq!(minji.complaints().await, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_note_is_counted_and_not_cut() {
    let story = Story::begin().await;
    for (language, near, over) in
        [("en", "3,900 of 4,000 characters", "Too long by 100"), ("ko", "4,000자 중 3,900자", "100자가 넘습니다")]
    {
        let park = story.reader_of(language).await;
        park.sign_in("park").await;
        park.goes_to(&format!("/orders/{ORDER}")).await;
        park.clicks("form[action='/orders/2026-000300/note/edit'] button").await;
        park.sees("form[action='/orders/2026-000300/note/save']").await;
        assert!(park.finds::<bool>("document.querySelector('[data-tenure-counter]').hidden").await);
        for (length, said) in [(3_900, near), (4_100, over)] {
            let typed = format!(
                "((field) => (field.value = 'x'.repeat({length}), field.dispatchEvent(new InputEvent('input', {{ bubbles: true }})), null))\
                 (document.querySelector('[name=text]'))"
            );
            park.finds::<()>(&typed).await;
            park.waits_until(&format!(
                "document.querySelector('[data-tenure-counter]').textContent.includes('{said}')"
            ))
            .await;
            assert!(!park.finds::<bool>("document.querySelector('[data-tenure-counter]').hidden").await);
            assert_eq!(park.value("[name=text]").await.len(), length);
        }
        park.photo(&format!("{language}-counted")).await;
    }
}

/// A person whose text was refused, and is back in the form, at the address of the kept text.
async fn with_kept_text(story: &Story) -> browser::Person {
    let minji = story.person_without_memory("minji").await;
    minji.goes_to(SHIPPING).await;
    let park = story.person("park").await;
    park.goes_to(SHIPPING).await;
    park.types("[name='address.line2']", "Fourth floor").await;
    park.clicks("main form .main").await;
    park.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    minji.types("[name=message]", "Ring").await;
    minji.clicks("main form .main").await;
    minji.clicks("[name=edit-first]").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    minji.waits_until("location.search.includes('kept')").await;
    assert!(minji.finds::<bool>("document.querySelector('[data-tenure-draft]').hidden").await, "all of it is here");
    minji
}

/// The notes about text that came back.
const NOTES: &str =
    "[...document.querySelectorAll('[data-tenure-draft], .returned')].filter((e) => e.checkVisibility()).length";

#[tokio::test(flavor = "multi_thread")]
async fn reload_of_kept_text_restores_what_was_typed_after_it() {
    let story = Story::begin().await;
    let minji = with_kept_text(&story).await;
    minji.types("[name=message]", "Ring twice").await;
    minji.reloads().await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    assert_eq!(minji.value("[name=message]").await, "Ring twice");
    assert!(minji.reads("[data-tenure-draft-text]").await.contains("is back in the form"));
    assert_eq!(minji.finds::<u32>(NOTES).await, 1);
    assert_eq!(minji.drafts().await, 1, "the older text is not another draft");
    minji.finds::<()>("(scrollTo(0, 0), null)").await;
    minji.photo("kept-reloaded").await;
    // Edited further, it cannot be dropped as what came back.
    minji.clicks("[name=message]").await;
    minji.presses("!").await;
    assert!(minji.finds::<bool>("document.querySelector('[data-tenure-draft]').hidden").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn back_to_kept_text_that_was_dropped_draws_none_of_it() {
    let story = Story::begin().await;
    let minji = with_kept_text(&story).await;
    let saved = story.order().await.shipping().message().to_owned();
    minji.types("[name=message]", "Ring twice").await;
    minji.clicks("[form=leave]").await;
    minji.waits_until(&format!("location.pathname === '/orders/{ORDER}'")).await;
    minji.goes_back().await;
    assert!(minji.reads("[data-tenure-draft-text]").await.starts_with("You dropped"));
    assert_eq!((minji.value("[name=message]").await, minji.finds::<u32>(NOTES).await), (saved, 1));
    minji.finds::<()>("(scrollTo(0, 0), null)").await;
    minji.photo("kept-dropped").await;
    minji.clicks("[data-tenure-draft-restore]").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    assert_eq!((minji.value("[name=message]").await.as_str(), minji.finds::<u32>(NOTES).await), ("Ring twice", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_the_server_gave_back_is_not_offered_again() {
    let story = Story::begin().await;
    let park = story.person("park").await;
    park.edits_the_order().await;
    park.types("[name=new-product]", "Tea").await;
    park.clicks("[name=more]").await;
    park.waits_until("document.querySelectorAll('[name=new-product]').length === 2").await;
    assert!(park.finds::<bool>("document.querySelector('[data-tenure-draft]').hidden").await);
    assert_eq!((park.value("[name=new-product]").await.as_str(), park.drafts().await), ("Tea", 0));
    // Also if there is an empty line already: the cursor is in it.
    for _ in 0..2 {
        let before: f64 = park.finds("performance.timeOrigin").await;
        assert_eq!(park.finds::<String>("document.activeElement.id").await, "new-product-2");
        park.clicks("[name=more]").await;
        park.waits_until(&format!(
            "performance.timeOrigin > {before} && document.querySelector('#edit[data-tenure-state]')"
        ))
        .await;
    }
    assert_eq!(park.finds::<u32>("document.querySelectorAll('[name=new-product]').length").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_saved_is_not_called_unsaved_in_a_draft_that_has_more() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name='address.line2']", "Room A").await;
    minji.types("[name=message]", "Ring twice").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    minji.closes_this_tab_and_opens_another().await;
    story.clock.advance(Duration::from_secs(400));
    minji.goes_to(SHIPPING).await;
    minji.sees("[data-tenure-draft-restore]").await;
    minji.types("[name=message]", "Ring twice").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    super::saves(&minji).await;
    minji.sees("[data-tenure-draft-said]").await;
    let said = minji.reads("[data-tenure-draft-said]").await;
    assert!(said.contains("Room A") && !said.contains("Ring twice"), "{said}");
    // It can still be put into the form.
    minji.goes_to(SHIPPING).await;
    minji.clicks("[data-tenure-draft-restore]").await;
    minji.waits_until("document.querySelector('[name=\"address.line2\"]')?.value === 'Room A' && document.querySelector('#shipping[data-tenure-state]')").await;
    assert_eq!(minji.value("[name=message]").await, "Ring twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_put_into_a_form_that_can_never_be_saved() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring twice").await;
    minji.goes_to("/orders").await;
    story.clock.advance(Duration::from_secs(11));
    minji.goes_to(SHIPPING).await;
    minji.sees("[data-tenure-draft-restore]").await;
    let park = story.person("park").await;
    park.goes_to(&format!("/orders/{ORDER}")).await;
    park.clicks("form[action='/orders/2026-000300/start-shipping'] button").await;
    minji.sees("main[data-state=OE-15]").await;
    minji.photo("draft-of-a-shipped-order").await;
    assert!(!minji.finds::<bool>("document.querySelector('[data-tenure-draft]').checkVisibility()").await);
    minji.clicks("[data-tenure-action=see]").await;
    minji.sees("[data-tenure-kept]").await;
    assert!(minji.value("[data-tenure-kept-text]").await.contains("Ring twice"), "it can be read and copied there");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_back_is_not_called_to_be_saved_once_the_order_is_shipped() {
    let story = Story::begin().await;
    let minji = with_kept_text(&story).await;
    let notice = "document.querySelector('.returned').checkVisibility()";
    assert!(minji.finds::<bool>(notice).await);
    let park = story.person("park").await;
    super::live::ships_anyway(&park).await;
    minji.looks_away_and_back().await;
    minji.sees("main[data-state=OE-15]").await;
    minji.photo("text-back-of-a-shipped-order").await;
    assert!(!minji.finds::<bool>(notice).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_typed_before_the_clock_was_set_back_is_offered() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring twice").await;
    minji.sees("#shipping[data-tenure-state=held]").await;
    minji.goes_to("/orders").await;
    let an_hour_ahead =
        "((key) => ((draft) => (localStorage[key] = JSON.stringify({ ...draft, at: draft.at + 3600000 }), null))
        (JSON.parse(localStorage[key])))(Object.keys(localStorage).find((key) => key.startsWith('tenure draft')))";
    minji.finds::<()>(an_hour_ahead).await;
    minji.goes_to(SHIPPING).await;
    minji.clicks("[data-tenure-draft-restore]").await;
    assert_eq!(minji.value("[name=message]").await, "Ring twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_of_a_removed_line_that_came_along_is_not_offered() {
    let story = Story::begin().await;
    let (park, olivia) = (story.person("park").await, story.person("olivia").await);
    park.edits_the_order().await;
    park.types("[name=quantity-1]", "7").await;
    olivia.goes_to("/locks").await;
    olivia.clicks("details.confirm summary").await;
    olivia.types("details.confirm [name=reason]", "Another product").await;
    olivia.clicks("details.confirm .danger").await;
    park.sees("form[data-tenure-state=lost]").await;
    olivia.edits_the_order().await;
    for (field, text) in [("product", "Broom"), ("price", "1000"), ("quantity", "1")] {
        olivia.types(&format!("[name=new-{field}]"), text).await;
    }
    olivia.clicks("[name=remove-1]").await;
    super::saves(&olivia).await;
    park.clicks("[data-tenure-action=again]").await;
    park.sees("main[data-state=OE-25] form[data-tenure-state]").await;
    park.photo("removed-line").await;
    assert_eq!(park.value("[name=quantity-1]").await, "7");
    assert!(park.finds::<bool>("document.querySelector('[data-tenure-draft]').hidden").await, "all of it is here");
}

#[tokio::test(flavor = "multi_thread")]
async fn full_storage_of_the_browser_is_said() {
    for (language, told) in [("en", "This browser keeps no copy"), ("ko", "브라우저의 저장 공간이")] {
        let story = Story::begin().await;
        let minji = story.reader_of(language).await;
        minji.sign_in("minji").await;
        minji.goes_to(SHIPPING).await;
        let fill = "(() => {
            for (let size = 1 << 22; size; size >>= 1)
                for (let i = 0; ; i++) try { localStorage[`${size} ${i}`] = 'x'.repeat(size); } catch { break; }
            return null;
        })()";
        minji.finds::<()>(fill).await;
        minji.types("[name=message]", "Ring").await;
        minji
            .waits_until(&format!("document.querySelector('[data-tenure-status]').textContent.startsWith('{told}')"))
            .await;
        minji.finds::<()>("(localStorage.clear(), null)").await;
        minji.types("[name=message]", " twice").await;
        minji
            .waits_until(&format!("!document.querySelector('[data-tenure-status]').textContent.startsWith('{told}')"))
            .await;
        assert_eq!(minji.drafts().await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_that_is_offered_is_what_another_tab_has_typed_by_now() {
    for is_dropped in [false, true] {
        let story = Story::begin().await;
        let minji = story.person("minji").await;
        let is_kept = |text: &str| format!("Object.values(localStorage).some((draft) => draft.includes('{text}'))");
        minji.goes_to(SHIPPING).await;
        minji.types("[name=message]", "Ring").await;
        minji.waits_until(&is_kept("Ring")).await;
        minji.opens_a_tab().await;
        minji.goes_to(SHIPPING).await;
        minji.sees("[data-tenure-draft-restore]").await;
        minji.turns_to_tab(0).await;
        minji.types("[name=message]", "Ring twice").await;
        minji.waits_until(&is_kept("Ring twice")).await;
        minji.turns_to_tab(1).await;
        assert!(minji.reads("[data-tenure-draft-text]").await.ends_with("Message to the courier: Ring twice"));
        if is_dropped {
            minji.clicks("[data-tenure-draft-discard]").await;
        }
        minji.clicks("[data-tenure-draft-restore]").await;
        assert_eq!(minji.value("[name=message]").await, "Ring twice", "dropped before: {is_dropped}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_says_when_it_was_typed_and_not_when_its_page_was_left() {
    let story = Story::begin().await;
    let minji = story.person("minji").await;
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "Ring twice").await;
    let typed_at = "Object.values(localStorage).map((draft) => JSON.parse(draft).at).find(Boolean) ?? 0";
    minji.waits_until(typed_at).await;
    let at: i64 = minji.finds(typed_at).await;
    minji.finds::<()>("((now) => (Date.now = () => now() + 600000, null))(Date.now.bind(Date))").await;
    minji.looks_away_and_back().await;
    minji.goes_to("/orders").await;
    let left: i64 = minji.finds(typed_at).await;
    assert!((0..10_000).contains(&(left - at)), "{at}, {left}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_was_typed_into_a_whole_order_is_shown_once_it_is_cancelled() {
    const NO: &str = "2026-000290";
    let story = Story::begin().await;
    let (minji, park) = (story.person("minji").await, story.person("park").await);
    minji.goes_to(&format!("/orders/{NO}")).await;
    minji.clicks(&EDIT.replace(ORDER, NO)).await;
    minji.clicks("[name=remove-1]").await;
    minji.types("[name=quantity-2]", "-1").await;
    minji.types("[name=quantity-3]", "7").await;
    minji.clicks("[data-tenure-action=save]").await;
    minji.sees("main[data-state=OE-17]").await;
    minji.types("[name=quantity-2]", "9").await;
    minji.goes_to("/orders").await;
    story.clock.advance(Duration::from_secs(11));
    park.goes_to(&format!("/orders/{NO}")).await;
    park.clicks("details:has(.danger) summary").await;
    park.clicks(".danger").await;
    park.waits_until("!document.querySelector('.danger')").await;
    minji.goes_to(&format!("/orders/{NO}")).await;
    let text = minji.value("[data-tenure-kept-text]").await;
    for line in [
        "Remove 어린이 그림책 세트 12권",
        "Quantity of Noise-cancelling headphones: 9",
        "Quantity of 곱창 도시락김 24봉: 7",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_differs_of_a_text_is_not_said_of_the_one_that_takes_its_place() {
    let story = Story::begin().await;
    let (minji, park) = (story.person("minji").await, story.person("park").await);
    minji.goes_to(SHIPPING).await;
    minji.types("[name=message]", "First").await;
    minji.goes_to("/orders").await;
    story.clock.advance(Duration::from_secs(11));
    super::unsaved::is_refused(&minji, "Mine").await;
    story.clock.advance(Duration::from_secs(400));
    park.goes_to(SHIPPING).await;
    park.types("[name=message]", "Theirs").await;
    super::saves(&park).await;
    minji.reloads().await;
    minji.sees("details[data-tenure-drawn]").await;
    minji.clicks("[data-tenure-draft-restore]").await;
    assert_eq!(minji.value("[name=message]").await, "First");
    minji.waits_until("document.querySelector('[data-tenure-drawn]').hidden").await;
    let kept = minji.reads("[data-tenure-draft-text]").await;
    assert!(kept.contains("is kept: ") && kept.contains("Message to the courier: Mine"), "{kept}");
}
