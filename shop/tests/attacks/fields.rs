//! Every field of every form with invalid content. No response is a server failure, and a refusal
//! changes nothing.

use std::collections::HashSet;

use tenure::{LockKey, LockManager, Owner, Repository};

use shop::domain::{Note, OrderNo};

use super::client::{Answer, Visitor, encoded};
use super::support::{Form, ORDER, Server};

/// The invalid contents.
const BAD: [&str; 26] = [
    "",
    " ",
    "\0",
    "a\0b",
    "a\u{1b}[31m\u{7}b",
    "a\r\nb\nc",
    "\u{202e}\u{feff}\u{2028}",
    "💐",
    "e\u{301}",
    "'; drop table orders --",
    "%00%0a%ff",
    "null",
    "[]",
    "{}",
    "-1",
    "0",
    "1.5",
    "1e9",
    "NaN",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "99999999999999999999999999",
    "٣",
    "2026-02-30",
    "remove",
];

/// Bytes that are not UTF-8, which no browser would encode.
const NO_TEXT: [&str; 4] = ["%FF%FE", "%C0%80", "%ED%A0%80", "%"];

/// A form, its page, and its sender. It is opened again after each change.
struct Target {
    who: &'static str,
    /// The pages and buttons that lead to it.
    way: &'static [(&'static str, &'static str)],
    /// Fields that scripts and buttons add.
    more: &'static [(&'static str, &'static str)],
    /// Fields that are left unchanged, because another test covers them.
    spared: &'static [&'static str],
}

/// After this many changes another shop is opened.
const CHANGES: usize = 25;

const PAGE: &str = "/orders/2026-000300";

const TARGETS: [Target; 11] = [
    Target::of("minji", &[(PAGE, "/orders/2026-000300/cancel")]),
    Target::of("park", &[(PAGE, "/orders/2026-000300/start-shipping")]),
    Target { more: &[("anyway", "1")], ..Target::of("park", &[(PAGE, "/orders/2026-000300/start-shipping")]) },
    Target {
        more: &[("both", ""), ("mine", "message"), ("apply", "1"), ("edit-first", "1"), ("kept", "")],
        ..Target::of("minji", &[("/orders/2026-000300/shipping", "/orders/2026-000300/shipping")])
    },
    Target {
        more: &[("next-form", ""), ("message", "typed"), ("version", ""), ("kept", "")],
        ..Target::of("minji", &[(PAGE, "/orders/2026-000300/edit")])
    },
    Target {
        more: &[
            ("quantity-1", "2"),
            ("remove-1", "on"),
            ("new-product", "tea"),
            ("new-price", "1"),
            ("new-quantity", "1"),
        ],
        ..Target::of("park", &[(PAGE, "/orders/2026-000300/edit"), ("", "/orders/2026-000300/edit/save")])
    },
    Target {
        more: &[("quantity-4294967296", "2"), ("both", ""), ("mine", "lines"), ("apply", "1")],
        ..Target::of("park", &[(PAGE, "/orders/2026-000300/edit"), ("", "/orders/2026-000300/edit/save")])
    },
    Target::of("minji", &[(PAGE, "/orders/2026-000300/edit"), ("", "/orders/2026-000300/leave")]),
    Target::of("park", &[(PAGE, "/orders/2026-000300/note/edit")]),
    Target::of("park", &[(PAGE, "/orders/2026-000300/note/edit"), ("", "/orders/2026-000300/note/save")]),
    Target::of("park", &[(PAGE, "/orders/2026-000300/note/edit"), ("", "/orders/2026-000300/leave")]),
];

impl Target {
    const fn of(who: &'static str, way: &'static [(&'static str, &'static str)]) -> Target {
        Target { who, way, more: &[], spared: &[] }
    }

    async fn open(&self, visitor: &mut Visitor) -> Form {
        let mut page = None;
        for (address, action) in self.way {
            let form = match (&page, *address) {
                (None, address) => visitor.page(address).await.form(action),
                (Some(form), _) => visitor.follow(Form::clone(form)).await.form(action),
            };
            page = Some(form);
        }
        let form = page.unwrap();
        self.more.iter().fold(form, |form, (name, value)| form.with(name, value))
    }
}

#[tokio::test]
async fn no_field_of_a_form_makes_the_server_fail() {
    for target in TARGETS {
        hunt(&target).await;
    }
}

