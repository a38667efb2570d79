//! Versions over HTTP: [`Versioned`] sends one as the strong `ETag` of a response, [`IfMatch`] reads it back for a change, and
//! [`IfNoneMatch`] for a read.
//!
//! | the request | the response |
//! |---|---|
//! | `If-None-Match` with the current version | 304, without a body ([`IfNoneMatch::answer`]) |
//! | without `If-Match` | 428 `version-required` |
//! | `If-Match` is `*`, a weak tag, several tags, or no version at all | 400 `bad-version` |
//! | the version of another aggregate | 400 `foreign-version` |
//! | a version that is not the current one | 412 `version-conflict` ([`Problem::of_if_match`]) |
//! | such a version in a form or a JSON body (a [`VersionToken`] is both) | 409 `version-conflict` (`Problem::from`) |
//!
//! ```
//! # use std::convert::Infallible;
//! use axum::extract::{Path, State};
//! use axum::response::Response;
//! use axum::routing::get;
//! use axum::Router;
//! use tenure::{Aggregate, Repository};
//! use tenure_web::problem::Problem;
//! use tenure_web::versions::{IfMatch, IfNoneMatch, Versioned};
//!
//! #[derive(Aggregate)]
//! #[aggregate(table = "note", revisions = 9)]
//! struct Note { #[aggregate(id)] id: String, text: String }
//!
//! type Notes = State<Repository<Note>>;
//! type Answer = Result<Versioned<Note, String>, Problem>;
//!
//! async fn show(State(notes): Notes, Path(id): Path<String>, seen: IfNoneMatch<Note>) -> Result<Response, Problem> {
//!     let note = notes.get(&id).await?.ok_or_else(|| Problem::new(404, "not-found", "There is no such note"))?;
//!     Ok(seen.answer(note.token(), || note.into_inner().text))
//! }
//!
//! async fn write(State(notes): Notes, Path(id): Path<String>, IfMatch(seen): IfMatch<Note>, text: String) -> Answer {
//!     let command = |note: &mut Note| { note.text = text; Ok::<_, Infallible>(()) };
//!     let note = notes.update(&id).expecting(seen).run(command).await.map_err(Problem::of_if_match)?;
//!     Ok(Versioned(note.token(), note.into_inner().text))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use axum::body::Body;
//! # use axum::http::{Request, StatusCode};
//! # use tower::ServiceExt;
//! # let directory = tempfile::tempdir()?;
//! # let db = tenure::Database::connect(&format!("sqlite://{}/notes.db", directory.path().display())).await?;
//! # let mut tx = db.begin().await?;
//! # tenure::sqlx::raw_sql("create table note (id text primary key, text text, version integer)").execute(tx.sqlite()?).await?;
//! # let notes = Repository::<Note>::new(&db);
//! # notes.insert(&mut tx, Note { id: "7".into(), text: "hello".into() }).await?;
//! # tx.commit().await?;
//! let app: Router = Router::new().route("/notes/{id}", get(show).put(write)).with_state(notes);
//!
//! # let send = async |request: Request<Body>| app.clone().oneshot(request).await.expect("a router always answers");
//! # let etag = |answer: &Response| answer.headers()["etag"].to_str().expect("text").to_owned();
//! let answer = send(Request::get("/notes/7").body(Body::empty())?).await;
//! let seen = etag(&answer);                                   // for example "v1.5f2bc1db5b3d0aa4"
//! let again = Request::get("/notes/7").header("if-none-match", &seen).body(Body::empty())?;
//! assert_eq!(send(again).await.status(), StatusCode::NOT_MODIFIED);
//! let put = |seen: &str| Request::put("/notes/7").header("if-match", seen).body(Body::from("changed"));
//! assert_eq!(send(put(&seen)?).await.status(), StatusCode::OK);
//! assert_eq!(send(put(&seen)?).await.status(), StatusCode::PRECONDITION_FAILED);
//! # Ok(()) }
//! ```

use std::convert::Infallible;
use std::fmt;

use axum::extract::FromRequestParts;
use axum::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use tenure::VersionToken;

use crate::problem::Problem;

/// A response about one aggregate, with its version as the strong `ETag`: the version in the body, or the one that
/// the save created. All parts of the response that depend on the aggregate must be of this version.
#[derive(Clone)]
pub struct Versioned<A, B>(pub VersionToken<A>, pub B);

impl<A, B: IntoResponse> IntoResponse for Versioned<A, B> {
    fn into_response(self) -> Response {
        ([(ETAG, self.0.etag())], self.1).into_response()
    }
}

