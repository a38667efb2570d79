//! The endpoints that an open form talks to, and the script that does the talking.
//!
//! | request | answer |
//! |---|---|
//! | `POST /keep-alive` `lid, idle_ms` | 200 with the time left; 410 with the reason when the lease has ended |
//! | `POST /check` `lid` | the same, without prolonging anything |
//! | `POST /release` `lid, mode` | 204, also when the lease had ended; `mode=parting` leaves it 10 s for a reload |
//! | `GET` [`script`] | the script |
//!
//! None of them takes a lock: what may be locked, and by whom, is for the application to say, see
//! [`first_edit`](crate::first_edit).
//!
//! `idle_ms` is how long ago the person last did something in the form, see [`Beat`]; without it they are there.
//!
//! Bodies are `application/x-www-form-urlencoded`, so that a beacon can send them as well. Who is signed in comes from the
//! request's extensions, as an [`Owner`]; nobody keeps or ends a lease of somebody else, and whoever is signed out gets 401
//! while the lease lives on: they can sign in again in another tab, and the form goes on beating.
//!
//! That is why these requests carry no token of the session, which a new sign-in changes. The lock id does what such a token
//! does: it is a secret that only the page itself can send. (And `tower_http::csrf::CsrfLayer` stands before it.)

use std::time::Duration;

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, FromRequestParts};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tenure::{Beat, Lease, LeaseError, LockId, LockManager, Owner};

use crate::problem::Problem;

/// How long a lease outlives the page that held it: enough to reload, or to come back with the Back button.
pub const PARTING_GRACE: Duration = Duration::from_secs(10);

/// The routes but for the script, to be nested under a path of the application's choice.
pub fn router<S: Clone + Send + Sync + 'static>(locks: LockManager) -> Router<S> {
    Router::new()
        .route("/keep-alive", post(keep_alive))
        .route("/check", post(check))
        .route("/release", post(release))
        .with_state(locks)
}

/// The script, under this path: apart from the other routes, because it needs no session, and nobody should read one
/// from a database to serve a file.
pub fn script<S: Clone + Send + Sync + 'static>(path: &str) -> Router<S> {
    Router::new().route(path, get(send_script))
}

#[derive(Deserialize)]
struct LeaseForm {
    lid: String,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    idle_ms: u64,
}

/// How a page says good-bye.
#[derive(Deserialize, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// For good.
    #[default]
    Final,
    /// Maybe it is only being reloaded.
    Parting,
}

/// A lease that is alive, as its own form sees it. Times are durations: the clocks of browsers are wrong.
#[derive(Debug, Serialize)]
pub struct Alive {
    expires_in_ms: u64,
    generation: i64,
    owner: Name,
    /// Who else has it open, where it is not held alone.
    others: Vec<Name>,
}

#[derive(Debug, Serialize)]
struct Name {
    id: String,
    name: String,
}

impl From<&Owner> for Name {
    fn from(owner: &Owner) -> Self {
        Name { id: owner.id.clone(), name: owner.name.clone() }
    }
}

impl Alive {
    pub(crate) async fn new(locks: &LockManager, lease: &Lease) -> Result<Self, Problem> {
        let mut others = Vec::new();
        if lease.shared || !locks.policy(lease.key.kind()).is_exclusive() {
            others = locks.holders(&lease.key).await?;
        }
        let others = others.iter().filter(|other| other.generation != lease.generation);
        Ok(Alive {
            expires_in_ms: u64::try_from(lease.remaining.as_millis()).unwrap_or(u64::MAX),
            generation: lease.generation,
            owner: Name::from(&lease.owner),
            others: others.map(|other| Name::from(&other.owner)).collect(),
        })
    }
}

/// The locks, on behalf of whoever is signed in.
struct Acting(LockManager);

impl FromRequestParts<LockManager> for Acting {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, locks: &LockManager) -> Result<Self, Problem> {
        match parts.extensions.get::<Owner>() {
            Some(owner) => Ok(Acting(locks.acting_for(owner))),
            None => {
                let detail = "You are signed out. Your lock stays until its time is up: sign in again in another tab, \
                              then go on.";
                Err(Problem::new(401, "session-expired", "Signed out").detail(detail).action("sign-in"))
            }
        }
    }
}

async fn keep_alive(Acting(locks): Acting, form: LeaseFields) -> Result<Json<Alive>, Problem> {
    let (id, LeaseForm { idle_ms, .. }) = lock_id(form)?;
    let mut answers = locks.keep_alive_with(&[Beat::idle(id, Duration::from_millis(idle_ms))]).await?;
    match answers.pop() {
        Some(Ok(lease)) => Ok(Json(Alive::new(&locks, &lease).await?)),
        Some(Err(no_lock)) => Err(no_lock.into()),
        None => Err(unknown()),
    }
}

async fn check(Acting(locks): Acting, form: LeaseFields) -> Result<Json<Alive>, Problem> {
    let lease = locks.check_lock(&lock_id(form)?.0).await?;
    Ok(Json(Alive::new(&locks, &lease).await?))
}

async fn release(Acting(locks): Acting, form: LeaseFields) -> Result<StatusCode, Problem> {
    let (id, LeaseForm { mode, .. }) = lock_id(form)?;
    let ended = match mode {
        Mode::Final => locks.release_lock(&id).await,
        Mode::Parting => locks.expire_within(&id, PARTING_GRACE).await.map(drop),
    };
    match ended {
        // Nobody reads the answer to a beacon, and a lease that is gone is what it wanted.
        Ok(()) | Err(LeaseError::NoLock(_)) => Ok(StatusCode::NO_CONTENT),
        Err(error) => Err(error.into()),
    }
}

type LeaseFields = Result<Form<LeaseForm>, FormRejection>;

async fn send_script() -> Response {
    let headers = [(CONTENT_TYPE, "text/javascript; charset=utf-8"), (CACHE_CONTROL, "no-cache")];
    (headers, include_str!("../assets/tenure.js")).into_response()
}

fn lock_id(form: LeaseFields) -> Result<(LockId, LeaseForm), Problem> {
    let Form(form) = form.map_err(|rejection| {
        Problem::new(rejection.status().as_u16(), "bad-form", "Refused").detail(rejection.body_text())
    })?;
    Ok((form.lid.parse().map_err(|_| unknown())?, form))
}

fn unknown() -> Problem {
    let detail = "This is not a lock id. Open the form again to get a lock.";
    Problem::new(410, "lock-unknown", "There is no such lock").detail(detail).action("lock-again")
}