/// Sends each field of the form with every invalid content.
async fn hunt(target: &Target) {
    let mut server = Server::start().await;
    let mut visitor = Visitor::signed_in(&server.base, target.who).await;
    let mut form = target.open(&mut visitor).await;
    let mut changes = 0;
    let names: Vec<_> = form.fields.iter().map(|(name, _)| name.clone()).collect();
    for name in names.iter().filter(|name| !target.spared.contains(&name.as_str())) {
        for at in 0..bad_bodies(&form, name).len() {
            let body = bad_bodies(&form, name).swap_remove(at);
            let before = State::of(&server).await;
            let answer = visitor.post(&form.action, &body).await;
            let after = State::of(&server).await;
            is_sound(&form, &body, &answer, &before, &after);
            if answer.location().contains("kept") {
                let page = visitor.get(answer.location()).await;
                assert!(page.status < 500, "{} of {body:.200}: {}", page.status, page.body);
            }
            changes += usize::from(after != before);
            // Or when a member has nearly reached the rate limit of locks.
            if !after.order.0.state().is_changeable() || changes == CHANGES {
                changes = 0;
                server = Server::start().await;
                visitor = Visitor::signed_in(&server.base, target.who).await;
            }
            if after != before {
                form = target.open(&mut visitor).await;
            }
        }
    }
}

/// Bodies of the form with one field changed.
fn bad_bodies(form: &Form, name: &str) -> Vec<String> {
    let of = |form: Form| encoded(&form.fields);
    let mut bodies: Vec<_> = BAD.iter().map(|bad| of(form.clone().with(name, bad))).collect();
    for long in ["x".repeat(300), "가".repeat(5_000), "9".repeat(400), "x".repeat(200_000)] {
        bodies.push(of(form.clone().with(name, &long)));
    }
    bodies.push(of(form.clone().without(name)));
    for other in ["", "other", "\0"] {
        let mut twice = form.clone();
        twice.fields.insert(0, (name.to_owned(), other.to_owned()));
        bodies.push(of(twice));
    }
    let rest = of(form.clone().without(name));
    bodies.extend(NO_TEXT.iter().map(|bytes| format!("{rest}&{name}={bytes}")));
    bodies.push(format!("{rest}&{name}"));
    bodies.push(format!("{rest}&{name}[]=1"));
    bodies
}

/// The state that an error must not change.
#[derive(Debug, PartialEq)]
struct State {
    order: (shop::domain::Order, i64),
    note: Option<(String, i64)>,
    held: Vec<(String, i64)>,
}

impl State {
    async fn of(server: &Server) -> State {
        let note = Repository::<Note>::new(&server.db).get(&OrderNo::new(ORDER).unwrap()).await.unwrap();
        let note = note.map(|note| (note.text().to_owned(), note.version().number()));
        State { order: server.order(ORDER).await, note, held: server.held().await }
    }
}

fn is_sound(form: &Form, body: &str, answer: &Answer, before: &State, after: &State) {
    let sent = format!("{} {:.300}", form.action, body);
    assert!(answer.status < 500, "{}: {sent}\n{}", answer.status, answer.body);
    assert!(!matches!(answer.status, 401 | 429), "{}: it did not come as far as the form: {sent}", answer.status);
    let refused = answer.status >= 400 || answer.location().contains("kept");
    // A form with a mistake acquires or keeps its lease, so that no other person acquires the order while it is corrected.
    let aggregates = |state: &State| (state.order.1, state.note.clone());
    if refused {
        assert_eq!(aggregates(before), aggregates(after), "{} changed something: {sent}", answer.status);
        assert!(form.action.ends_with("/edit") || before.held == after.held, "{}: {sent}", answer.status);
    }
}

#[tokio::test]
async fn no_address_makes_the_server_fail() {
    let server = Server::start().await;
    let mut park = Visitor::signed_in(&server.base, "park").await;
    let long = "x".repeat(6_000);
    let mut parts: Vec<String> =
        BAD.iter().map(|bad| url::form_urlencoded::byte_serialize(bad.as_bytes()).collect()).collect();
    parts.extend(NO_TEXT.iter().map(|bytes| (*bytes).to_owned()));
    parts.extend([long, "..".into(), "%2e%2e%2f".into(), ".".into()]);
    let before = State::of(&server).await;
    for part in &parts {
        let part = part.replace('+', "%20");
        for path in [
            format!("/orders/{part}"),
            format!("/orders/{part}/shipping"),
            format!("/orders/{part}/edit"),
            format!("/orders/{part}/edit/{part}"),
            format!("/orders/{part}/note/{part}"),
            format!("/orders/{ORDER}/kept/{part}"),
            format!("/orders/{ORDER}/edit/{part}"),
            format!("/orders/{ORDER}/edit/{part}?kept={part}"),
            format!("/orders/{ORDER}/shipping?kept={part}"),
            format!("/orders?state={part}&page={part}"),
            format!("/orders?lang={part}&{part}={part}"),
            format!("/locks?type={part}"),
            format!("/sign-in?next={part}&as={part}&lang={part}"),
        ] {
            let answer = park.get(&path).await;
            assert!(answer.status < 500, "{} for {path:.200}: {}", answer.status, answer.body);
        }
    }
    assert_eq!(State::of(&server).await, before);
}

