//! What was typed about a product that another person has changed or removed: after a refusal, a comparison, and when it is edited again.

use super::support::{Browser, Form, Page, Server};
use super::unsaved::offered;

const NO: &str = "2026-000290";
const PATH: &str = "/orders/2026-000290";
const SAVE: &str = "/orders/2026-000290/edit/save";

fn typed(form: Form, fields: &[(&str, &str)]) -> Form {
    fields.iter().fold(form, |form, (name, value)| form.with(name, value))
}

/// An operator ends his editing, and saves hers.
async fn saves_hers(server: &Server, hers: &[(&str, &str)]) {
    let olivia = server.sign_in("olivia").await;
    olivia.submit(olivia.get("/locks").await.form("/locks/break").with("reason", "urgent")).await.is(200);
    olivia.submit(typed(olivia.edit(NO).await.form(SAVE), hers)).await.is(200);
}

/// His form is refused; hers is saved then. He goes on in another browser, which had no lease.
async fn refused(his: &[(&str, &str)], hers: &[(&str, &str)]) -> (Server, Browser) {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    park.submit(typed(park.edit(NO).await.form(SAVE), his)).await;
    saves_hers(&server, hers).await;
    let elsewhere = server.sign_in("park").await;
    (server, elsewhere)
}

/// Hers is saved while he types; he edits again, and sees the comparison.
async fn compared(his: &[(&str, &str)], hers: &[(&str, &str)]) -> (Server, Browser, Page) {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let form = typed(park.edit(NO).await.form(SAVE), his);
    saves_hers(&server, hers).await;
    let again = park.submit(park.submit(form).await.form("/orders/2026-000290/edit")).await;
    let page = park.submit(again.form(SAVE)).await;
    (server, park, page)
}

/// Where [See it] on the order's page leads to.
async fn see_it(person: &Browser) -> Page {
    let order = person.open(NO).await;
    let kept = order.html.split("/kept/").nth(1).and_then(|rest| rest.split('"').next()).expect("a link");
    person.get(&format!("{PATH}/kept/{kept}")).await
}

#[tokio::test]
async fn refused_quantity_of_a_product_that_is_gone_can_not_be_saved_now() {
    for quantity in ["1000", "abc"] {
        let (_server, park) = refused(&[("quantity-1", quantity)], &[("remove-1", "on")]).await;
        let page = see_it(&park).await;
        page.is(409).says("was removed from the order meanwhile");
        assert!(page.text().contains(&format!("Yours {quantity}")), "{}", page.text());
        park.open(NO).await.says("was not saved");
    }
}

#[tokio::test]
async fn line_of_which_the_removal_is_taken_back_has_the_quantity_of_now() {
    let his = [("remove-1", "on"), ("message", "Ring")];
    let (server, park, compared) = compared(&his, &[("quantity-1", "9")]).await;
    let form = park.submit(compared.is(409).press(SAVE, "edit-first")).await.is(200).form(SAVE);
    assert_eq!((form.value("quantity-1"), form.value("remove-1")), ("9", ""), "it is ticked");
    park.submit(form.without("remove-1")).await.is(200);
    assert_eq!(server.order(NO).await.0.lines()[0].quantity(), 9);
}

#[tokio::test]
async fn quantity_of_a_product_that_is_gone_is_named_when_the_rest_is_edited_first() {
    let his = [("quantity-1", "7"), ("message", "Ring")];
    let (server, park, compared) = compared(&his, &[("remove-1", "on")]).await;
    let page = park.submit(compared.is(409).press(SAVE, "edit-first")).await;
    let named = "except for what is not in the order any more: Quantity of 어린이 그림책 세트 12권: 7";
    page.is(200).says(named);
    // Also after a mistake, and when that is put into another form.
    let refused = park.submit(page.form(SAVE).with("receiver.phone", "12")).await;
    refused.says(named);
    park.submit(refused.form("/orders/2026-000290/leave").without("form_id").without("beside")).await;
    let next = park.edit(NO).await;
    let (_, put_back, _) = offered(&next).expect("an offer");
    let page = park.submit(put_back).await;
    page.says(named);
    park.submit(page.form(SAVE).with("receiver.phone", "010-2222-3333")).await.is(200);
    assert_eq!(server.order(NO).await.0.shipping().message(), "Ring");
}

#[tokio::test]
async fn product_that_was_added_beside_the_removal_of_all_others_stays() {
    let all: Vec<_> = [1, 2, 3, 4].map(|line| (format!("remove-{line}"), "on")).into();
    let all: Vec<_> = all.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let added = [("new-product", "Blue pen"), ("new-price", "500"), ("new-quantity", "1")];
    let (server, park) = refused(&all, &added).await;
    let page = see_it(&park).await;
    let text = page.is(409).text();
    assert!(!text.contains("would leave no product") && !text.contains("Quantity of Blue pen"), "{text}");
    park.submit(page.form(SAVE)).await.is(200);
    let order = server.order(NO).await.0;
    assert_eq!(order.lines().iter().map(|line| line.product()).collect::<Vec<_>>(), ["Blue pen"]);
}

#[tokio::test]
async fn drafts_are_offered_beside_refused_text_of_a_shipped_order() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let sent = park.submit(park.edit(NO).await.form(SAVE).with("quantity-1", "0")).await;
    park.submit(park.get("/locks").await.form("/locks/break").with("reason", "urgent")).await.is(200);
    park.submit(park.open(NO).await.form("/orders/2026-000290/cancel")).await.is(200);
    let page = park.get(&sent.path).await;
    assert!(page.html.contains("data-tenure-kept") && page.html.contains("edit 2026-000290"), "{}", page.html);
}