impl<A, B: fmt::Debug> fmt::Debug for Versioned<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Versioned").field(&self.0).field(&self.1).finish()
    }
}

/// The version that the request expects, from its `If-Match`: for
/// [`Update::expecting`](tenure::unit_of_work::Update::expecting), which refuses the version of another aggregate.
///
/// A missing header is refused, and there is no `Option` of this extractor, because it would disable
/// the check. So would `*` ("any version"), and a weak tag, which never matches in `If-Match`
/// (RFC 9110, section 13.1.1).
///
/// `If-Match` may contain several tags, any of which may match. Here it may not: a save is based on *one* state, and a conflict
/// compares that one with the current one. More than one tag is refused, also if it comes as several headers.
pub struct IfMatch<A>(pub VersionToken<A>);

impl<A, S: Send + Sync> FromRequestParts<S> for IfMatch<A> {
    /// 428 or 400, see the [module](self).
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut tags = Vec::new();
        for header in parts.headers.get_all(IF_MATCH) {
            let header = header.to_str().map_err(|_| bad("It is not even text."))?;
            tags.extend(header.split(',').map(str::trim).filter(|tag| !tag.is_empty()));
        }
        match tags[..] {
            [] => Err(missing()),
            ["*"] => Err(bad("`*` means any version, which would be no check.")),
            [tag] if tag.starts_with("W/") => Err(bad(
                "A weak tag never matches here. If something on the way made it weak, let it leave tags alone.",
            )),
            [tag] => VersionToken::from_etag(tag).map(IfMatch).map_err(|error| bad(&format!("In it, {error}."))),
            _ => Err(bad("It names several tags, and a change is made on one version.")),
        }
    }
}

impl<A> fmt::Debug for IfMatch<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IfMatch").field(&self.0).finish()
    }
}

/// The versions that the client already has, from its `If-None-Match` (RFC 9110, section 13.1.2). Texts that are no version of this
/// type are ignored, because the header only saves a transfer: the response is then complete.
///
/// Tags are compared weakly, as the section demands: a proxy that compresses answers makes tags weak.
pub struct IfNoneMatch<A> {
    seen: Vec<VersionToken<A>>,
    any: bool,
}

impl<A> IfNoneMatch<A> {
    /// Whether the client has this version.
    pub fn has(&self, version: &VersionToken<A>) -> bool {
        self.any || self.seen.contains(version)
    }

    /// 304 without a body if the client has this version; otherwise the body, with the version as its `ETag`.
    ///
    /// Check first whether the person may read the aggregate: 304 reveals that it exists and has not changed. The body must depend on
    /// nothing but the aggregate and the headers in `Vary`: if it also shows a lock holder, or a time, then 304 keeps the old one on
    /// the page.
    pub fn answer<B: IntoResponse>(&self, version: VersionToken<A>, body: impl FnOnce() -> B) -> Response {
        if self.has(&version) {
            return ([(ETAG, version.etag())], StatusCode::NOT_MODIFIED).into_response();
        }
        Versioned(version, body()).into_response()
    }
}

impl<A, S: Send + Sync> FromRequestParts<S> for IfNoneMatch<A> {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let tags: Vec<_> = known_tags(&parts.headers).collect();
        let seen = tags.iter().map(|tag| VersionToken::from_etag(tag));
        Ok(IfNoneMatch { any: tags.contains(&"*"), seen: seen.filter_map(Result::ok).collect() })
    }
}

/// The tags in `If-None-Match`, to be compared weakly (RFC 9110, section 13.1.2); `*` stands for any.
pub(crate) fn known_tags(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let sent = headers.get_all(IF_NONE_MATCH).into_iter().filter_map(|header| header.to_str().ok());
    sent.flat_map(|header| header.split(',').map(str::trim)).map(|tag| tag.strip_prefix("W/").unwrap_or(tag))
}

impl<A> fmt::Debug for IfNoneMatch<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IfNoneMatch").field("seen", &self.seen).field("any", &self.any).finish()
    }
}

fn missing() -> Problem {
    let detail = "The request does not say which version it was made on, so it could overwrite what somebody else has \
                  saved since. GET it, look at what there is now, and send the request again with the `ETag` of that \
                  answer, quotes included, as `If-Match`.";
    Problem::new(428, "version-required", "Say which version this is for").detail(detail).action("reload")
}

fn bad(what: &str) -> Problem {
    let detail = format!("`If-Match` is not one version. {what} Send the one `ETag` that you got, as it is.");
    Problem::new(400, "bad-version", "Not a version").detail(detail).action("reload")
}
