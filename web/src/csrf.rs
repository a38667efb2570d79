//! CSRF protection: an unsafe request needs the token from the page.
//!
//! The application has one [`CsrfToken`] per session and puts it into the extensions of each request (a middleware of
//! three lines); pages print it into a hidden field `csrf`. The field is in the body, because a beacon cannot set headers.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use subtle::ConstantTimeEq;

use crate::problem::Problem;

/// The token of a session. `Display` is its text for the hidden field; `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct CsrfToken(String);

impl CsrfToken {
    /// A new token, from the operating system's random source.
    ///
    /// # Panics
    /// If the operating system provides no randomness.
    pub fn random() -> Self {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        CsrfToken(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The token that a session stored as text.
    pub fn from_session(text: String) -> Self {
        CsrfToken(text)
    }

    /// Whether this is the token, compared in constant time.
    pub(crate) fn admits(&self, shown: &str) -> bool {
        self.0.as_bytes().ct_eq(shown.as_bytes()).into()
    }
}

impl std::fmt::Display for CsrfToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::fmt::Debug for CsrfToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CsrfToken(secret)")
    }
}

/// For pages that print the token.
impl<S: Send + Sync> FromRequestParts<S> for CsrfToken {
    type Rejection = CsrfRejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, CsrfRejection> {
        parts.extensions.get().cloned().ok_or(CsrfRejection::NoSession)
    }
}

/// A form with the right `csrf` field.
#[derive(Debug)]
pub struct CsrfForm<T>(pub T);

/// The reason that a form was refused.
#[derive(Debug)]
pub enum CsrfRejection {
    /// The request has no session to compare with.
    NoSession,
    /// The field `csrf` is missing.
    Missing,
    /// The field `csrf` belongs to another session.
    Wrong,
    /// The body could not be read: too long, or interrupted.
    Body(BytesRejection),
    /// The body is not a form, or a field is missing or of another type.
    Form(String),
}

impl CsrfRejection {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            CsrfRejection::NoSession | CsrfRejection::Missing | CsrfRejection::Wrong => 403,
            CsrfRejection::Body(rejection) => rejection.status().as_u16(),
            CsrfRejection::Form(_) => 400,
        }
    }

    /// What happened and what to do next.
    pub fn detail(&self) -> String {
        match self {
            CsrfRejection::NoSession | CsrfRejection::Missing | CsrfRejection::Wrong => {
                "The form does not belong to this session. Load the page again and send it once more.".into()
            }
            CsrfRejection::Body(rejection) => rejection.body_text(),
            CsrfRejection::Form(error) => format!("The form is incomplete: {error}. Load the page again."),
        }
    }
}

impl IntoResponse for CsrfRejection {
    fn into_response(self) -> Response {
        let code = if self.status() == 403 { "csrf-failed" } else { "bad-form" };
        Problem::new(self.status(), code, "Refused").detail(self.detail()).into_response()
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for CsrfForm<T> {
    type Rejection = CsrfRejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, CsrfRejection> {
        let token: CsrfToken = request.extensions().get().cloned().ok_or(CsrfRejection::NoSession)?;
        let body = Bytes::from_request(request, state).await.map_err(CsrfRejection::Body)?;
        let fields: Vec<(String, String)> = decode(&body)?;
        let shown = fields.iter().find(|(name, _)| name == "csrf").ok_or(CsrfRejection::Missing)?;
        if !token.admits(&shown.1) {
            return Err(CsrfRejection::Wrong);
        }
        decode(&body).map(CsrfForm)
    }
}

fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, CsrfRejection> {
    serde_urlencoded::from_bytes(body).map_err(|error| CsrfRejection::Form(error.to_string()))
}
