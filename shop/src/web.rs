//! The whole web side: routes, sessions, and the headers that every answer carries.

use std::future::{Future, IntoFuture};
use std::io;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use tokio::net::TcpListener;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::csrf::CsrfLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::trace::TraceLayer;
use tower_sessions::cookie::SameSite;
use tower_sessions::{Expiry, SessionManagerLayer};

use crate::backend::Sessions;
use crate::open::sweep;
use crate::use_cases::Shop;
use crate::{pages, session};

/// How long somebody stays signed in, from the moment they signed in: neither reading pages nor heartbeats write the session.
const SESSION_LENGTH: time::Duration = time::Duration::hours(12);

/// How long anybody waits for a page. What takes longer is answered with a page that says so.
const LONGEST: Duration = Duration::from_secs(30);

/// How often the shop tidies up behind itself. When it is opened, it does so as well.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(60 * 60);

/// The shop as a web application.
pub fn app(shop: Shop, secure_cookies: bool) -> Router {
    let sessions = SessionManagerLayer::new(Sessions::new(&shop.db))
        .with_name("shop")
        .with_secure(secure_cookies)
        .with_same_site(SameSite::Lax)
        .with_expiry(Expiry::OnInactivity(SESSION_LENGTH));
    Router::new()
        .merge(pages::router())
        .nest("/tenure", tenure_web::leases::router(shop.locks().clone()))
        .layer(from_fn_with_state(session::Door { shop: shop.clone(), secure: secure_cookies }, session::identify))
        .layer(sessions)
        // The style sheet and the script need no session.
        .merge(pages::assets())
        .merge(tenure_web::leases::scripts("/tenure"))
        .layer(CsrfLayer::new())
        // Pages show what is true now. A page that was left may still come back from the browser's memory; the script
        // then asks before it lets anybody type.
        .layer(header(CACHE_CONTROL, "no-store"))
        .layer(header(
            CONTENT_SECURITY_POLICY,
            "default-src 'self'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'",
        ))
        .layer(header(REFERRER_POLICY, "same-origin"))
        .layer(header(X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(from_fn(in_time))
        .layer(CatchPanicLayer::custom(|_| pages::failed()))
        .layer(TraceLayer::new_for_http())
        .with_state(shop)
}

/// An answer in time, and never an empty one.
async fn in_time(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let busy = pages::unavailable(&parts);
    tokio::time::timeout(LONGEST, next.run(Request::from_parts(parts, body))).await.unwrap_or(busy)
}

/// Serves the shop until `shutdown` is done, then finishes what is under way.
///
/// # Errors
/// [`io::Error`] when the listener fails.
pub async fn serve(
    listener: TcpListener,
    shop: Shop,
    secure_cookies: bool,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let served = axum::serve(listener, app(shop.clone(), secure_cookies)).with_graceful_shutdown(shutdown);
    let served = tokio::select! {
        served = served.into_future() => served,
        () = sweep_now_and_then(&shop) => Ok(()),
    };
    shop.db.close().await;
    served
}

/// Never ends by itself.
async fn sweep_now_and_then(shop: &Shop) {
    loop {
        tokio::time::sleep(BETWEEN_SWEEPS).await;
        if let Err(error) = sweep(shop).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "old rows could not be deleted; they stay a while"
            );
        }
    }
}

fn header(name: HeaderName, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value))
}
