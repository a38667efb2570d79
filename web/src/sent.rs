//! The response to a form: the next address, for browsers and for the page's script.
//!
//! The response to a form that the browser sends is 303 See Other, also if it was refused: so every page has an address, and
//! Back, Forward and reload send nothing again. The page's script sends the same form with `Accept: application/json`, without
//! leaving the page; it gets the same address in the response, and only then leaves.

use axum::Json;
use axum::http::header::{ACCEPT, LOCATION};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Whether the request comes from the page's script, and not from the browser.
pub fn is_script(headers: &HeaderMap) -> bool {
    headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("application/json"))
}

/// The address after a form.
#[derive(Debug, Clone, Serialize)]
pub struct Sent {
    /// The address of the next page.
    pub next: String,
    /// Whether the form was saved or left for good. Otherwise it was refused, and the server keeps its text. The draft is deleted in both cases.
    pub done: bool,
    /// The token of the version that the save created. With it a page stays if its person typed while it was saved, and what they typed
    /// is their next change; without it the page is left, and that text is a draft.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Without a version: whether the form goes on from its save if it is sent again with other text. Then its page stays as it is, too, if its
    /// person typed meanwhile.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

impl Sent {
    /// The form succeeded.
    pub fn done(next: impl Into<String>) -> Self {
        Sent { next: next.into(), done: true, version: None, again: false }
    }

    /// The form was refused: the next page says why, and contains the typed text, which the server keeps from now on. A server that cannot keep
    /// it answers with a [`Problem`](crate::problem::Problem): then the page stays, and has the text.
    pub fn refused(next: impl Into<String>) -> Self {
        Sent { next: next.into(), done: false, version: None, again: false }
    }

    /// As the sender expects it: see [`is_script`].
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
    fn browser_is_redirected_and_script_gets_json() {
        let browser = Sent::refused("/orders/1/kept/2").answer(is_script(&HeaderMap::new()));
        assert_eq!(
            (browser.status().as_u16(), &browser.headers()[LOCATION]),
            (303, &"/orders/1/kept/2".parse().expect("text"))
        );
        let script = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        assert_eq!(Sent::done("/orders/1").answer(is_script(&script)).status(), 200);
    }
}
