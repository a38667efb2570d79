//! Requests that another site makes a signed-in browser send.

use reqwest::Method;

use super::client::{Visitor, encoded};
use super::support::{Form, ORDER, Server};

/// The kind of request, and its response.
struct Forged {
    what: &'static str,
    method: &'static str,
    fields: fn(Form) -> Form,
    headers: &'static [(&'static str, &'static str)],
    status: u16,
}

impl Forged {
    const fn of(what: &'static str, fields: fn(Form) -> Form, status: u16) -> Forged {
        Forged { what, method: "POST", fields, headers: &[], status }
    }

    const fn with(what: &'static str, headers: &'static [(&'static str, &'static str)], status: u16) -> Forged {
        Forged { what, method: "POST", fields: |form| form, headers, status }
    }
}

const FORGED: [Forged; 19] = [
    Forged::of("no token", |form| form.without("csrf"), 403),
    Forged::of("an empty token", |form| form.with("csrf", ""), 403),
    Forged::of("a token of the right length", |form| form.with("csrf", &"0".repeat(64)), 403),
    Forged::of("half of the token", |form| half(form, "csrf"), 403),
    Forged::of("the token in capitals", |form| in_capitals(form, "csrf"), 403),
    Forged::of("the token under another name", |form| renamed(form, "csrf", "CSRF"), 403),
    Forged::of("a wrong token before the right one", twice, 403),
    Forged::with("from another site, as the browser says", &[("sec-fetch-site", "cross-site")], 403),
    Forged::with("from another host of the same site", &[("sec-fetch-site", "same-site")], 403),
    Forged::with("from another origin", &[("origin", "http://evil.example")], 403),
    Forged::with("from the same host and another port", &[("origin", "http://127.0.0.1:1")], 403),
    Forged::with("from a page without an origin", &[("origin", "null")], 403),
    Forged {
        headers: &[("content-type", "text/plain")],
        ..Forged::of("as plain text", |form| form.without("csrf"), 403)
    },
    Forged {
        headers: &[("content-type", "application/json")],
        ..Forged::of("as JSON", |form| form.without("csrf"), 403)
    },
    Forged { method: "GET", ..Forged::with("as a link", &[], 405) },
    Forged { method: "PUT", ..Forged::with("by another method", &[], 405) },
    Forged {
        method: "GET",
        ..Forged::with("as a link that overrides its method", &[("x-http-method-override", "POST")], 405)
    },
    Forged { method: "DELETE", ..Forged::with("as a deletion", &[], 405) },
    Forged { method: "TRACE", ..Forged::with("to have it sent back", &[], 405) },
];

#[tokio::test]
async fn forged_request_changes_nothing() {
    let server = Server::start().await;
    let mut minji = Visitor::signed_in(&server.base, "minji").await;
    let cancel = minji.page(&format!("/orders/{ORDER}")).await.form(&format!("/orders/{ORDER}/cancel"));
    for forged in FORGED {
        let form = (forged.fields)(cancel.clone());
        let method = Method::from_bytes(forged.method.as_bytes()).unwrap();
        let body = encoded(&form.fields);
        let (path, body) = match forged.method {
            "GET" => (format!("{}?{body}", form.action), None),
            _ => (form.action.clone(), Some(body.as_str())),
        };
        let answer = minji.request(method, &path, body, forged.headers).await;
        assert_eq!(answer.status, forged.status, "{}: {}", forged.what, answer.body);
        assert_eq!(server.order(ORDER).await.1, 1, "{}", forged.what);
    }
    // A token in the address does not count: addresses are shared, and are in logs.
    let path = format!("{}?{}", cancel.action, encoded(&cancel.fields));
    assert_eq!(minji.post(&path, "").await.status, 403);
    assert_eq!(server.order(ORDER).await.1, 1);
    // The form itself is accepted.
    assert_eq!(minji.send(cancel).await.location(), format!("/orders/{ORDER}"));
    assert_eq!(server.order(ORDER).await.1, 2);
}

/// The token of a page before sign-in is invalid afterwards.
#[tokio::test]
async fn sign_in_token_differs_from_the_session_token() {
    let server = Server::start().await;
    let mut minji = Visitor::new(&server.base);
    let before = minji.page("/sign-in").await.form("/sign-in").value("csrf").to_owned();
    let mut signed_in = Visitor::signed_in(&server.base, "minji").await;
    let cancel = signed_in.page(&format!("/orders/{ORDER}")).await.form(&format!("/orders/{ORDER}/cancel"));
    assert_eq!(signed_in.send(cancel.with("csrf", &before)).await.status, 403);
    assert_eq!(server.order(ORDER).await.1, 1);
}

fn half(form: Form, name: &str) -> Form {
    let value = form.value(name)[..form.value(name).len() / 2].to_owned();
    form.with(name, &value)
}

fn in_capitals(form: Form, name: &str) -> Form {
    let value = form.value(name).to_uppercase();
    form.with(name, &value)
}

fn renamed(form: Form, name: &str, other: &str) -> Form {
    let value = form.value(name).to_owned();
    form.without(name).with(other, &value)
}

fn twice(mut form: Form) -> Form {
    form.fields.insert(0, ("csrf".to_owned(), "0".repeat(64)));
    form
}
