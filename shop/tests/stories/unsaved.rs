//! Text that is not saved. Drafts of forms that are gone: the page that says so has a box for them, which the script fills. And text that
//! was refused: the next form of its kind offers it, also without scripts.

use jiff::Timestamp;
use scraper::{Html, Selector};
use shop::domain::OrderNo;
use shop::use_cases::Kept;

use super::support::{Browser, Form, ORDER, Page, Server, order_path};

/// The forms whose drafts the box is for, and for whom; and whether it is hidden and its text is read-only.
fn boxed(page: &Page) -> Option<(String, String, bool)> {
    let document = Html::parse_document(&page.html);
    let found = document.select(&Selector::parse("[data-tenure-kept]").unwrap()).next()?;
    let text = found.select(&Selector::parse("[data-tenure-kept-text]").unwrap()).next().unwrap();
    let of = |name: &str| found.attr(name).unwrap().to_owned();
    let is_quiet = found.attr("hidden").is_some() && text.attr("readonly").is_some();
    Some((of("data-forms"), of("data-person"), is_quiet))
}

#[tokio::test]
async fn frozen_order_has_a_box_for_what_was_not_saved() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    assert_eq!(boxed(&minji.open(ORDER).await), None, "its forms offer their drafts themselves");
    let cancel = format!("{}/cancel", order_path(ORDER));
    park.submit(park.open(ORDER).await.form(&cancel)).await.is(200);
    // The form's address leads to the order.
    let page = minji.get("/orders/2026-000300/shipping").await;
    let forms = format!("shipping {ORDER}|edit {ORDER}");
    assert_eq!(boxed(&page), Some((forms, "minji".into(), true)));
    page.says("You typed this and it was not saved");
    minji.get("/orders/2026-000300?lang=ko").await.says("입력했지만 저장되지 않은 내용입니다");
}

#[tokio::test]
async fn missing_order_has_a_box_for_what_was_not_saved() {
    let server = Server::start().await;
    let park = server.sign_in("park").await;
    let forms = "shipping 2026-009999|edit 2026-009999|note 2026-009999".to_owned();
    for path in ["/orders/2026-009999", "/orders/2026-009999/shipping"] {
        let page = park.get(path).await;
        assert_eq!(boxed(page.is(404)), Some((forms.clone(), "park".into(), true)), "{path}");
    }
}

const SHIPPING: &str = "/orders/2026-000300/shipping";
const SAVE: &str = "/orders/2026-000300/edit/save";
const EDIT: &str = "/orders/2026-000300/edit";
const NOTE: &str = "/orders/2026-000300/note/edit";

/// What is said above the form, and how the text is put into it, or dropped.
pub(super) fn offered(page: &Page) -> Option<(String, Form, Option<Form>)> {
    let document = Html::parse_document(&page.html);
    let find = |css: &str| Selector::parse(css).unwrap();
    let form = document.select(&find("form[data-tenure-sent]")).next()?;
    let said = form.select(&find("[data-tenure-sent-text]")).next()?.text().collect();
    let value = |input: scraper::ElementRef<'_>| Some((input.attr("name")?.into(), input.attr("value")?.into()));
    let fields = form.select(&find("input")).filter_map(value).collect();
    let put_back = Form { action: form.attr("action")?.to_owned(), fields };
    let drop = form.select(&find("[data-tenure-sent-discard]")).next();
    let drop = drop.map(|button| Form {
        action: button.attr("formaction").unwrap().to_owned(),
        ..put_back.clone().with("drop", "1")
    });
    Some((said, put_back, drop))
}

/// A form of this kind, as it is opened.
async fn opens(person: &Browser, kind: &str) -> Page {
    match kind {
        SHIPPING => person.get(SHIPPING).await,
        EDIT => person.edit(ORDER).await,
        _ => person.submit(person.open(ORDER).await.form(NOTE)).await,
    }
}

/// The page is left, as by closing it: its text is not dropped.
async fn closes(person: &Browser, page: &Page) {
    person.submit(page.form("/orders/2026-000300/leave").without("form_id").without("text-of")).await.is(200);
}

async fn looks(person: &Browser, kind: &str) -> Page {
    let page = opens(person, kind).await;
    closes(person, &page).await;
    page
}

