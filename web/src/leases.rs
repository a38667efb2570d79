//! Endpoints of an open form besides its [heartbeat](crate::beat): the release, the hidden fields of a new form, and the scripts.
//!
//! | request | answer |
//! |---|---|
//! | `GET /form?person=…` | `{"fields": {"csrf", "form_id", "lid"}}`: what a page needs that becomes another form without being loaded, because its tab was duplicated, it was edited further while it was saved, or the browser's cookies were cleared. 401, 409 `other-person` |
//! | `POST /release` `lid, mode` | 204, also if the lease had ended; `mode=parting` leaves it 10 s for a reload |
//! | `GET` [`scripts`] | the scripts |
//!
//! Bodies are `application/x-www-form-urlencoded`, so that a beacon can send them. The signed-in person comes from the request's
//! extensions, as an [`Owner`]; a person cannot end another person's lease. The request carries no CSRF token, because the lock
//! id is a secret that only the page itself can send. In addition, a request that the browser marks as cross-site is
//! refused with 403, here and not only by a `CsrfLayer` of the application.

use std::time::Duration;

use axum::Extension;
use axum::Json;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Query, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};
use tenure::{LockId, LockManager, Owner, error::LeaseError, lease::Holder};
use tower_http::csrf::{CsrfLayer, ProtectionError};

use crate::beat::other_person;
use crate::browser_key::BrowserKey;
use crate::csrf::CsrfToken;
use crate::form_id::FormId;
use crate::problem::Problem;

/// How long a lease outlives its page: enough to reload, or to come back with the Back button.
pub const PARTING_GRACE: Duration = Duration::from_secs(10);

/// Whether that is the person's own lease of a page that was left a moment ago. It blocks nobody: neither another page of theirs nor a save.
pub fn was_left_by(holder: &Holder, person: &str) -> bool {
    holder.owner.id == person && holder.remaining <= PARTING_GRACE
}

/// The scripts: the one that a page loads, and those that it imports.
const SCRIPTS: [(&str, &str); 7] = [
    ("tenure.js", include_str!("../assets/tenure.js")),
    ("form.js", include_str!("../assets/form.js")),
    ("kept.js", include_str!("../assets/kept.js")),
    ("text.js", include_str!("../assets/text.js")),
    ("lease.js", include_str!("../assets/lease.js")),
    ("live.js", include_str!("../assets/live.js")),
    ("save.js", include_str!("../assets/save.js")),
];

/// The release, and the hidden fields of a new form: to be nested under a path of the application's choice.
///
/// The requests' extensions have the signed-in [`Owner`]; for new forms also the session's [`CsrfToken`], and the [`BrowserKey`] if lock
/// ids are made from it.
pub fn router<S: Clone + Send + Sync + 'static>(locks: LockManager) -> Router<S> {
    let from_elsewhere = |_: ProtectionError| {
        let detail = "The browser says that another site sent this. Nothing was done.";
        Problem::new(403, "csrf-failed", "Refused").detail(detail).into_response()
    };
    let from_here = CsrfLayer::new().with_rejection_response(from_elsewhere);
    Router::new().route("/release", post(release)).route("/form", get(new_form)).layer(from_here).with_state(locks)
}

/// The longest form of a release.
const LONGEST_FORM: usize = 16 * 1024;

/// Middleware that runs a release to its end, although its page is closed and the connection with it. It belongs around the release endpoint and the
/// middleware that finds the signed-in person: `leases::router(locks).layer(sessions).layer(from_fn(leases::to_its_end))`. Without it, the
/// server drops the request when it notices the closed connection, and the lease stays for its time to live.
pub async fn to_its_end(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    // Whole, because nothing more arrives on a closed connection.
    let body = match to_bytes(body, LONGEST_FORM).await {
        Ok(body) => Body::from(body),
        Err(error) => return Problem::new(413, "bad-form", "Refused").detail(error.to_string()).into_response(),
    };
    let running = tokio::spawn(next.run(Request::from_parts(parts, body)));
    running.await.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

/// The scripts, under this path (`/tenure`: then pages load `/tenure/tenure.js`). Separate from the other routes, because they
/// need no session, and serving a file should not read one from a database.
pub fn scripts<S: Clone + Send + Sync + 'static>(path: &str) -> Router<S> {
    SCRIPTS.iter().fold(Router::new(), |router, (name, text)| {
        let headers = [(CONTENT_TYPE, "text/javascript; charset=utf-8"), (CACHE_CONTROL, "no-cache")];
        router.route(&format!("{path}/{name}"), get(move || async move { (headers, *text).into_response() }))
    })
}

#[derive(Deserialize)]
struct Viewer {
    #[serde(default)]
    person: String,
}

/// The answer to `GET /form`.
#[derive(Serialize)]
struct NewForm {
    fields: HiddenFields,
}

#[derive(Serialize)]
struct HiddenFields {
    csrf: Option<String>,
    form_id: String,
    lid: String,
}

/// Nothing is written: the lock id is acquired by the heartbeat that sends it.
async fn new_form(
    owner: Option<Extension<Owner>>,
    csrf: Option<Extension<CsrfToken>>,
    key: Option<Extension<BrowserKey>>,
    Query(viewer): Query<Viewer>,
) -> Result<Response, Problem> {
    let Some(Extension(owner)) = owner else { return Err(signed_out()) };
    if viewer.person != owner.id {
        return Err(other_person());
    }
    let form = FormId::random();
    let lid = key.map_or_else(LockId::random, |key| key.lock_id(&owner.id, form));
    let csrf = csrf.map(|Extension(token)| token.to_string());
    let fields = HiddenFields { csrf, form_id: form.to_string(), lid: lid.reveal() };
    Ok(([(CACHE_CONTROL, "no-store")], Json(NewForm { fields })).into_response())
}

fn signed_out() -> Problem {
    Problem::new(401, "session-expired", "Signed out").action("sign-in")
}

#[derive(Deserialize)]
struct ReleaseForm {
    lid: String,
    #[serde(default)]
    mode: Mode,
}

/// How the user leaves a page.
#[derive(Deserialize, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// Permanently.
    #[default]
    Final,
    /// Perhaps only for a reload.
    Parting,
}

async fn release(
    State(locks): State<LockManager>,
    owner: Option<Extension<Owner>>,
    form: Result<Form<ReleaseForm>, FormRejection>,
) -> Result<Response, Problem> {
    let Some(Extension(owner)) = owner else {
        return Err(signed_out());
    };
    let Form(ReleaseForm { lid, mode }) = form.map_err(|rejection| {
        Problem::new(rejection.status().as_u16(), "bad-form", "Refused").detail(rejection.body_text())
    })?;
    // No page reads the response to a beacon, and an ended lease is its goal.
    let Ok(id) = lid.parse::<LockId>() else { return Ok(StatusCode::NO_CONTENT.into_response()) };
    let locks = locks.acting_for(&owner);
    let ended = match mode {
        Mode::Final => locks.release_lock(&id).await,
        Mode::Parting => locks.expire_within(&id, PARTING_GRACE).await.map(drop),
    };
    match ended {
        Ok(()) | Err(LeaseError::NoLock(_)) => Ok(StatusCode::NO_CONTENT.into_response()),
        Err(error) => Err(error.into()),
    }
}
