//! Refusals as RFC 9457 problem details, with a stable `code` and the possible next actions.

mod of_error;
mod status;

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use problem_details::ProblemDetails;
use serde::Serialize;
use serde_json::Value;
use tenure::lease::Holder;

pub use status::status;

/// A refusal. As a response it is `application/problem+json`, with these members beside the ones of RFC 9457:
///
/// | member | |
/// |---|---|
/// | `code` | the stable name of the refusal; also the last part of `type` |
/// | `actions` | what the person can do next |
/// | `by`, `reason` | the person who changed the aggregate or ended the lock, and the reason |
/// | `column` | the column whose value does not fit, if the database tells it |
/// | `held_now` | the holder of the lock: `owner.name`, `since_ms` (milliseconds since 1970), `expires_in_ms` |
/// | others | added by the application with [`Problem::member`] |
#[derive(Debug, Clone)]
pub struct Problem {
    status: StatusCode,
    title: String,
    detail: String,
    members: Members,
}

/// Reserved member names.
const MEANINGS: [&str; 10] =
    ["type", "title", "status", "detail", "instance", "code", "by", "reason", "held_now", "actions"];

/// Extension members of a problem.
#[derive(Debug, Clone, Default, Serialize)]
struct Members {
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<Person>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_now: Option<HeldNow>,
    actions: Vec<Action>,
    #[serde(flatten)]
    more: BTreeMap<&'static str, Value>,
}

/// A person, by the name that is visible to others.
#[derive(Debug, Clone, Serialize)]
struct Person {
    name: String,
}

/// The present holder of the lock.
#[derive(Debug, Clone, Serialize)]
struct HeldNow {
    owner: Person,
    since_ms: u64,
    expires_in_ms: u64,
}

/// A possible next action of the person. Pages render their buttons from these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Action {
    /// Its name: `lock-again`, `wait`, `sign-in`, `retry`, `reload`.
    pub rel: &'static str,
}

impl Problem {
    /// A problem with this status (one from 400 to 599; anything else is 500), code and title.
    pub fn new(status: u16, code: &'static str, title: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(status).ok().filter(|status| status.as_u16() >= 400);
        Problem {
            status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            title: title.into(),
            detail: String::new(),
            members: Members { code, ..Members::default() },
        }
    }

    /// Sets the detail: the event, its object, and the next step.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// Adds a possible next action.
    pub fn action(mut self, rel: &'static str) -> Self {
        self.members.actions.push(Action { rel });
        self
    }

    /// Adds or replaces a member of the application's own: for instance the `fields` of a conflict, for persons who may read them. A name
    /// that the kit or RFC 9457 defines is left unchanged, and so is a value that cannot be written as JSON.
    ///
    /// ```
    /// # use tenure::Error;
    /// use tenure_web::problem::Problem;
    ///
    /// fn compared(error: Error) -> Problem {
    ///     let Error::VersionConflict(conflict) = error else { return error.into() };
    ///     let fields = conflict.fields.clone();
    ///     Problem::of_if_match(Error::VersionConflict(conflict)).member("fields", fields)
    /// }
    /// ```
    pub fn member(mut self, name: &'static str, value: impl Serialize) -> Self {
        if let Ok(value) = serde_json::to_value(value)
            && !MEANINGS.contains(&name)
        {
            self.members.more.insert(name, value);
        }
        self
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Its title in English. (Pages in other languages have their own titles for each [`ErrorCode`](tenure::error::ErrorCode).)
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Its stable code.
    pub fn code(&self) -> &'static str {
        self.members.code
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let kind = format!("/problems/{}", self.members.code);
        let details = ProblemDetails::<()>::from_status_code(self.status)
            .with_title(self.title)
            .with_detail(self.detail)
            .with_extensions(self.members);
        let details = match kind.parse::<axum::http::Uri>() {
            Ok(kind) => details.with_type(kind),
            Err(_) => details,
        };
        let mut response = details.into_response();
        if [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS].contains(&self.status) {
            response.headers_mut().insert(RETRY_AFTER, axum::http::HeaderValue::from_static("5"));
        }
        response
    }
}

impl From<Holder> for HeldNow {
    fn from(holder: Holder) -> Self {
        let since = holder.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        HeldNow {
            owner: Person { name: holder.owner.name },
            since_ms: millis(since),
            expires_in_ms: millis(holder.remaining),
        }
    }
}