#[tokio::test]
async fn refused_text_is_offered_above_the_next_form_of_its_kind_alone() {
    let server = Server::start().await;
    for (kind, save, field, wrong) in [
        (SHIPPING, SHIPPING, "message", ("address.postal_code", "")),
        (EDIT, SAVE, "message", ("address.postal_code", "")),
        (NOTE, "/orders/2026-000300/note/save", "text", ("text", "Fragile\n")),
    ] {
        let park = server.sign_in("park").await;
        let page = opens(&park, kind).await;
        assert!(offered(&page).is_none(), "{kind}");
        let text =
            if field == "text" { format!("{}{}", wrong.1, "x".repeat(5_000)) } else { format!("Fragile, {kind}") };
        let refused = park.submit(page.form(save).with(wrong.0, wrong.1).with(field, &text)).await;
        assert_eq!(refused.is(422).state(), "OE-17", "{kind}");
        assert!(offered(&refused).is_none(), "{kind}: its text is in the form");
        closes(&park, &refused).await;
        for other in [SHIPPING, EDIT, NOTE].into_iter().filter(|other| *other != kind) {
            assert!(offered(&looks(&park, other).await).is_none(), "{kind} above {other}");
        }
        let olivia = server.sign_in("olivia").await;
        assert!(offered(&looks(&olivia, kind).await).is_none(), "{kind}: of another person");

        // In another browser of the person, too.
        let there = server.sign_in("park").await;
        let page = opens(&there, kind).await;
        let (said, put_back, _) = offered(&page).unwrap_or_else(|| panic!("{kind}: {}", page.text()));
        assert!(said.contains("was not saved") && said.contains("Fragile"), "{kind}: {said}");
        let back = there.submit(put_back).await;
        assert_eq!(back.form(save).value(field), text, "{kind}");
        assert!(offered(&back).is_none(), "{kind}");
        let right = if field == "text" { ("text", "Fragile") } else { ("address.postal_code", "06236") };
        there.submit(back.form(save).with(right.0, right.1)).await.is(200);
        assert!(offered(&looks(&there, kind).await).is_none(), "{kind}: it is saved");
    }
}

#[tokio::test]
async fn offered_text_that_is_dropped_can_be_put_back() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("message", "Ring twice").with("address.postal_code", "");
    minji.submit(form).await.is(422);
    let (_, _, drop) = offered(&minji.get(SHIPPING).await).expect("an offer");
    minji.submit(drop.expect("a button")).await.is(200).tells("Discarded.");
    assert!(!minji.open(ORDER).await.text().contains("was not saved"));
    let (said, put_back, drop) = offered(&minji.get(SHIPPING).await).expect("what was dropped");
    assert!(said.contains("You dropped this") && said.contains("Ring twice") && drop.is_none(), "{said}");
    assert_eq!(minji.submit(put_back).await.form(SHIPPING).value("message"), "Ring twice");
    minji.open(ORDER).await.says("was not saved");
}

#[tokio::test]
async fn text_that_goes_on_in_a_form_that_was_saved_meanwhile_is_saved() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let refused = minji.get(SHIPPING).await.form(SHIPPING).with("message", "Ring twice");
    minji.submit(refused.clone().with("address.postal_code", "")).await.is(422);
    // It is put into another form. The browser says so late.
    let next = minji.get(SHIPPING).await.form(SHIPPING).with("message", "Ring twice");
    minji.submit(next.clone()).await.is(200);
    let late =
        Form { action: "/orders/2026-000300/text".to_owned(), ..refused.with("next-form", next.value("form_id")) };
    minji.submit(late).await.is(200);
    assert!(!minji.open(ORDER).await.text().contains("was not saved"));
}

#[tokio::test]
async fn who_leaves_a_form_is_not_told_of_an_earlier_save() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let page = minji.get(SHIPPING).await;
    // The page is left before the answer arrives.
    let (status, _) = minji.send_by_script(&page.form(SHIPPING).with("message", "Ring twice")).await;
    assert_eq!(status, 200);
    let left = minji.submit(minji.get(SHIPPING).await.form("/orders/2026-000300/leave")).await;
    assert!(!left.is(200).html.contains("Saved."), "{}", left.text());
}

#[tokio::test]
async fn text_that_was_saved_elsewhere_is_not_put_into_a_form_again() {
    let server = Server::start().await;
    let (here, there) = (server.sign_in("minji").await, server.sign_in("minji").await);
    let refused = here.get(SHIPPING).await.form(SHIPPING).with("message", "Ring twice");
    let refused = here.submit(refused.with("address.postal_code", "")).await;
    let (_, put_back, _) = offered(&there.get(SHIPPING).await).expect("an offer");
    here.submit(refused.form(SHIPPING).with("address.postal_code", "06236")).await.is(200);
    assert_eq!(there.submit(put_back).await.state(), "OE-20");
    assert!(!there.open(ORDER).await.text().contains("was not saved"));
}

