//! Who is signed in: a cookie, a session in the database, and what handlers get of it.
//!
//! The session says who, and nothing else: it is written at sign-in and sign-out only. The tokens of forms and the lock ids of
//! leases come from the browser's own key, in a cookie beside it; so reading a page writes nothing.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use tenure_web::browser_key::BrowserKey;
use tower_sessions::Session;
use tower_sessions::session::Error;

use crate::domain::{Member, MemberId};
use crate::pages;
use crate::use_cases::Shop;

const MEMBER: &str = "member";

/// The cookie of the browser's key, where the shop is not reached through HTTPS. Where it is, its name says that no other host
/// can have planted it.
const BROWSER: &str = "shop-browser";
const BROWSER_SECURE: &str = "__Host-shop-browser";

/// A year, in seconds.
const A_YEAR: u32 = 31_536_000;

/// The member who is signed in. Without one, a page asks to sign in first, and a form is told so.
#[derive(Debug, Clone)]
pub struct SignedIn(pub Member);

impl<S: Send + Sync> FromRequestParts<S> for SignedIn {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        if let Some(member) = parts.extensions.get::<Member>() {
            return Ok(SignedIn(member.clone()));
        }
        if parts.method == Method::GET {
            let next = parts.uri.path_and_query().map_or("/", |path| path.as_str());
            let query = [("next", next)];
            let query = serde_urlencoded::to_string(query).unwrap_or_default();
            return Err(Redirect::to(&format!("/sign-in?{query}")).into_response());
        }
        Err(pages::signed_out(parts))
    }
}

/// Signs a member in. The session gets a new id, so that one that was planted before is worth nothing.
///
/// # Errors
/// [`Error`] when the session could not be stored.
pub async fn start(session: &Session, member: &Member) -> Result<(), Error> {
    session.cycle_id().await?;
    session.insert(MEMBER, member.id().as_str()).await
}

/// Signs out.
///
/// # Errors
/// [`Error`] when the session could not be deleted.
pub async fn end(session: &Session) -> Result<(), Error> {
    session.flush().await
}

/// What [`identify`] needs: the shop, and whether its cookies are for HTTPS only.
#[derive(Debug, Clone)]
pub struct Door {
    /// The shop.
    pub shop: Shop,
    /// Whether cookies are for HTTPS only.
    pub secure: bool,
}

/// A middleware that puts the browser's key, the token of its forms, and the member who is signed in into the request. A
/// browser that has no key yet is given one.
pub async fn identify(State(door): State<Door>, session: Session, mut request: Request, next: Next) -> Response {
    let name = if door.secure { BROWSER_SECURE } else { BROWSER };
    let known = cookie(request.headers(), name).and_then(BrowserKey::from_cookie);
    let key = known.clone().unwrap_or_else(BrowserKey::random);
    request.extensions_mut().insert(key.clone());
    let mut response = match recall(&door.shop, &session).await {
        Ok(member) => {
            let extensions = request.extensions_mut();
            extensions.insert(key.csrf(member.as_ref().map(|member| member.id().as_str())));
            if let Some(member) = member {
                extensions.insert(member.owner());
                extensions.insert(member);
            }
            next.run(request).await
        }
        Err(error) => {
            tracing::error!(%error, "the session could not be read");
            pages::unavailable(&request.into_parts().0)
        }
    };
    if known.is_none() {
        let secure = if door.secure { "; Secure" } else { "" };
        let cookie = format!("{name}={}; Path=/; Max-Age={A_YEAR}; HttpOnly; SameSite=Lax{secure}", key.reveal());
        response.headers_mut().extend(HeaderValue::try_from(cookie).map(|value| (SET_COOKIE, value)));
    }
    response
}

async fn recall(shop: &Shop, session: &Session) -> Result<Option<Member>, Box<dyn std::error::Error + Send + Sync>> {
    match session.get::<String>(MEMBER).await? {
        Some(id) => Ok(shop.member(&MemberId::new(id)?).await?),
        None => Ok(None),
    }
}

/// The value of a cookie, if the browser sent it.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static("id=x; xlang=en; lang=ko"))]);
        assert_eq!((cookie(&headers, "lang"), cookie(&headers, "ang")), (Some("ko"), None));
    }
}
