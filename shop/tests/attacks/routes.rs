//! Every address of the shop, checked against the router itself: a new one fails here until it is listed, and thereby tested.

use std::collections::BTreeSet;

use shop::{Accounts, Settings};

use super::support::Server;

/// Methods and paths. GET implies HEAD.
pub const ROUTES: [(&str, &[&str]); 51] = [
    ("/", &["GET"]),
    ("/account", &["GET"]),
    ("/account/password", &["GET", "POST"]),
    ("/account/sessions/end", &["POST"]),
    ("/account/sign-out-everywhere", &["POST"]),
    ("/assets/demo.css", &["GET"]),
    ("/assets/demo.js", &["GET"]),
    ("/assets/icons.svg", &["GET"]),
    ("/assets/products.svg", &["GET"]),
    ("/assets/shop-sans-1.woff2", &["GET"]),
    ("/assets/shop.css", &["GET"]),
    ("/demo", &["GET", "POST"]),
    ("/favicon.svg", &["GET"]),
    ("/locks", &["GET"]),
    ("/locks/break", &["POST"]),
    ("/now/locks", &["GET"]),
    ("/now/orders", &["GET"]),
    ("/orders", &["GET"]),
    ("/orders/{no}", &["GET"]),
    ("/orders/{no}/beat", &["POST"]),
    ("/orders/{no}/cancel", &["POST"]),
    ("/orders/{no}/edit", &["GET", "POST"]),
    ("/orders/{no}/edit/move-here", &["POST"]),
    ("/orders/{no}/edit/save", &["POST"]),
    ("/orders/{no}/edit/{form}", &["GET"]),
    ("/orders/{no}/history/{version}", &["GET"]),
    ("/orders/{no}/kept/{id}", &["GET"]),
    ("/orders/{no}/leave", &["POST"]),
    ("/orders/{no}/left", &["POST"]),
    ("/orders/{no}/note/edit", &["GET", "POST"]),
    ("/orders/{no}/note/history/{version}", &["GET"]),
    ("/orders/{no}/note/now", &["GET"]),
    ("/orders/{no}/note/save", &["POST"]),
    ("/orders/{no}/note/{form}", &["GET"]),
    ("/orders/{no}/now", &["GET"]),
    ("/orders/{no}/shipping", &["GET", "POST"]),
    ("/orders/{no}/start-shipping", &["POST"]),
    ("/orders/{no}/text", &["GET", "POST"]),
    ("/sign-in", &["GET", "POST"]),
    ("/sign-out", &["POST"]),
    ("/stock", &["GET"]),
    ("/stock/receive", &["POST"]),
    ("/tenure/form", &["GET"]),
    ("/tenure/form.js", &["GET"]),
    ("/tenure/kept.js", &["GET"]),
    ("/tenure/lease.js", &["GET"]),
    ("/tenure/live.js", &["GET"]),
    ("/tenure/release", &["POST"]),
    ("/tenure/save.js", &["GET"]),
    ("/tenure/tenure.js", &["GET"]),
    ("/tenure/text.js", &["GET"]),
];

#[tokio::test]
async fn every_route_of_the_router_is_listed() {
    let server = Server::start().await;
    let shop = shop::open(server.db.clone(), Accounts::Demo).await.unwrap();
    let router = format!("{:?}", shop::app(shop, Settings::default()));
    let listed = ROUTES.iter().map(|(path, methods)| ((*path).to_owned(), methods.join(","))).collect::<BTreeSet<_>>();
    assert_eq!(routed(&router), listed);
}

/// The routes in the debug output of a router: `RouteId(3): "/path"`, and with the same number
/// `MethodRouter(… allow_header: Bytes(b"GET,HEAD"))`.
fn routed(router: &str) -> BTreeSet<(String, String)> {
    let own = router.split("fallback_router").next().unwrap();
    let mut entries = own.split("RouteId(").skip(1).map(|entry| entry.split_once("): ").unwrap()).collect::<Vec<_>>();
    let paths = entries.extract_if(.., |(_, what)| what.starts_with('"')).collect::<Vec<_>>();
    let methods = |route: &str| {
        let (_, of_route) = entries.iter().find(|(other, _)| *other == route).unwrap();
        let allowed = of_route.split("allow_header: Bytes(b\"").nth(1).unwrap().split('"').next().unwrap();
        allowed.split(',').filter(|method| *method != "HEAD").collect::<Vec<_>>().join(",")
    };
    let path = |what: &str| what.split('"').nth(1).unwrap().to_owned();
    paths.iter().map(|(route, what)| (path(what), methods(route))).collect()
}
