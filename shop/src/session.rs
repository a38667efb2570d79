//! Sessions: a secret in a cookie, a row in the database, and the extractors for handlers.
//!
//! Sign-in inserts the row and sign-out deletes it; no request restores it. The tokens of forms and the lock ids of
//! leases are derived from the browser's own key, in a separate cookie; so reading a page writes nothing.
//!
//! `tower-sessions` was used before. It stores a session's content under a key: here there is none, and the required operations
//! (a member's own list, one epoch for all of them, ending a session in spite of a request in flight) bypass it.

use std::net::IpAddr;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use tenure_web::browser_key::BrowserKey;
use tokio::time::timeout;

use crate::cookies::{self, Cookie};
use crate::domain::Member;
use crate::pages;
use crate::server::Peer;
use crate::settings::Times;
use crate::texts::Lang;
use crate::use_cases::{Current, NewSession, SessionId, Shop};

/// The cookie of the session.
const SESSION: &str = "shop";

/// The maximum lifetime of a session, in seconds. The row decides; this is the lifetime of the cookie.
const HALF_A_DAY: u32 = 43_200;

/// The cookie of the browser's key.
const BROWSER: &str = "shop-browser";

/// A year, in seconds.
const A_YEAR: u32 = 31_536_000;

/// The maximum bytes of a form of a person who is not signed in: more than the longest form that they may have had open.
const LONGEST_OF_STRANGERS: usize = 64 * 1024;

/// The maximum bytes of any form.
const LONGEST: usize = 256 * 1024;

/// The signed-in member. Without one, a page redirects to sign-in, and a form gets a response that says so.
#[derive(Debug, Clone)]
pub struct SignedIn(pub Member);

impl<S: Send + Sync> FromRequestParts<S> for SignedIn {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        if let Some(member) = parts.extensions.get::<Member>() {
            return Ok(SignedIn(member.clone()));
        }
        if matches!(parts.method, Method::GET | Method::HEAD) {
            let next = parts.uri.path_and_query().map_or("/", |path| path.as_str());
            return Err(Redirect::to(&pages::sign_in_address(next)).into_response());
        }
        Err(pages::signed_out(parts))
    }
}

/// The client's address and user agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Visitor {
    /// The address, if it is known.
    pub(crate) address: Option<IpAddr>,
    /// The `User-Agent`.
    pub(crate) agent: String,
}

/// Whether the browser sent the cookie of its key: if not with a form, it has deleted it, or accepts none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentCookies(pub(crate) bool);

/// Sets the cookie of the session.
pub(crate) fn start(response: &mut Response, session: &NewSession) {
    cookies::leave(response, Cookie { name: SESSION, value: session.reveal(), max_age: HALF_A_DAY });
}

/// The cookies of a browser with this key in which this session has begun, as it sends them without HTTPS.
pub(crate) fn cookies(session: &NewSession, key: &BrowserKey) -> String {
    format!("{SESSION}={}; {BROWSER}={}", session.reveal(), key.reveal())
}

/// Deletes the cookie of the session.
pub(crate) fn end(response: &mut Response) {
    cookies::take_away(response, SESSION);
}

/// The state of [`identify`].
#[derive(Debug, Clone)]
pub struct Door {
    /// The shop.
    pub shop: Shop,
    /// Time limits.
    pub times: Times,
    /// Whether `X-Forwarded-For` comes from one's own proxy.
    pub behind_proxy: bool,
}

