//! Back, to an earlier page of a form: what the form was sent with after that page is offered beside its fields, and stays when they are saved or left.

use super::support::{Browser, Form, ORDER, Page, Server};
use super::unsaved::offered;

const SHIPPING: &str = "/orders/2026-000300/shipping";
const EDIT: &str = "/orders/2026-000300/edit";
const SAVE: &str = "/orders/2026-000300/edit/save";
const NOTE: &str = "/orders/2026-000300/note/save";

/// The page at this address again, as Back loads it: its text, and what was sent later.
async fn goes_back(person: &Browser, to: &Page, later: &str) -> Page {
    let page = person.get(&to.path).await;
    page.is(200);
    assert!(page.text().contains("was not saved") && page.text().contains(later), "{}", page.text());
    page
}

/// Saved, or left, and the later text is still named.
async fn sends_without_it(person: &Browser, form: Form, later: &str) {
    person.submit(form).await.is(200);
    let page = person.open(ORDER).await;
    assert!(page.text().contains("was not saved") && page.text().contains(later), "{}", page.text());
}

#[tokio::test]
async fn refused_text_beside_which_an_earlier_page_is_saved_stays() {
    for kind in ["edit", "note"] {
        let server = Server::start().await;
        let park = server.sign_in("park").await;
        let (opened, save) = match kind {
            "edit" => (park.edit(ORDER).await, SAVE),
            _ => (park.submit(park.open(ORDER).await.form("/orders/2026-000300/note/edit")).await, NOTE),
        };
        let long = format!("Refused words {}", "x".repeat(4200));
        let (field, refused) = if kind == "edit" { ("message", "Refused words") } else { ("text", &*long) };
        let form = opened.form(save).with(field, refused);
        let form = if kind == "edit" { form.with("quantity-1", "0") } else { form };
        let page = park.submit(form).await;
        assert!(page.text().contains("Refused words"));
        let back = goes_back(&park, &opened, "Refused words").await;
        sends_without_it(&park, back.form("/orders/2026-000300/leave"), "Refused words").await;
        sends_without_it(&park, back.form(save).with(field, "Door 5"), "Refused words").await;
    }
}

#[tokio::test]
async fn text_that_was_refused_after_the_refused_text_of_the_page_is_offered_beside_it() {
    for (path, save) in [("shipping", SHIPPING), ("edit", SAVE)] {
        let server = Server::start().await;
        let minji = server.sign_in("minji").await;
        let opened = if path == "edit" { minji.edit(ORDER).await } else { minji.get(SHIPPING).await };
        let wrong = |page: &Page, message: &str| page.form(save).with("message", message).with("receiver.phone", "12");
        let first = minji.submit(wrong(&opened, "First")).await;
        assert!(!first.text().contains("was not saved:"), "{}", first.text());
        let second = minji.submit(wrong(&first, "First and more words")).await;
        assert!(!second.text().contains("was not saved:"), "{}", second.text());
        let back = goes_back_to_a_mistake(&minji, &first).await;
        let right = back.form(save).with("receiver.phone", "010-2222-3333");
        // Sent twice, as after a lost answer.
        minji.submit(right.clone()).await.is(200);
        sends_without_it(&minji, right, "more words").await;
        assert_eq!(server.order(ORDER).await.0.shipping().message(), "First");
        // It can be put into the next form, and is settled by that.
        let next = if path == "edit" { minji.edit(ORDER).await } else { minji.get(SHIPPING).await };
        let (_, put_back, _) = offered(&next).expect("an offer");
        let put = minji.submit(put_back).await;
        let met = minji.submit(put.form(save).with("receiver.phone", "010-2222-3333")).await;
        minji.submit(met.is(409).form(save).with("message", "First and more words")).await.is(200);
        assert_eq!(server.order(ORDER).await.0.shipping().message(), "First and more words");
        assert!(!minji.open(ORDER).await.text().contains("was not saved"));
    }
}

#[tokio::test]
async fn dropping_what_is_offered_beside_a_page_leaves_the_text_of_the_page() {
    for is_sent_again in [false, true] {
        let server = Server::start().await;
        let minji = server.sign_in("minji").await;
        let opened = minji.get(SHIPPING).await;
        let wrong =
            |page: &Page, message: &str| page.form(SHIPPING).with("message", message).with("receiver.phone", "12");
        let first = minji.submit(wrong(&opened, "First")).await;
        minji.submit(wrong(&first, "Second")).await.is(422);
        let back = minji.get(&first.path).await;
        // Something was sent from there before.
        if is_sent_again {
            minji.submit(wrong(&back, "Third")).await.is(422);
        }
        let (said, _, drop) = offered(&back).expect("an offer");
        assert!(said.contains("Second"), "{said}");
        minji.submit(drop.expect("a button")).await.is(200).tells("Discarded.");
        let page = minji.open(ORDER).await;
        let left = if is_sent_again { "Third" } else { "First" };
        assert!(page.text().contains("was not saved") && page.text().contains(left), "{}", page.text());
    }
}

#[tokio::test]
async fn dropping_what_is_offered_above_the_form_as_it_was_opened_drops_all_that_it_was_sent_with() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let opened = park.edit(ORDER).await;
    let first = park.submit(opened.form(SAVE).with("message", "First").with("quantity-1", "0")).await;
    park.submit(first.form(SAVE).with("message", "Second")).await;
    let (said, put_back, drop) = offered(&park.get(&opened.path).await).expect("an offer");
    assert!(said.contains("Second"), "{said}");
    let drop = drop.expect("a button");
    park.submit(drop.clone()).await.is(200).tells("Discarded.");
    assert!(!park.open(ORDER).await.text().contains("was not saved"));
    // The drop arrives once more, after the text was put back: that was the last wish.
    park.submit(put_back).await.is(200).says("Second");
    park.submit(drop).await.is(200);
    assert!(park.open(ORDER).await.text().contains("Second"));
}

async fn goes_back_to_a_mistake(person: &Browser, to: &Page) -> Page {
    let page = person.get(&to.path).await;
    assert!(page.text().contains("First") && page.text().contains("more words"), "{}", page.text());
    page
}

#[tokio::test]
async fn lines_that_were_added_after_the_page_are_offered_beside_it() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let opened = park.edit(ORDER).await;
    let adds = |page: &Page, product: &str| {
        let form = page.press(SAVE, "more");
        let form = form.with("new-product", product).with("new-price", "9000").with("new-quantity", "1");
        Form { action: EDIT.into(), ..form }
    };
    let first = park.submit(adds(&opened, "Alpha")).await;
    let second = park.submit(first.press(SAVE, "more").with("message", "Beta and more")).await;
    second.is(200).says("Beta and more");
    let back = park.get(&first.path).await;
    back.is(200).says("Alpha").says("Beta and more");
    park.submit(back.form(SAVE)).await.is(200);
    assert!(park.open(ORDER).await.text().contains("was not saved"));
}
