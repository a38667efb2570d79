//! The web application: routes, sessions, and the headers of every response.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::csrf::CsrfLayer;
use tower_http::trace::TraceLayer;

use crate::cookies::{self, Https};
use crate::settings::Settings;
use crate::use_cases::Shop;
use crate::{pages, session};

/// The default headers of every response.
const HEADERS: [(HeaderName, &str); 6] = [
    // Pages show the current state. A left page may still return from the browser's memory; the script then checks
    // before it allows typing.
    (CACHE_CONTROL, "no-store"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'self'; object-src 'none'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'",
    ),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (REFERRER_POLICY, "same-origin"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// A year without plain HTTP.
const HSTS: &str = "max-age=31536000";

/// The shop as a web application.
pub fn app(shop: Shop, settings: Settings) -> Router {
    let door = session::Door { shop: shop.clone(), times: settings.times, behind_proxy: settings.behind_proxy };
    // A page that is left may close its connection before the answer.
    let leaving = Router::new()
        .nest("/tenure", tenure_web::leases::router(shop.locks().clone()))
        .merge(pages::leaving())
        .layer(from_fn_with_state(door.clone(), session::identify))
        .layer(from_fn(tenure_web::leases::to_its_end));
    // A step of a story is made to its end.
    let demo = pages::demo::router()
        .layer(from_fn_with_state(door.clone(), session::identify))
        .layer(from_fn(tenure_web::leases::to_its_end));
    let router = Router::new()
        .merge(pages::router())
        .layer(from_fn_with_state(door, session::identify))
        .merge(leaving)
        .merge(demo)
        // The style sheet and the script need no session.
        .merge(pages::assets())
        .merge(tenure_web::leases::scripts("/tenure"))
        .layer(CsrfLayer::new());
    around(router.with_state(shop), settings)
}

/// The layers around every response, including error responses.
fn around(router: Router, settings: Settings) -> Router {
    router
        .layer(CatchPanicLayer::custom(|_| pages::failed()))
        .layer(from_fn_with_state(settings, guard))
        .layer(TraceLayer::new_for_http())
}

/// Ensures a timely, non-empty response; and only to requests for this shop's host names.
async fn guard(State(settings): State<Settings>, mut request: Request, next: Next) -> Response {
    let https = Https(settings.https);
    request.extensions_mut().insert(https);
    let (parts, body) = request.into_parts();
    let mut response = if asked_for(&parts).is_some_and(|name| settings.answers_by(name)) {
        let answer = next.run(Request::from_parts(parts.clone(), body));
        let answer = tokio::time::timeout(settings.times.answer, answer).await;
        answer.unwrap_or_else(|_| pages::unavailable(&parts))
    } else {
        pages::misdirected(&parts)
    };
    cookies::write(&mut response, https);
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if settings.https {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(HSTS));
    }
    response
}

/// The requested host name; `None` if there is none, or more than one.
fn asked_for(parts: &Parts) -> Option<&str> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let (first, second) = (hosts.next()?.to_str().ok()?, hosts.next());
    let is_one = second.is_none() && parts.uri.authority().is_none_or(|authority| authority.as_str() == first);
    is_one.then_some(first)
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::routing::get;
    use tower_service::Service;

    use super::*;
    use crate::settings::Times;

    async fn answered(path: &str, https: bool, host: Option<&str>) -> Response {
        let times = Times { answer: Duration::from_millis(20), ..Times::default() };
        let routes = Router::new()
            .route(
                "/panics",
                get(|| async {
                    if true {
                        panic!("a mistake in a page")
                    }
                }),
            )
            .route("/never", get(|| async { pending::<()>().await }))
            .route("/fine", get(|| async { "fine" }));
        let mut app = around(routes, Settings { https, times, ..Settings::default() });
        let request = host.into_iter().fold(Request::builder().uri(path), |request, host| request.header(HOST, host));
        app.call(request.body(Body::empty()).expect("a request")).await.expect("it never fails")
    }

    #[tokio::test]
    async fn panics_timeouts_and_404_carry_every_header() {
        let host = Some("127.0.0.1:8080");
        for (path, status) in [
            ("/fine", StatusCode::OK),
            ("/panics", StatusCode::INTERNAL_SERVER_ERROR),
            ("/never", StatusCode::SERVICE_UNAVAILABLE),
            ("/nowhere", StatusCode::NOT_FOUND),
        ] {
            let response = answered(path, true, host).await;
            assert_eq!(response.status(), status, "{path}");
            for (name, value) in HEADERS {
                assert_eq!(response.headers()[&name], value, "{path}");
            }
            assert_eq!(response.headers()[STRICT_TRANSPORT_SECURITY], HSTS, "{path}");
        }
        assert!(!answered("/fine", false, host).await.headers().contains_key(STRICT_TRANSPORT_SECURITY));
    }

    #[tokio::test]
    async fn unknown_host_name_gets_no_page() {
        assert_eq!(answered("/fine", false, Some("localhost")).await.status(), StatusCode::OK);
        for (path, host) in [
            ("/fine", Some("evil.example")),
            ("/fine", Some("evil.example:8080")),
            ("/fine", None),
            ("http://evil.example/fine", Some("localhost")),
        ] {
            let response = answered(path, false, host).await;
            assert_eq!(response.status(), StatusCode::MISDIRECTED_REQUEST, "{path} {host:?}");
            assert_eq!(response.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff");
        }
    }
}
