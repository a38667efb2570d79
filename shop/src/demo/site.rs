//! The requests of the browsers in a world, and their answers.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{ACCEPT_LANGUAGE, CONTENT_TYPE, COOKIE, HOST, LOCATION};
use axum::http::{Method, Request};
use tenure::{Error, error::DatabaseError};
use tower_service::Service;

use super::storage::Moment;
use super::world::Person;
use crate::texts::Lang;

/// The maximum length of an answer, in bytes.
const LONGEST_PAGE: usize = 1 << 20;

/// A request and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) request: String,
    pub(crate) answer: String,
}

/// Names and values of a form.
pub(super) type Fields = Vec<(String, String)>;

/// The answer to a request, after redirects.
pub(super) struct Landed {
    pub(super) status: u16,
    pub(super) path: String,
    pub(super) body: String,
    pub(super) exchanges: Vec<Exchange>,
}

/// An error of the world itself.
pub(super) fn other(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    DatabaseError::Other(std::sync::Arc::new(error)).into()
}

/// The shop of a world, or the naive service.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) router: Router,
    pub(super) lang: Lang,
}

impl Site {
    pub(super) async fn get(&self, person: &Person, path: &str) -> Result<Landed, Error> {
        self.follow(person, Method::GET, path, None, None).await
    }

    pub(super) async fn post(
        &self,
        person: &Person,
        path: &str,
        fields: &Fields,
        moment: Moment,
    ) -> Result<Landed, Error> {
        self.follow(person, Method::POST, path, Some(fields), moment).await
    }

    /// A request of this person's browser, and the page to which its answer leads.
    async fn follow(
        &self,
        person: &Person,
        method: Method,
        path: &str,
        fields: Option<&Fields>,
        moment: Moment,
    ) -> Result<Landed, Error> {
        let (mut method, mut path, mut fields) = (method, path.to_owned(), fields);
        let mut exchanges = Vec::new();
        loop {
            let body = fields.map(|fields| serde_urlencoded::to_string(fields).unwrap_or_default());
            let mut request = Request::builder().method(method.clone()).uri(&path).header(HOST, "localhost");
            request = request.header(COOKIE, &person.cookies).header(ACCEPT_LANGUAGE, self.lang.code());
            if body.is_some() {
                request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
            }
            let request =
                request.extension(moment.clone()).body(Body::from(body.unwrap_or_default())).map_err(other)?;
            let response = match self.router.clone().call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            let status = response.status();
            if status.is_server_error() {
                return Err(other(std::io::Error::other(format!("{method} {path} was answered with {status}"))));
            }
            let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).map(str::to_owned);
            let body = to_bytes(response.into_body(), LONGEST_PAGE).await.map_err(other)?;
            let body = String::from_utf8_lossy(&body).into_owned();
            exchanges.push(exchange(&method, &path, fields, &status.to_string(), location.as_deref(), &body));
            match location {
                Some(location) if status.is_redirection() && exchanges.len() < 4 => {
                    (method, path, fields) = (Method::GET, location, None);
                }
                _ => return Ok(Landed { status: status.as_u16(), path, body, exchanges }),
            }
        }
    }
}

/// The fields of a request that decide something; what is secret or the same each time is left out.
const SHOWN: [&str; 5] = ["version", "address.line1", "message", "want", "both"];

fn exchange(
    method: &Method,
    path: &str,
    fields: Option<&Fields>,
    status: &str,
    location: Option<&str>,
    body: &str,
) -> Exchange {
    let mut request = format!("{method} {path}");
    for (name, value) in fields.into_iter().flatten().filter(|(name, _)| SHOWN.contains(&name.as_str())) {
        request.push_str(&format!("\n  {name}: {value}"));
    }
    let location = location.map(|to| format!("\n  Location: {to}")).unwrap_or_default();
    // The answer to a heartbeat is short.
    let told = if body.starts_with('{') { format!("\n  {}", mode(body)) } else { String::new() };
    Exchange { request, answer: format!("{status}{location}{told}") }
}

/// The state of the form, in the answer to a heartbeat.
fn mode(body: &str) -> String {
    let answer: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    format!("mode: {}", answer["mode"].as_str().unwrap_or("-"))
}
