//! The light question of a page: what is it like now? It writes nothing and keeps nothing alive.
//!
//! A visible page asks every few seconds whether the version, the state or the holders of an aggregate have changed. The answer is
//! a `GET` with an `ETag`; the next question sends that as `If-None-Match`, and gets 304 while nothing has changed. When it has, an
//! open form sends its [heartbeat](crate::beat), which contains the words.
//!
//! | the response | |
//! |---|---|
//! | 200, [`Now`] as JSON, `ETag`, `Cache-Control: private, no-cache` | it is so now |
//! | 304, `ETag` | it is as the tag in `If-None-Match` says |
//! | 401 `session-expired`, 403, 404 | decided by the application, before it answers: 304 reveals that there is such an aggregate |
//!
//! With many pages, the facts come from [`watched`](crate::watched): then the questions of a thousand pages read the database twice per
//! half second.
//!
//! The tag is made from the body, and the body contains nothing that time alone changes: no expiry, no last activity, no idle time.
//! So heartbeats and keys of the holder do not change it, and each change of hands does.
//!
//! The address must be excluded from what the application counts as a use of its session, as heartbeats are: a page that
//! is left open would keep the session alive.
//!
//! ```
//! use axum::extract::{Extension, Path, State};
//! use axum::http::HeaderMap;
//! use axum::response::Response;
//! use axum::routing::get;
//! use axum::Router;
//! use tenure::{Aggregate, LockKey, LockManager, Owner, Repository};
//! use tenure_web::now::Now;
//! use tenure_web::problem::Problem;
//!
//! #[derive(Aggregate)]
//! #[aggregate(table = "note")]
//! struct Note { #[aggregate(id)] id: String, text: String }
//!
//! type Notes = State<(LockManager, Repository<Note>)>;
//!
//! async fn now(
//!     State((locks, notes)): Notes,
//!     Path(id): Path<String>,
//!     me: Option<Extension<Owner>>,
//!     headers: HeaderMap,
//! ) -> Result<Response, Problem> {
//!     let Some(Extension(me)) = me else { return Err(Problem::new(401, "session-expired", "Signed out").action("sign-in")) };
//!     let note = notes.get(&id).await?.ok_or_else(|| Problem::new(404, "not-found", "There is no such note"))?;
//!     let holders = locks.acting_for(&me).holders(&LockKey::of::<Note>(&id)).await?;
//!     Ok(Now::new(&me, Some(note.token()), &holders).answer(&headers))
//! }
//!
//! let app: Router<(LockManager, Repository<Note>)> = Router::new().route("/notes/{id}/now", get(now));
//! ```

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::UNIX_EPOCH;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sha2::{Digest, Sha256};
use tenure::{Owner, VersionToken, lease::Holder};

use crate::versions::known_tags;

/// Stored by the browser, for this person only, and asked about each time.
const CACHING: &str = "private, no-cache";

/// How an aggregate is now: its version, its state, and who has it. Nothing in it changes by itself.
///
/// Members may be added later. A page should compare tags, and ignore members that it does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Now {
    /// The version, as in the hidden field of forms; `None` if there is no such aggregate yet.
    pub version: Option<String>,
    /// The state, in the application's own words for programs; empty for none.
    pub state: String,
    /// The holders of its lock, the longest-held first: at most one if it excludes others.
    pub holders: Vec<HolderNow>,
    /// Pieces of the page, by the name of their place: HTML.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub slots: BTreeMap<String, String>,
    /// The state of the page, from the application's list of states, and its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<Page>,
}

/// The state of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page {
    /// `data-state` of `<main>`.
    pub state: String,
    /// The title of the tab.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A holder of the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HolderNow {
    /// The name, as far as it is visible to the reader.
    pub name: String,
    /// Whether that is the reader.
    pub is_me: bool,
    /// The generation of the lease: another one means another lease, also of the same person.
    pub generation: i64,
    /// When it was acquired, in milliseconds since 1970.
    pub since_ms: u64,
}

impl Now {
    /// The facts for this reader. `holders` are as the reader may see them: see
    /// [`LockManager::acting_for`](tenure::LockManager::acting_for).
    pub fn new<A>(me: &Owner, version: Option<VersionToken<A>>, holders: &[Holder]) -> Self {
        let holder = |holder: &Holder| HolderNow {
            name: holder.owner.name.clone(),
            is_me: holder.owner.id == me.id,
            generation: holder.generation,
            since_ms: holder
                .since
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
        };
        Now {
            version: version.map(|version| version.to_string()),
            state: String::new(),
            holders: holders.iter().map(holder).collect(),
            slots: BTreeMap::new(),
            page: None,
        }
    }

    /// Of a page about several aggregates: pieces alone.
    pub fn of_page() -> Self {
        Now { version: None, state: String::new(), holders: Vec::new(), slots: BTreeMap::new(), page: None }
    }

    /// Adds the piece for the place `data-tenure-slot="{name}"`, as HTML: the application escapes what people typed. It should contain
    /// nothing that time alone changes.
    pub fn slot(mut self, name: impl Into<String>, html: impl Display) -> Self {
        self.slots.insert(name.into(), html.to_string());
        self
    }

    /// Sets the state of the page, and the title of its tab if that changes.
    pub fn page(self, state: impl Into<String>, title: Option<String>) -> Self {
        Now { page: Some(Page { state: state.into(), title }), ..self }
    }

    /// Sets the state: what a page should notice, though the version may be the same.
    pub fn state(self, state: impl Into<String>) -> Self {
        Now { state: state.into(), ..self }
    }

    /// 304 if the page knows this already, otherwise all of it. Check before whether the person may see the aggregate.
    pub fn answer(&self, headers: &HeaderMap) -> Response {
        let body = serde_json::to_string(self).unwrap_or_default();
        let digest: String = Sha256::digest(&body).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let etag = format!("\"{digest}\"");
        // `*` asks whether there is anything, which the page knows.
        if known_tags(headers).any(|tag| tag == "*" || tag == etag) {
            return (StatusCode::NOT_MODIFIED, [(ETAG, &*etag), (CACHE_CONTROL, CACHING)]).into_response();
        }
        let headers = [(ETAG, &*etag), (CACHE_CONTROL, CACHING), (CONTENT_TYPE, "application/json")];
        (headers, body).into_response()
    }
}