#[tokio::test]
async fn refused_text_of_which_nothing_is_missing_is_not_called_unsaved() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    for (kind, save, field) in
        [(SHIPPING, SHIPPING, "message"), (EDIT, SAVE, "message"), (NOTE, "/orders/2026-000300/note/save", "text")]
    {
        let text = format!("As typed at {kind}");
        let form = opens(&park, kind).await;
        let theirs = if kind == NOTE { server.sign_in("olivia").await } else { minji.clone() };
        closes(&park, &form).await;
        let other = opens(&theirs, kind).await;
        theirs.submit(other.form(save).with(field, "Of somebody else")).await.is(200);
        park.submit(form.form(save).with(field, &text)).await.is(409);
        park.open(ORDER).await.says("was not saved: ");
        let other = opens(&park, kind).await;
        assert!(offered(&other).is_some_and(|(said, ..)| said.contains(&text)), "{kind}");
        park.submit(other.form(save).with(field, &text)).await.is(200);
        assert!(!park.open(ORDER).await.text().contains("was not saved"), "{kind}");
        assert!(offered(&looks(&park, kind).await).is_none(), "{kind}");
    }
    // Of the rest, only that is named.
    let form = park.get(SHIPPING).await.form(SHIPPING).with("message", "Ring twice").with("address.postal_code", "");
    park.submit(form).await.is(422);
    park.submit(park.get(SHIPPING).await.form(SHIPPING).with("message", "Ring twice")).await.is(200);
    let (said, ..) = offered(&park.get(SHIPPING).await).expect("the rest");
    assert!(said.contains("Postal code: (empty)") && !said.contains("Ring twice"), "{said}");
}

#[tokio::test]
async fn refused_text_about_a_product_that_is_gone_names_the_product() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let product = server.order(ORDER).await.0.lines()[0].product().to_owned();
    let tea = park.edit(ORDER).await.form(SAVE).with("new-product", "Tea").with("new-price", "9000");
    park.submit(tea.with("new-quantity", "1")).await.is(200);
    let page = minji.edit(ORDER).await;
    closes(&minji, &page).await;
    park.submit(park.edit(ORDER).await.form(SAVE).with("remove-1", "on")).await.is(200);
    let conflict = minji.submit(page.form(SAVE).with("quantity-1", "8")).await;
    assert_eq!(conflict.is(409).state(), "CP-9");
    let named = format!("Quantity of {product}: 8");
    minji.open(ORDER).await.says(&named);
    let (said, ..) = offered(&looks(&minji, EDIT).await).expect("her text");
    assert!(said.contains(&named), "{said}");
}

#[tokio::test]
async fn page_about_saved_text_lists_only_what_was_typed_by_the_names_of_products() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let product = server.order(ORDER).await.0.lines()[0].product().to_owned();
    let form = minji.edit(ORDER).await.form(SAVE).with("quantity-1", "8");
    let phone = format!(">{}<", form.value("receiver.phone"));
    let refused = minji.submit(form.with("address.postal_code", "")).await;
    minji.submit(refused.is(422).form(SAVE).with("address.postal_code", "06236")).await.is(200);
    let saved = minji.get(&refused.path).await;
    assert_eq!(saved.is(410).state(), "OE-20");
    saved.says(&format!("Quantity of {product}")).says("Postal code");
    assert!(!saved.html.contains(&phone), "{}", saved.html);
}

#[tokio::test]
async fn text_that_is_put_back_was_sent_when_it_was() {
    let mut opened = None;
    let server = Server::start_as(|shop| opened.insert(shop).clone()).await;
    let shop = opened.expect("a shop");
    let minji = server.sign_in("minji").await;
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("message", "Ring twice").with("address.postal_code", "");
    let (member, no) = (server.member("minji").await, OrderNo::new(ORDER).unwrap());
    let at = Some(Timestamp::from_second(Timestamp::now().as_second() - 600).unwrap());
    let kept = Kept { what: "change-shipping".into(), fields: form.fields, has_text: true, at, is_saved: false };
    shop.keep(&member, &no, &kept).await.unwrap();
    let (_, put_back, _) = offered(&minji.get(SHIPPING).await).expect("an offer");
    minji.submit(put_back).await;
    let times: Vec<_> = shop.unsaved(&member).await.unwrap().into_iter().map(|text| Some(text.at)).collect();
    assert_eq!(times, [at, at]);
}
