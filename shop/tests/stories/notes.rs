//! The operators' note: an advisory lock. Both may edit, and see each other.

use super::support::{Browser, Form, ORDER, Page, Server};

const OPEN: &str = "/orders/2026-000300/note/edit";
const SAVE: &str = "/orders/2026-000300/note/save";

/// The form of the note.
async fn opens(browser: &Browser) -> Page {
    browser.submit(browser.open(ORDER).await.form(OPEN)).await
}

/// The page that shows "Hers" beside "His", which was saved meanwhile.
async fn compares(her: &Browser, him: &Browser) -> Page {
    let hers = opens(her).await.form(SAVE).with("text", "Hers");
    him.submit(opens(him).await.form(SAVE).with("text", "His")).await.is(200);
    her.submit(hers).await
}

#[tokio::test]
async fn both_operators_may_edit_a_note_and_see_each_other() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let first = opens(&park).await;
    first.is(200);
    let second = opens(&olivia).await;
    second.is(200).says("박서연");
    assert_eq!(second.state(), "OE-24");
    // A reload of the first page tells as well.
    park.submit(park.open(ORDER).await.says("Olivia Reed").form(OPEN)).await.is(200).says("Olivia Reed");
    park.submit(first.form(SAVE).with("text", "박스 파손")).await.is(200);
    let conflict = olivia.submit(second.form(SAVE).with("text", "called the customer")).await;
    conflict.is(409).says("박스 파손").says("called the customer").says("박서연");
    olivia.submit(conflict.form(SAVE)).await.is(200).says("called the customer");
}

#[tokio::test]
async fn note_out_of_reach_promises_no_lock() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let note = opens(&park).await;
    let promise = "nobody else can edit";
    assert!(!note.html.contains(promise) && note.html.contains("Others may write in the note"));
    assert!(park.edit(ORDER).await.html.contains(promise));
}

#[tokio::test]
async fn saved_note_that_is_sent_again_with_a_mistake_keeps_its_text() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let note = opens(&park).await;
    park.submit(note.form(SAVE).with("text", "the first")).await.is(200);
    let long = format!("later {}", "x".repeat(shop::domain::Note::MAX));
    let refused = park.submit(note.form(SAVE).with("text", &long)).await;
    let shown = park.get(&refused.is(422).says("later").path).await;
    assert_ne!(shown.form(SAVE).value("form_id"), note.form(SAVE).value("form_id"));
    // It goes on from its own save, so there is nothing to compare.
    park.submit(shown.form(SAVE).with("text", "later")).await.is(200).says("later");
    assert!(!park.open(ORDER).await.html.contains("was not saved"));
}

#[tokio::test]
async fn note_whose_text_went_on_in_another_form_is_open_no_longer() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let his = opens(&park).await;
    let hers = opens(&olivia).await;
    park.submit(his.form(SAVE).with("text", "his")).await.is(200);
    let conflict = olivia.submit(hers.form(SAVE).with("text", "hers")).await;
    let form = olivia.submit(conflict.is(409).press(SAVE, "edit-first")).await;
    let form = form.is(200).says("is back in the form").form(SAVE);
    park.open(ORDER).await.says("had the note open since");
    olivia.submit(form.with("text", "both")).await.is(200);
    for browser in [&park, &olivia] {
        assert!(!browser.open(ORDER).await.text().contains("had the note open since"));
    }
}

#[tokio::test]
async fn empty_note_is_not_written() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let (open, save) = ("/orders/2026-000001/note/edit", "/orders/2026-000001/note/save");
    let his = park.submit(park.open("2026-000001").await.form(open)).await.form(save);
    let hers = olivia.submit(olivia.open("2026-000001").await.form(open)).await.form(save);
    park.submit(his).await.is(200).tells("Nothing was different").says("Nothing has been written yet.");
    olivia.submit(hers.with("text", "hers")).await.is(200).tells("Note saved");
    let unchanged = park.submit(park.open("2026-000001").await.form(open)).await.form(save);
    park.submit(unchanged).await.is(200).tells("Nothing was different").says("hers");
}

#[tokio::test]
async fn the_same_note_of_both_is_nothing_to_do() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    // There was no note, or there was one: twice.
    for text in ["the first", "the second"] {
        let his = opens(&park).await.form(SAVE).with("text", text);
        let hers = opens(&olivia).await.form(SAVE).with("text", text);
        park.submit(his).await.is(200);
        olivia.submit(hers).await.is(200).tells("The same was saved elsewhere");
        let page = olivia.open(ORDER).await;
        assert!(!page.html.contains("was not saved") && !page.html.contains("had the note open since"));
    }
}

#[tokio::test]
async fn only_one_first_note_of_an_order_is_saved() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let (open, save) = ("/orders/2026-000001/note/edit", "/orders/2026-000001/note/save");
    let first = park.submit(park.open("2026-000001").await.form(open)).await.form(save).with("text", "one");
    let second = olivia.submit(olivia.open("2026-000001").await.form(open)).await.form(save).with("text", "two");
    park.submit(first).await.is(200);
    olivia.submit(second).await.is(409).says("two");
    park.open("2026-000001").await.says("one");
}

