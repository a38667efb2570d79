//! Requests: bodies of forms and headers with versions.

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts};
use axum::http::{HeaderValue, Request, StatusCode};
use axum::response::IntoResponse;
use tenure::{Aggregate, Owner};
use tenure_web::beat::Beat;
use tenure_web::browser_key::BrowserKey;
use tenure_web::csrf::CsrfForm;
use tenure_web::versions::{IfMatch, IfNoneMatch};

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
}

/// Bad input gets a client error (4xx), never a server error.
fn refused(refusal: impl IntoResponse) {
    let status: StatusCode = refusal.into_response().status();
    assert!(status.is_client_error(), "{status}");
}

/// Bodies of forms and of heartbeats. One without the right token is refused.
pub fn forms(data: &[u8]) {
    let (owner, key) = (Owner::new("kim", "Kim"), BrowserKey::from_cookie(&"ab".repeat(32)).expect("64 digits"));
    let request = || {
        let request = Request::post("/orders/1").header("content-type", "application/x-www-form-urlencoded");
        request.extension(owner.clone()).extension(key.csrf(Some("kim"))).body(Body::from(data.to_vec())).expect("valid")
    };
    if let Err(refusal) = pollster::block_on(Beat::<Order>::from_request(request(), &())) {
        refused(refusal);
    }
    match pollster::block_on(CsrfForm::<Vec<(String, String)>>::from_request(request(), &())) {
        Ok(CsrfForm(fields)) => {
            let token = key.csrf(Some("kim")).to_string();
            let first = fields.iter().find(|(name, _)| name == "csrf");
            assert!(first.is_some_and(|(_, shown)| *shown == token), "a form without its token is admitted");
        }
        Err(refusal) => refused(refusal),
    }
}

/// `If-Match` and `If-None-Match`; several headers are separated by zero bytes.
pub fn headers(data: &[u8]) {
    let mut request = Request::get("/orders/1").body(()).expect("valid");
    for value in data.split(|byte| *byte == 0).filter_map(|value| HeaderValue::from_bytes(value).ok()) {
        request.headers_mut().append("if-match", value.clone());
        request.headers_mut().append("if-none-match", value);
    }
    let (mut parts, ()) = request.into_parts();
    let matched = pollster::block_on(IfMatch::<Order>::from_request_parts(&mut parts, &()));
    let Ok(none) = pollster::block_on(IfNoneMatch::<Order>::from_request_parts(&mut parts, &()));
    match matched {
        // A read recognizes each token that a change accepts.
        Ok(IfMatch(token)) => assert!(none.has(&token)),
        Err(refusal) => refused(refusal),
    }
}
