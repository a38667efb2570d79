//! All routes, requested by everybody without permission, with another person's secrets: lock id, form id, version,
//! generation, kept text, CSRF token. Statuses are exact, nothing changes, and nothing is revealed.

use reqwest::Method;

use super::client::{Answer, Visitor, encoded};
use super::routes::ROUTES;
use super::support::{Form, ORDER, Server};

/// Text in minji's order: only she and the operators may read it.
const MESSAGE: &str = "left-with-the-neighbour";
/// Text in a refused form of hers: only she may read it.
const DRAFT: &str = "the-door-code-is-in-the-letter";

/// The attacker, and which secrets of minji's they have besides those in the form.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    /// Not signed in.
    Stranger,
    /// In minji's browser, with its key and the token, but without her session.
    Thief,
    /// With the session that minji has ended.
    SignedOut,
    /// Another customer.
    Lee,
    /// Another customer, with minji's token.
    LeeWithHerToken,
    /// An operator, with the lock id of minji's lease.
    Park,
    /// An operator who sends the form as minji's.
    ParkAsMinji,
}

use Who::*;

/// For each route the status for a stranger (with or without minji's browser), another customer, one with her token, an operator,
/// and an operator who sends her form. For a redirect it is followed by the status of the next page.
#[rustfmt::skip]
const EXPECTED: [(&str, [&str; 5]); 55] = [
    ("GET /", ["200", "303 /orders", "303 /orders", "303 /orders", "303 /orders"]),
    ("GET /account", ["303 /sign-in", "200", "200", "200", "200"]),
    ("GET /account/password", ["303 /sign-in", "200", "200", "200", "200"]),
    ("POST /account/password", ["401", "422", "403", "422", "409"]),
    ("POST /account/sessions/end", ["401", "303 /account", "403", "303 /account", "409"]),
    ("GET /assets/demo.css", ["200", "200", "200", "200", "200"]),
    ("GET /assets/demo.js", ["200", "200", "200", "200", "200"]),
    ("GET /assets/icons.svg", ["200", "200", "200", "200", "200"]),
    ("GET /assets/products.svg", ["200", "200", "200", "200", "200"]),
    ("GET /assets/shop-sans-1.woff2", ["200", "200", "200", "200", "200"]),
    ("GET /assets/shop.css", ["200", "200", "200", "200", "200"]),
    ("GET /demo", ["200", "200", "200", "200", "200"]),
    ("GET /favicon.svg", ["200", "200", "200", "200", "200"]),
    ("GET /locks", ["303 /sign-in", "403", "403", "200", "200"]),
    ("POST /locks/break", ["401", "403", "403", "303 /locks", "409"]),
    ("GET /now/locks", ["401", "403", "403", "200", "200"]),
    ("GET /now/orders", ["401", "200", "200", "200", "200"]),
    ("GET /orders", ["303 /sign-in", "200", "200", "200", "200"]),
    ("GET /orders/{no}", ["303 /sign-in", "404", "404", "200", "200"]),
    ("POST /orders/{no}/beat", ["401", "404", "404", "200", "409"]),
    ("POST /orders/{no}/cancel", ["401", "303 404", "403", "303 423", "409"]),
    ("GET /orders/{no}/edit", ["303 303", "303 404", "303 404", "303 200", "303 200"]),
    ("POST /orders/{no}/edit", ["401", "303 404", "403", "303 423", "409"]),
    ("POST /orders/{no}/edit/move-here", ["401", "303 404", "403", "303 423", "409"]),
    ("POST /orders/{no}/edit/save", ["401", "303 404", "403", "303 423", "409"]),
    ("GET /orders/{no}/edit/{form}", ["303 /sign-in", "404", "404", "423", "423"]),
    ("GET /orders/{no}/history/{version}", ["303 /sign-in", "404", "404", "200", "200"]),
    ("GET /orders/{no}/kept/{id}", ["303 /sign-in", "404", "404", "404", "404"]),
    ("POST /orders/{no}/leave", ["401", "303 404", "403", "303 200", "409"]),
    ("POST /orders/{no}/left", ["401", "204", "403", "204", "409"]),
    ("GET /orders/{no}/note/edit", ["303 303", "303 404", "303 404", "303 200", "303 200"]),
    ("POST /orders/{no}/note/edit", ["401", "403", "403", "303 200", "409"]),
    ("GET /orders/{no}/note/history/{version}", ["303 /sign-in", "403", "403", "200", "200"]),
    ("GET /orders/{no}/note/now", ["401", "403", "403", "200", "200"]),
    ("POST /orders/{no}/note/save", ["401", "303 403", "403", "400", "409"]),
    ("GET /orders/{no}/note/{form}", ["303 /sign-in", "403", "403", "200", "200"]),
    ("GET /orders/{no}/now", ["401", "404", "404", "200", "200"]),
    ("GET /orders/{no}/shipping", ["303 /sign-in", "404", "404", "200", "200"]),
    ("POST /orders/{no}/shipping", ["401", "303 404", "403", "303 410", "409"]),
    ("POST /orders/{no}/start-shipping", ["401", "303 403", "403", "303 423", "409"]),
    ("GET /orders/{no}/text", ["303 /sign-in", "400", "400", "400", "400"]),
    ("POST /orders/{no}/text", ["401", "303 404", "403", "303 200", "409"]),
    ("GET /sign-in", ["200", "200", "200", "200", "200"]),
    ("GET /stock", ["303 /sign-in", "403", "403", "200", "200"]),
    ("POST /stock/receive", ["401", "403", "403", "400", "409"]),
    ("GET /tenure/form", ["401", "409", "409", "409", "409"]),
    ("GET /tenure/form.js", ["200", "200", "200", "200", "200"]),
    ("GET /tenure/kept.js", ["200", "200", "200", "200", "200"]),
    ("GET /tenure/lease.js", ["200", "200", "200", "200", "200"]),
    ("GET /tenure/live.js", ["200", "200", "200", "200", "200"]),
    ("POST /tenure/release", ["401", "204", "204", "204", "204"]),
    ("GET /tenure/save.js", ["200", "200", "200", "200", "200"]),
    ("GET /tenure/tenure.js", ["200", "200", "200", "200", "200"]),
    ("GET /tenure/text.js", ["200", "200", "200", "200", "200"]),
    ("POST /sign-out", ["401", "303 /sign-in", "403", "303 /sign-in", "409"]),
];

