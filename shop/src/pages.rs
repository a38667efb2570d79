//! The shop's pages: they translate between forms and use cases, and contain no decisions.
//!
//! A template in `templates/` renders a page, with the texts of [`texts`](crate::texts). Every page works without
//! scripts, and every page has an address: the response to a form is 303, also if it was refused, and the typed text is kept
//! for the person. A GET acquires no lock and writes nothing.
//!
//! A form has these hidden fields: `csrf`; `form_id`, the id of the form; `person`, for whom it was rendered; the
//! `version` that the person saw (a token that is valid for that order only); and `lid`, the secret of a lease.

mod account;
mod agent;
mod assets;
mod beat;
mod both;
mod commands;
mod compare;
mod conflict;
pub(crate) mod demo;
mod edit;
mod face;
mod fields;
mod flash;
mod form;
mod frame;
mod front;
mod history;
mod icon;
mod input;
mod kept;
mod leave;
mod live;
mod locked;
mod locks;
mod lost;
mod note;
mod now;
mod order;
mod orders;
mod outcome;
mod password;
mod picture;
mod posted;
mod problem;
mod read;
mod refusal;
mod shipping;
mod sign_in;
mod standing;
mod stock;
mod text;
mod unsaved;

use std::fmt::Display;

use askama::filters::urlencode_strict;
use axum::Router;
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tenure_web::form_id::FormId;

pub(crate) use self::frame::chosen_language;
use crate::domain::OrderNo;
use crate::use_cases::Shop;
use fields::Fields;
use frame::Frame;

/// All pages that need the signed-in person.
pub fn router() -> Router<Shop> {
    Router::new()
        .route("/", get(front::show))
        .route("/sign-in", get(sign_in::show).post(sign_in::sign_in))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/account", get(account::show))
        .route("/account/sessions/end", post(account::end))
        .route("/account/sign-out-everywhere", post(account::end_all))
        .route("/account/password", get(password::show).post(password::change))
        .route("/orders", get(orders::show))
        .route("/orders/{no}", get(order::show))
        .route("/orders/{no}/history/{version}", get(history::order))
        .route("/orders/{no}/note/history/{version}", get(history::note))
        .route("/orders/{no}/shipping", get(shipping::show).post(shipping::save))
        .route("/orders/{no}/beat", post(beat::beat))
        .route("/orders/{no}/now", get(now::order))
        .route("/orders/{no}/kept/{id}", get(kept::show))
        .route("/orders/{no}/leave", post(leave::leave))
        .route("/orders/{no}/text", get(text::saved).post(text::moved))
        .route("/orders/{no}/start-shipping", post(commands::start_shipping))
        .route("/orders/{no}/cancel", post(commands::cancel))
        .route("/orders/{no}/edit", get(edit::explain).post(edit::open))
        .route("/orders/{no}/edit/{form}", get(edit::show))
        .route("/orders/{no}/edit/move-here", post(edit::move_here))
        .route("/orders/{no}/edit/save", post(edit::save))
        .route("/orders/{no}/note/now", get(now::note))
        .route("/orders/{no}/note/edit", get(note::explain).post(note::open))
        .route("/orders/{no}/note/{form}", get(note::show))
        .route("/orders/{no}/note/save", post(note::save))
        .route("/now/orders", get(now::orders))
        .route("/now/locks", get(now::locks))
        .route("/stock", get(stock::show))
        .route("/stock/receive", post(stock::receive))
        .route("/locks", get(locks::show))
        .route("/locks/break", post(locks::end))
        .fallback(|frame: Frame| async { problem::not_found(frame) })
        .method_not_allowed_fallback(|frame: Frame| async { problem::method_not_allowed(frame) })
}

/// What a page says when it is left.
pub fn leaving() -> Router<Shop> {
    Router::new().route("/orders/{no}/left", post(now::left))
}

/// The style sheet, the font and the icons, which need no session.
pub fn assets() -> Router<Shop> {
    Router::new()
        .route("/assets/shop.css", get(assets::style))
        .route("/assets/icons.svg", get(assets::icons))
        .route("/assets/products.svg", get(assets::products))
        .route("/assets/shop-sans-1.woff2", get(assets::font))
        .route("/assets/demo.css", get(assets::demo_style))
        .route("/assets/demo.js", get(assets::demo_script))
        .route("/favicon.svg", get(assets::favicon))
}

/// The response to a form of a person who is not signed in (any more). If the form was read, it shows the typed text.
pub fn signed_out(parts: &Parts) -> Response {
    problem::signed_out(Frame::bare(parts), &Fields::default())
}

/// The address of the sign-in page that leads on to `next`.
pub(crate) fn sign_in_address(next: &str) -> String {
    format!("/sign-in?{}", serde_urlencoded::to_string([("next", next)]).unwrap_or_default())
}

/// The response if the session of a request could not be read.
pub fn unavailable(parts: &Parts) -> Response {
    problem::unavailable(Frame::bare(parts))
}

/// The response to a form that exceeds the size limit.
pub(crate) fn too_long(parts: &Parts) -> Response {
    problem::too_long(Frame::bare(parts))
}

/// The response to a form that did not arrive in time.
pub(crate) fn too_slow(parts: &Parts) -> Response {
    problem::too_slow(Frame::bare(parts))
}

/// The response to a request for another host.
pub(crate) fn misdirected(parts: &Parts) -> Response {
    problem::misdirected(Frame::bare(parts))
}

/// The response after an internal error.
pub fn failed() -> Response {
    let (mut parts, ()) = axum::http::Request::new(()).into_parts();
    parts.uri = Uri::from_static("/");
    problem::failed(Frame::bare(&parts))
}

/// The address of an order's page. Numbers may contain any characters, so they are encoded.
fn order_url(no: impl Display) -> String {
    match urlencode_strict(no) {
        Ok(no) => format!("/orders/{no}"),
        Err(never) => match never {},
    }
}

/// The address of an opened form of an order, with its kept text.
fn form_url(no: &OrderNo, kind: &str, form: FormId, kept: Option<FormId>) -> String {
    let kept = kept.map(|kept| format!("?kept={kept}")).unwrap_or_default();
    format!("{}/{kind}/{form}{kept}", order_url(no))
}

/// Redirects to another page after a form: reloading that page sends nothing again.
fn see(address: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    if let Ok(location) = axum::http::HeaderValue::try_from(address) {
        response.headers_mut().insert(axum::http::header::LOCATION, location);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_numbers_of_any_kind_have_an_address() {
        assert_eq!(order_url("2026-000300"), "/orders/2026-000300");
        assert_eq!(order_url("a/b?c=d&e #%"), "/orders/a%2Fb%3Fc%3Dd%26e%20%23%25");
        assert_eq!(order_url("주문"), "/orders/%EC%A3%BC%EB%AC%B8");
    }
}