/// A middleware that puts the browser's key, the token of its forms, and the signed-in member into the request, and
/// reads its body. A browser without a key gets one.
pub async fn identify(State(door): State<Door>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let known = cookies::read(&parts.headers, &parts.extensions, BROWSER).and_then(BrowserKey::from_cookie);
    let cookie = known.clone().unwrap_or_else(BrowserKey::random);
    // Without HTTPS a cookie may be one that somebody else has planted, and knows.
    let key = cookie.under(&door.shop.secret);
    parts.extensions.insert(key.clone());
    parts.extensions.insert(SentCookies(known.is_some()));
    parts.extensions.insert(door.visitor(&parts));
    let secret = cookies::read(&parts.headers, &parts.extensions, SESSION).map(str::to_owned);
    let language = pages::chosen_language(&parts.uri);
    let session = match &secret {
        Some(secret) if is_light_question(&parts) => door.shop.session_in_memory(secret).await,
        Some(secret) => door.shop.session(secret, !is_of_the_page_itself(&parts)).await,
        None => Ok(None),
    };
    let mut response = match session {
        Ok(session) => {
            sign(&mut parts, &key, session);
            match read(&door, &parts, body).await {
                Ok(body) => next.run(Request::from_parts(parts, body)).await,
                Err(response) => response,
            }
        }
        Err(refusal) => {
            tracing::error!(error = &refusal as &dyn std::error::Error, "the session could not be read");
            pages::unavailable(&parts)
        }
    };
    // Also of a page that leads on, such as that of a form that is not there any more.
    if let Some(language) = language {
        cookies::leave(
            &mut response,
            Cookie { name: Lang::COOKIE, value: language.code().to_owned(), max_age: A_YEAR },
        );
    }
    if known.is_none() {
        cookies::leave(&mut response, Cookie { name: BROWSER, value: cookie.reveal(), max_age: A_YEAR });
    }
    // The cookie of an ended session stays: the response may be late, and the browser may have another one by now.
    response
}

fn sign(parts: &mut Parts, key: &BrowserKey, session: Option<Current>) {
    let member = session.as_ref().map(|session| session.member.id().as_str());
    parts.extensions.insert(key.csrf(member));
    if let Some(current) = session {
        parts.extensions.insert(current.clone());
        let Current { member, id } = current;
        parts.extensions.insert(member.owner());
        parts.extensions.insert(member);
        parts.extensions.insert::<SessionId>(id);
    }
}

/// The whole body, within its time and size limits.
async fn read(door: &Door, parts: &Parts, body: Body) -> Result<Body, Response> {
    let most = if parts.extensions.get::<Member>().is_some() { LONGEST } else { LONGEST_OF_STRANGERS };
    match timeout(door.times.body, to_bytes(body, most)).await {
        Ok(Ok(bytes)) => Ok(Body::from(bytes)),
        Ok(Err(_)) => Err(pages::too_long(parts)),
        Err(_) => Err(pages::too_slow(parts)),
    }
}

/// Heartbeats, and what belongs to them: they show that a page is open, and not that the person is active.
fn is_of_the_page_itself(parts: &Parts) -> bool {
    let path = parts.uri.path();
    parts.method == Method::POST && (path.ends_with("/beat") || path.ends_with("/left") || path.starts_with("/tenure/"))
}

/// The question what is new, which pages ask every few seconds by themselves.
fn is_light_question(parts: &Parts) -> bool {
    let path = parts.uri.path();
    let of_an_order = path.strip_prefix("/orders/").is_some_and(|rest| rest.contains('/') && rest.ends_with("/now"));
    matches!(parts.method, Method::GET | Method::HEAD) && (of_an_order || path.starts_with("/now/"))
}

impl Door {
    fn visitor(&self, parts: &Parts) -> Visitor {
        let peer = parts.extensions.get().map(|Peer(address)| *address);
        let address = if self.behind_proxy { forwarded_for(&parts.headers).or(peer) } else { peer };
        let agent = parts.headers.get(USER_AGENT).map(|agent| String::from_utf8_lossy(agent.as_bytes()).into_owned());
        Visitor { address, agent: agent.unwrap_or_default() }
    }
}

/// The last address of the last header: the one that the proxy in front added. Any client can write those before it.
fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
    last.rsplit(',').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_the_proxys_own_address_is_trusted() {
        let of = |text: &'static str| {
            forwarded_for(&HeaderMap::from_iter([(
                "x-forwarded-for".parse::<axum::http::HeaderName>().expect("a name"),
                HeaderValue::from_static(text),
            )]))
        };
        assert_eq!(of("198.51.100.1, 203.0.113.7"), "203.0.113.7".parse().ok());
        assert_eq!(of("203.0.113.7, nonsense"), None);
    }
}