#[tokio::test]
async fn foreign_secrets_give_no_access() {
    let server = Server::start().await;
    let world = World::of(&server).await;
    let before = (server.order(ORDER).await, server.held().await);
    let mut walked = Vec::new();
    // Signing out ends the test.
    let routes = ROUTES.iter().flat_map(|(path, methods)| methods.iter().map(move |method| (*method, *path)));
    // `sign_in.rs` covers sign-in; too many failures would be refused for another reason.
    let routes = routes.filter(|route| *route != ("POST", "/sign-in"));
    // Anybody may begin a story, with the token of the form that they were shown: see the shop's stories.
    let routes = routes.filter(|route| *route != ("POST", "/demo"));
    // This one ends all sessions; its stories are elsewhere.
    let routes = routes.filter(|route| *route != ("POST", "/account/sign-out-everywhere"));
    let (last, routes): (Vec<_>, Vec<_>) = routes.partition(|(_, path)| *path == "/sign-out");
    for (method, path) in routes.into_iter().chain(last) {
        let mut answers = Vec::new();
        for walker in &world.walkers {
            let (status, pages) = world.ask(walker, method, path).await;
            for page in pages {
                assert!(!page.body.contains(DRAFT), "{method} {path} tells what was typed: {}", page.body);
                // A sender's own text may be returned to them.
                let told = method == "GET" && page.body.contains(&world.lock_id);
                assert!(!told, "{method} {path} tells the lock id: {}", page.body);
                let may_read = matches!(walker.who, Park | ParkAsMinji);
                assert!(may_read || !page.body.contains(MESSAGE), "{method} {path} tells of the order: {}", page.body);
            }
            answers.push((walker.who, status));
        }
        let of = |who| answers.iter().find(|(other, _)| *other == who).map(|(_, status)| status.clone()).unwrap();
        assert_eq!((of(Thief), of(SignedOut)), (of(Stranger), of(Stranger)), "{method} {path}");
        walked.push((format!("{method} {path}"), [Stranger, Lee, LeeWithHerToken, Park, ParkAsMinji].map(of)));
    }
    let expected = EXPECTED.map(|(route, statuses)| (route.to_owned(), statuses.map(str::to_owned)));
    assert_eq!(walked, expected);
    let (order, version) = server.order(ORDER).await;
    assert_eq!((&order, version), (&before.0.0, before.0.1));
    // Operators have opened the note themselves.
    let held: Vec<_> = server.held().await.into_iter().filter(|(owner, _)| owner != "park").collect();
    assert_eq!(held, before.1);
}

