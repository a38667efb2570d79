//! Drafts of forms that are gone: the page that says so has a box for them, which the script fills.

use scraper::{Html, Selector};

use super::support::{ORDER, Page, Server, order_path};

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
