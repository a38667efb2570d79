//! The answer to a form: where to go next, for browsers and for the page's script alike.
//!
//! A form that the browser sends is answered with 303 See Other, also when it was refused: so every page has an address, and
//! Back, Forward and reload send nothing again. The page's script sends the same form with `Accept: application/json`, while
//! the page stays; it gets the same address, and leaves only with that answer.

use axum::Json;
use axum::http::header::{ACCEPT, LOCATION};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Whether the page's script asks, and not the browser.
pub fn is_script(headers: &HeaderMap) -> bool {
    headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("application/json"))
}

/// Where to go after a form.
#[derive(Debug, Clone, Serialize)]
pub struct Sent {
    /// The address of the next page.
    pub next: String,
    /// Whether the form was saved or left for good: then what was typed is not kept any longer.
    pub done: bool,
}

impl Sent {
    /// The form did what it was for.
    pub fn done(next: impl Into<String>) -> Self {
        Sent { next: next.into(), done: true }
    }

    /// It did not: the next page says why, and has what was typed.
    pub fn refused(next: impl Into<String>) -> Self {
        Sent { next: next.into(), done: false }
    }

    /// As the one who sent it expects it: see [`is_script`].
    pub fn answer(self, to_script: bool) -> Response {
        if to_script {
            return Json(self).into_response();
        }
        let mut response = StatusCode::SEE_OTHER.into_response();
        if let Ok(location) = HeaderValue::try_from(self.next) {
            response.headers_mut().insert(LOCATION, location);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_redirected_and_a_script_is_told() {
        let browser = Sent::refused("/orders/1/kept/2").answer(is_script(&HeaderMap::new()));
        assert_eq!(
            (browser.status().as_u16(), &browser.headers()[LOCATION]),
            (303, &"/orders/1/kept/2".parse().expect("text"))
        );
        let script = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        assert_eq!(Sent::done("/orders/1").answer(is_script(&script)).status(), 200);
    }
}