#[tokio::test]
async fn customers_neither_see_nor_write_notes() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let open = opens(&park).await.form(SAVE).with("text", "비밀 메모");
    park.submit(open).await.is(200).says("비밀 메모");
    let page = minji.open(ORDER).await;
    assert!(!page.html.contains("비밀 메모") && !page.has_form(OPEN));
    let edit = page.form("/orders/2026-000300/edit");
    let fields = [("csrf", edit.value("csrf")), ("form_id", edit.value("form_id"))];
    minji.post(OPEN, &fields, &[]).await.is(403);
}

#[tokio::test]
async fn note_without_a_lock_does_not_say_that_nobody_else_has_it() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let opened = park.submit(park.open(ORDER).await.form("/orders/2026-000300/note/edit")).await;
    // The address of a colleague.
    let page = olivia.get(&opened.is(200).path).await;
    assert!(!page.is(200).html.contains("Nobody else"), "{}", page.html);
    let form = page.form(SAVE);
    let told = olivia.beat("note", &form, "look").await.1;
    assert_eq!(told["said"], "Others do not see that you have this note open.");
    // With the first change, it has one.
    let told = olivia.beat("note", &form, "take").await.1;
    assert!(told["said"].as_str().is_some_and(|said| said.contains("박서연 also has this open")), "{told}");
    let told = park.beat("note", &opened.form(SAVE), "keep").await.1;
    assert!(told["said"].as_str().is_some_and(|said| said.contains("Olivia Reed also has this open")), "{told}");
}

#[tokio::test]
async fn what_is_said_of_a_newer_note_is_true_beside_a_comparison() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let compared = compares(&olivia, &park).await;
    park.submit(opens(&park).await.form(SAVE).with("text", "Two")).await.is(200);
    let told = olivia.beat("note", &compared.is(409).form(SAVE), "look").await.1;
    let said = told["said"].as_str().unwrap_or_default();
    assert!(said.ends_with("When you save, you see both texts side by side."), "{said}");
}

#[tokio::test]
async fn text_that_was_given_up_for_theirs_is_offered_when_it_is_edited_first() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let compared = compares(&olivia, &park).await;
    compared.is(409);
    let form = olivia.submit(compared.press(SAVE, "edit-first").with("text", "His")).await;
    form.is(200).says("was not saved").says("Hers");
    assert!(!form.text().contains("is back in the form"), "{}", form.text());
    assert_eq!(form.form(SAVE).value("text"), "His");
    olivia.submit(form.form(SAVE).with("text", "His, and more")).await.is(200);
    let page = olivia.open(ORDER).await;
    assert!(page.text().contains("was not saved: Note: Hers"), "{}", page.text());
}

#[tokio::test]
async fn theirs_that_was_chosen_and_has_changed_again_is_shown() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let compared = compares(&olivia, &park).await;
    park.submit(opens(&park).await.form(SAVE).with("text", "")).await.is(200);
    let again = olivia.submit(compared.is(409).form(SAVE).with("text", "His")).await;
    // Nothing of hers is left to save, and she sees what it says now.
    again.is(409).says("(empty)");
    assert!(!again.text().contains("Nothing was different"), "{}", again.text());
    assert!(!again.text().contains("Save the result"), "{}", again.text());
    let shipping = "/orders/2026-000300/shipping";
    let hers = olivia.get(shipping).await.form(shipping).with("message", "Hers");
    park.submit(park.get(shipping).await.form(shipping).with("message", "His")).await.is(200);
    let compared = olivia.submit(hers).await;
    park.submit(park.get(shipping).await.form(shipping).with("message", "His again")).await.is(200);
    let again = olivia.submit(compared.is(409).form(shipping).with("message", "His")).await;
    again.is(409).says("added: again");
    assert!(!again.text().contains("Save the result"), "{}", again.text());
    assert_eq!(server.order(ORDER).await.0.shipping().message(), "His again");
}

#[tokio::test]
async fn text_of_a_note_form_that_was_left_goes_on_in_another_one() {
    let server = Server::start().await;
    let (park, olivia) = (server.sign_in("park").await, server.sign_in("olivia").await);
    let page = opens(&olivia).await;
    olivia.submit(page.is(200).form("/orders/2026-000300/leave")).await.is(200);
    park.submit(opens(&park).await.form(SAVE).with("text", "His")).await.is(200);
    // As the script puts a dropped text back.
    let form = page.form(SAVE).with("text", "Hers");
    let next = form.value("form_id").to_owned();
    let back = Form { action: OPEN.into(), ..form }.with("next-form", &next).with("edit-first", "1");
    let form = olivia.submit(back).await.is(200).form(SAVE);
    assert_eq!((form.value("text"), form.value("form_id") == next), ("Hers", false));
    olivia.submit(form).await.is(409).says("His");
}
