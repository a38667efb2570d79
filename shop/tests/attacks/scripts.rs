//! Scripts in all typed and requested texts: they are escaped.

use scraper::{Html, Selector};

use super::client::Visitor;
use super::support::{ORDER, Server, order_path};

/// An element with a handler, a quote that ends an attribute, and a script: unescaped, the browser would run one of them.
const SCRIPT: &str = "\"'><img src=x onerror=alert(1)></textarea><script>alert(1)</script>{{1337*1337}}";
/// The part of it that fits into a product, a name or an address.
const SHORT: &str = "\"'></option></textarea><script>alert(1)</script>";

/// Fails if the page has an element that does not belong to the shop.
fn is_inert(at: &str, html: &str) {
    let document = Html::parse_document(html);
    for bad in ["img[onerror]", "script:not([src])", "[onerror]", "[onload]", "[onclick]", "iframe", "object", "base"] {
        assert!(document.select(&Selector::parse(bad).unwrap()).next().is_none(), "{at}: {bad} in {html}");
    }
    assert!(!html.contains("<script>alert"), "{at}: {html}");
    assert!(!html.contains("1787569"), "{at}: a template was run");
}

#[tokio::test]
async fn stored_text_is_escaped_on_every_page() {
    let server = Server::start().await;
    let no = "<script>alert(1)</script>";
    server.place(no).await;
    let (path, mut park) = (order_path(no), Visitor::signed_in(&server.base, "park").await);
    let opened = park.page(&path).await.form(&format!("{path}/edit"));
    let form = park.follow(opened).await.form(&format!("{path}/edit/save"));
    let form = form.with("receiver.name", SHORT).with("address.line1", SHORT).with("address.line2", SHORT);
    let form = form.with("message", SCRIPT).with("new-product", SHORT).with("new-price", "1").with("new-quantity", "1");
    let saved = park.follow(form).await;
    assert_eq!(saved.path, path);
    let note = park.page(&path).await.form(&format!("{path}/note/edit"));
    let note = park.follow(note).await.form(&format!("{path}/note/save")).with("text", SCRIPT);
    assert_eq!(park.follow(note).await.path, path);
    let (order, version) = server.order(no).await;
    assert_eq!((order.shipping().message(), version), (SCRIPT, 2), "it is stored as it was typed");

    // Its form, its refused form, and the comparison with others' changes.
    let opened = park.page(&path).await.form(&format!("{path}/edit"));
    let edit = park.follow(opened).await;
    let stale = edit.form(&format!("{path}/edit/save")).with("message", &format!("{SCRIPT} mine"));
    let mut minji = Visitor::signed_in(&server.base, "minji").await;
    let theirs = minji.page(&format!("{path}/shipping")).await;
    let ended = park.page("/locks").await.form("/locks/break").with("reason", SHORT);
    assert_eq!(park.send(ended).await.status, 303);
    let changed = theirs.form(&format!("{path}/shipping")).with("message", &format!("{SCRIPT} theirs"));
    assert_eq!(minji.follow(changed).await.path, path);
    let conflict = park.follow(stale).await;
    for page in [&edit, &theirs, &conflict] {
        is_inert(&page.path, &page.html);
    }
    for visitor in [&mut park, &mut minji] {
        for page in ["", "/shipping", "/edit"] {
            let path = format!("{path}{page}");
            is_inert(&path, &visitor.page(&path).await.html);
        }
        for page in ["/orders", "/orders?page=2", "/locks"] {
            is_inert(page, &visitor.page(page).await.html);
        }
    }
}

#[tokio::test]
async fn query_text_is_escaped_in_pages() {
    let server = Server::start().await;
    let mut park = Visitor::signed_in(&server.base, "park").await;
    let asked = url::form_urlencoded::byte_serialize(SCRIPT.as_bytes()).collect::<String>();
    for path in [
        format!("/{asked}"),
        format!("/orders/{asked}"),
        format!("/orders/{asked}/shipping"),
        format!("/orders/{ORDER}/edit/{asked}"),
        format!("/orders/{ORDER}/kept/{asked}"),
        format!("/orders/{ORDER}/shipping?kept={asked}"),
        format!("/orders?state={asked}&page={asked}&lang={asked}"),
        format!("/locks?type={asked}"),
        format!("/sign-in?next={asked}&as={asked}"),
        format!("/?{asked}"),
    ] {
        for visitor in [&mut Visitor::new(&server.base), &mut park] {
            let answer = visitor.get(&path).await;
            assert!(answer.status < 500, "{path}: {}", answer.status);
            is_inert(&path, &answer.body);
        }
    }
    // A refused form shows its text again.
    let form = park.page(&format!("/orders/{ORDER}/shipping")).await.form(&format!("/orders/{ORDER}/shipping"));
    for (name, _) in form.fields.clone() {
        let mut refused = form.clone().with(&name, SCRIPT);
        if name != "csrf" {
            refused = refused.with("receiver.phone", SCRIPT);
        }
        let answer = park.send(refused).await;
        is_inert(&name, &answer.body);
        if !answer.location().is_empty() {
            is_inert(&name, &park.page(answer.location()).await.html);
        }
    }
    assert_eq!(server.order(ORDER).await.1, 1);
}

#[tokio::test]
async fn no_page_lets_a_script_of_its_own_run() {
    let server = Server::start().await;
    let mut park = Visitor::signed_in(&server.base, "park").await;
    for path in ["/orders", "/orders/2026-000300", "/locks", "/nowhere", "/assets/shop.css", "/tenure/tenure.js"] {
        let answer = park.get(path).await;
        let policy = answer.header("content-security-policy");
        let needed = ["default-src 'self'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"];
        let missing: Vec<_> = needed.into_iter().filter(|part| !policy.contains(part)).collect();
        assert_eq!((missing, policy.contains("unsafe")), (vec![], false), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        if path.starts_with('/') && answer.header("content-type").starts_with("text/html") {
            is_inert(path, &answer.body);
            assert!(!answer.body.contains(" style=\""), "{path}: a style in the page would need an exception");
        }
    }
}