/// The heartbeat and the release, which scripts send.
#[tokio::test]
async fn no_field_of_a_heartbeat_makes_the_server_fail() {
    let server = Server::start().await;
    let mut park = Visitor::signed_in(&server.base, "park").await;
    let edit = "/orders/2026-000300/edit";
    let opened = park.page(PAGE).await.form(edit);
    let form = park.follow(opened).await.form(&format!("{edit}/save"));
    let names = ["csrf", "person", "form_id", "lid", "version"];
    let mut beat = Form { action: format!("{PAGE}/beat?form=edit"), fields: form.fields.clone() };
    beat.fields.retain(|(name, _)| names.contains(&name.as_str()));
    for (name, value) in [("want", "keep"), ("idle_ms", "0"), ("instead_of", "1")] {
        beat = beat.with(name, value);
    }
    let release = Form { action: "/tenure/release".into(), fields: Vec::new() };
    let release = release.with("lid", &"0".repeat(64)).with("mode", "parting");
    for form in [beat, release] {
        for name in form.fields.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            for body in bad_bodies(&form, &name) {
                let (before, answer) = (State::of(&server).await, park.post(&form.action, &body).await);
                let after = State::of(&server).await;
                assert!(answer.status < 500, "{}: {} {body:.300}\n{}", answer.status, form.action, answer.body);
                assert_eq!(after, before, "{}: {} {body:.300}", answer.status, form.action);
            }
        }
    }
}

#[tokio::test]
async fn no_field_of_signing_in_makes_the_server_fail() {
    let server = Server::start().await;
    let mut visitor = Visitor::new(&server.base);
    let form = visitor.page("/sign-in").await.form("/sign-in").with("login", "minji").with("password", "wrong");
    for name in ["csrf", "next", "login"] {
        for body in bad_bodies(&form, name) {
            let answer = visitor.post("/sign-in", &body).await;
            assert!((400..500).contains(&answer.status), "{}: {body:.300}\n{}", answer.status, answer.body);
        }
    }
}

#[tokio::test]
async fn no_field_of_a_delivery_makes_the_server_fail() {
    let server = Server::start().await;
    let mut park = Visitor::signed_in(&server.base, "park").await;
    // The first row alone, and as a new product.
    let mut row = park.page("/stock").await.form("/stock/receive");
    let mut seen = HashSet::new();
    row.fields.retain(|(name, _)| seen.insert(name.clone()));
    let row = row.with("pieces", "2");
    let new = row.clone().with("product", "A new one").with("version", "");
    for form in [row, new] {
        for name in form.fields.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            for body in bad_bodies(&form, &name) {
                let answer = park.post("/stock/receive", &body).await;
                assert!(answer.status < 500, "{}: {body:.300}\n{}", answer.status, answer.body);
            }
        }
    }
}

#[tokio::test]
async fn no_field_of_ending_a_lock_makes_the_server_fail() {
    let server = Server::start().await;
    let mut minji = Visitor::signed_in(&server.base, "minji").await;
    let mut park = Visitor::signed_in(&server.base, "park").await;
    let mut form = None;
    let mut failed = Vec::new();
    for name in ["csrf", "kind", "id", "generation", "reason"] {
        for at in 0.. {
            if form.is_none() {
                let edit = minji.page(PAGE).await.form("/orders/2026-000300/edit");
                minji.follow(edit).await.is(200);
                form = Some(park.page("/locks").await.form("/locks/break").with("reason", "She has gone home."));
            }
            let bodies = bad_bodies(form.as_ref().unwrap(), name);
            let Some(body) = bodies.get(at) else { break };
            let (before, answer) = (State::of(&server).await, park.post("/locks/break", body).await);
            let after = State::of(&server).await;
            assert!(!matches!(answer.status, 401 | 429), "{}: it did not come as far as the form", answer.status);
            if answer.status >= 500 {
                failed.push((answer.status, body.chars().take(300).collect::<String>()));
            }
            // A refused one leads to the list, with what is wrong with it.
            match (answer.status, answer.location()) {
                (303, "/locks") => form = None,
                _ => assert_eq!(after, before, "{}: {body:.300}", answer.status),
            }
        }
    }
    assert_eq!(failed, []);
}

/// A member with the maximum number of locks gets a page that says so.
#[tokio::test]
async fn lock_limit_is_a_page() {
    let server = Server::start().await;
    let mut park = Visitor::signed_in(&server.base, "park").await;
    let (locks, owner) = (LockManager::new(&server.db), Owner::new("park", "박서연"));
    for number in 0..1_000 {
        locks.try_lock(&LockKey::new("Order", format!("other-{number}")), &owner).await.unwrap();
    }
    let before = server.held().await.len();
    for action in ["/orders/2026-000300/edit", "/orders/2026-000300/note/edit"] {
        let form = park.page(PAGE).await.form(action);
        let answer = park.send(form).await;
        let status = match answer.status {
            303 => park.get(answer.location()).await.status,
            status => status,
        };
        assert!(status < 500, "{action}: {status} {}", answer.body);
    }
    assert_eq!(server.held().await.len(), before);
}
