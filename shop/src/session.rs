//! Who is signed in: a cookie, a session in the database, and what handlers get of it.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use tenure_web::csrf::CsrfToken;
use tower_sessions::Session;
use tower_sessions::session::Error;

use crate::domain::{Member, MemberId};
use crate::pages;
use crate::use_cases::Shop;

const MEMBER: &str = "member";
const CSRF: &str = "csrf";

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
    session.insert(MEMBER, member.id().as_str()).await?;
    session.insert(CSRF, CsrfToken::random().to_string()).await
}

/// Signs out.
///
/// # Errors
/// [`Error`] when the session could not be deleted.
pub async fn end(session: &Session) -> Result<(), Error> {
    session.flush().await
}

/// A middleware that puts the session's token, and the member who is signed in, into the request.
pub async fn identify(State(shop): State<Shop>, session: Session, mut request: Request, next: Next) -> Response {
    match recall(&shop, &session).await {
        Ok((token, member)) => {
            request.extensions_mut().insert(token);
            if let Some(member) = member {
                request.extensions_mut().insert(member.owner());
                request.extensions_mut().insert(member);
            }
            next.run(request).await
        }
        Err(error) => {
            tracing::error!(%error, "the session could not be read");
            pages::unavailable(&request.into_parts().0)
        }
    }
}

async fn recall(
    shop: &Shop,
    session: &Session,
) -> Result<(CsrfToken, Option<Member>), Box<dyn std::error::Error + Send + Sync>> {
    let token = match session.get::<String>(CSRF).await? {
        Some(token) => CsrfToken::from_session(token),
        None => {
            let token = CsrfToken::random();
            session.insert(CSRF, token.to_string()).await?;
            token
        }
    };
    let member = match session.get::<String>(MEMBER).await? {
        Some(id) => shop.member(&MemberId::new(id)?).await?,
        None => None,
    };
    Ok((token, member))
}