/// Minji's secrets, and the attackers who have them.
struct World {
    form: Form,
    lock_id: String,
    kept: String,
    walkers: Vec<Walker>,
}

struct Walker {
    who: Who,
    visitor: Visitor,
    csrf: String,
    person: &'static str,
}

impl World {
    async fn of(server: &Server) -> World {
        let mut minji = Visitor::new(&server.base);
        minji.get("/sign-in").await;
        let browser: Vec<_> = minji.cookies.keys().cloned().collect();
        let mut minji = Visitor::signed_in(&server.base, "minji").await;
        let (order, edit) = (format!("/orders/{ORDER}"), format!("/orders/{ORDER}/edit"));
        let opened = minji.page(&order).await.form(&edit);
        let form = minji.follow(opened).await.form(&format!("{edit}/save")).with("message", MESSAGE);
        minji.follow(form).await.is(200);
        let opened = minji.page(&order).await.form(&edit);
        let form = minji.follow(opened).await.form(&format!("{edit}/save"));
        let refused = minji.send(form.clone().with("message", DRAFT).with("receiver.phone", "none")).await;
        let kept = refused.location().split("kept=").nth(1).unwrap().to_owned();
        let token = form.value("csrf").to_owned();

        let mut walkers = Vec::new();
        let mut thief = minji.clone();
        thief.cookies.retain(|name, _| browser.contains(name));
        walkers.push(Walker { who: Thief, visitor: thief, csrf: token.clone(), person: "minji" });
        let mut ended = Visitor::signed_in(&server.base, "minji").await;
        let before = ended.clone();
        let out = ended.page("/orders").await.form("/sign-out");
        let csrf = out.value("csrf").to_owned();
        assert_eq!(ended.send(out).await.status, 303);
        walkers.push(Walker { who: SignedOut, visitor: before, csrf, person: "minji" });
        let mut stranger = Visitor::new(&server.base);
        let csrf = stranger.page("/sign-in").await.form("/sign-in").value("csrf").to_owned();
        walkers.push(Walker { who: Stranger, visitor: stranger, csrf, person: "" });
        for (login, plain, disguised) in [("lee", Lee, LeeWithHerToken), ("park", Park, ParkAsMinji)] {
            let mut visitor = Visitor::signed_in(&server.base, login).await;
            let csrf = visitor.page("/orders").await.form("/sign-out").value("csrf").to_owned();
            let other = visitor.clone();
            let (sent, person) = if disguised == ParkAsMinji { (&csrf, "minji") } else { (&token, login) };
            // First, because they share the session, which the last route ends.
            walkers.push(Walker { who: disguised, visitor: other, csrf: sent.clone(), person });
            walkers.push(Walker { who: plain, visitor, csrf, person: login });
        }
        World { lock_id: form.value("lid").to_owned(), form, kept, walkers }
    }

    /// The status of the response, and of the next page; and both pages.
    async fn ask(&self, walker: &Walker, method: &str, path: &str) -> (String, Vec<Answer>) {
        let id = if path.contains("kept") { &self.kept } else { self.form.value("form_id") };
        let path = path.replace("{no}", ORDER).replace("{form}", id).replace("{id}", id).replace("{version}", "1");
        let path = if path.ends_with("/beat") { format!("{path}?form=edit") } else { path };
        let mut visitor = walker.visitor.clone();
        let body = (method == "POST").then(|| encoded(&self.everything(walker).fields));
        let first = visitor.request(Method::from_bytes(method.as_bytes()).unwrap(), &path, body.as_deref(), &[]).await;
        let to = first.location().to_owned();
        if !to.starts_with("/orders/") {
            let to = to.split('?').next().unwrap();
            return (format!("{} {to}", first.status).trim().to_owned(), vec![first]);
        }
        let second = visitor.get(&to).await;
        (format!("{} {}", first.status, second.status), vec![first, second])
    }

    /// A form with every field that any route may require.
    fn everything(&self, walker: &Walker) -> Form {
        let form = self.form.clone().with("csrf", &walker.csrf).with("person", walker.person);
        let form = form.with("message", "stolen").with("text", "stolen").with("want", "keep").with("reason", "");
        form.with("generation", "2").with("kind", "Order").with("id", ORDER)
    }
}
