//! Versions over HTTP, for a program that saves by request.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;
use tenure::{Aggregate, Database, Error, Owner, Repository, Version, VersionToken, error::DatabaseError, sqlx};
use tenure_web::problem::Problem;
use tenure_web::versions::{IfMatch, IfNoneMatch, Versioned};
use tower::ServiceExt;

#[derive(Aggregate)]
#[aggregate(table = "orders", revisions = 9)]
struct Order {
    #[aggregate(id)]
    no: String,
    line1: String,
    shipped: bool,
}

struct AlreadyShipped;

impl From<AlreadyShipped> for Problem {
    fn from(_: AlreadyShipped) -> Self {
        Problem::new(409, "already-shipped", "The parcel is on its way")
    }
}

impl Order {
    fn send_to(&mut self, line1: String) -> Result<(), AlreadyShipped> {
        if self.shipped {
            return Err(AlreadyShipped);
        }
        self.line1 = line1;
        Ok(())
    }
}

type Orders = State<Repository<Order>>;
type Answer = Result<Versioned<Order, String>, Problem>;

async fn show(State(orders): Orders, Path(no): Path<String>, seen: IfNoneMatch<Order>) -> Result<Response, Problem> {
    let order = orders.get(&no).await?.ok_or_else(|| Problem::new(404, "not-found", "There is no such order"))?;
    Ok(seen.answer(order.token(), || order.into_inner().line1))
}

async fn put(State(orders): Orders, Path(no): Path<String>, IfMatch(seen): IfMatch<Order>, line1: String) -> Answer {
    let update = orders.update(&no).by(&Owner::new("lee", "Lee Junho")).expecting(seen);
    let order = update.run(|order| order.send_to(line1)).await.map_err(Problem::of_if_match)?;
    Ok(Versioned(order.token(), order.into_inner().line1))
}

#[derive(Deserialize)]
struct SendTo {
    version: VersionToken<Order>,
    line1: String,
}

async fn post(State(orders): Orders, Path(no): Path<String>, Json(body): Json<SendTo>) -> Answer {
    let order = orders.update(&no).expecting(body.version).run(|order| order.send_to(body.line1)).await?;
    Ok(Versioned(order.token(), order.into_inner().line1))
}

struct Api {
    app: Router,
    orders: Repository<Order>,
    _directory: Arc<TempDir>,
}

struct Reply {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Reply {
    /// The problem's status, code and detail.
    fn problem(&self) -> (u16, String, String) {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{}", self.body);
        let problem: Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(problem["status"], self.status);
        let text = |name: &str| problem[name].as_str().unwrap().to_owned();
        (self.status, text("code"), text("detail"))
    }

    fn is(&self, status: u16, code: &str, says: &str) {
        let (is, said, detail) = self.problem();
        assert_eq!((is, said.as_str()), (status, code), "{detail}");
        assert!(detail.contains(says), "{detail}");
    }
}

impl Api {
    /// Orders 1 and 2, and an application that serves them.
    async fn start() -> Api {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await.unwrap();
        let orders = Repository::<Order>::new(&db);
        let mut tx = db.begin().await.unwrap();
        let table = "create table orders (no text primary key, line1 text, shipped integer, version integer)";
        sqlx::raw_sql(table).execute(tx.sqlite().unwrap()).await.unwrap();
        for no in ["1", "2"] {
            let order = Order { no: no.into(), line1: "Teheran-ro 1".into(), shipped: false };
            orders.insert(&mut tx, order).await.unwrap();
        }
        tx.commit().await.unwrap();
        let app = Router::new().route("/orders/{no}", get(show).put(put).post(post)).with_state(orders.clone());
        Api { app, orders, _directory: Arc::new(directory) }
    }

    async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.app.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        Reply { status, headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }

    async fn etag(&self, no: &str) -> String {
        let reply = self.send(Request::get(format!("/orders/{no}")).body(Body::empty()).unwrap()).await;
        reply.headers["etag"].to_str().unwrap().to_owned()
    }

    /// A GET with these `If-None-Match` headers: status, tag and body.
    async fn get(&self, no: &str, if_none_match: &[&str]) -> (u16, String, String) {
        let mut request = Request::get(format!("/orders/{no}")).body(Body::empty()).unwrap();
        for header in if_none_match {
            request.headers_mut().append("if-none-match", header.parse().unwrap());
        }
        let reply = self.send(request).await;
        (reply.status, reply.headers["etag"].to_str().unwrap().to_owned(), reply.body)
    }

    /// A PUT with these `If-Match` headers.
    async fn put(&self, no: &str, if_match: &[&[u8]]) -> Reply {
        let mut request = Request::put(format!("/orders/{no}")).body(Body::from("Sejong-daero 9")).unwrap();
        for header in if_match {
            request.headers_mut().append("if-match", HeaderValue::from_bytes(header).unwrap());
        }
        self.send(request).await
    }

    async fn post(&self, no: &str, version: &str) -> Reply {
        let body = serde_json::json!({ "version": version, "line1": "Sejong-daero 9" }).to_string();
        let request = Request::post(format!("/orders/{no}")).header("content-type", "application/json");
        self.send(request.body(Body::from(body)).unwrap()).await
    }

    /// The address of order 1, and its version.
    async fn stored(&self) -> (String, i64) {
        let order = self.orders.get(&"1".into()).await.unwrap().unwrap();
        (order.line1.clone(), order.version().number())
    }
}

#[tokio::test]
async fn response_version_round_trips_through_a_save() {
    let api = Api::start().await;
    let seen = api.etag("1").await;
    assert_eq!(seen, VersionToken::<Order>::new(&"1".into(), Version::FIRST).etag());
    let saved = api.put("1", &[seen.as_bytes()]).await;
    assert_eq!((saved.status, saved.body.as_str()), (200, "Sejong-daero 9"));
    assert_eq!(saved.headers["etag"], api.etag("1").await);
    assert_eq!(api.stored().await, ("Sejong-daero 9".into(), 2));
}

#[tokio::test]
async fn current_version_is_304_without_a_body() {
    let api = Api::start().await;
    let (seen, other) = (api.etag("1").await, api.etag("2").await);
    let unchanged = (304, seen.clone(), String::new());
    let (weak, list) = (format!("W/{seen}"), format!("\"something else\",{other} , {seen}"));
    for headers in [vec![&*seen], vec![&*weak], vec![&*list], vec![&*other, &*seen], vec!["*"]] {
        assert_eq!(api.get("1", &headers).await, unchanged, "{headers:?}");
    }
    assert_eq!(api.put("1", &[seen.as_bytes()]).await.status, 200);
    assert_eq!(api.get("1", &[&seen]).await, (200, api.etag("1").await, "Sejong-daero 9".into()));
}

#[tokio::test]
async fn other_tags_get_the_whole_answer() {
    let api = Api::start().await;
    let (seen, other) = (api.etag("1").await, api.etag("2").await);
    let whole = (200, seen.clone(), "Teheran-ro 1".to_owned());
    for header in ["", ",", "\"\"", "W/", "\"v1\"", "no tag", &other, seen.trim_matches('"'), &seen[..seen.len() - 1]] {
        assert_eq!(api.get("1", &[header]).await, whole, "{header}");
    }
}

#[tokio::test]
async fn missing_version_is_428_with_advice() {
    let api = Api::start().await;
    let nothing: [&[&[u8]]; 3] = [&[], &[b""], &[b" , "]];
    for headers in nothing {
        api.put("1", headers).await.is(428, "version-required", "GET it");
    }
    assert_eq!(api.stored().await.1, 1);
}

#[tokio::test]
async fn any_weak_and_missing_versions_are_refused_with_reasons() {
    let api = Api::start().await;
    let seen = api.etag("1").await;
    let (weak, bare) = (format!("W/{seen}"), seen.trim_matches('"').to_owned());
    for (header, says) in [
        (b"*".as_slice(), "any version"),
        (weak.as_bytes(), "weak"),
        (bare.as_bytes(), "is not a version token"),
        (b"\"v1\"", "is not a version token"),
        (b"\"1\"", "is not a version token"),
        (b"\"", "is not a version token"),
        (b"\xff", "not even text"),
    ] {
        api.put("1", &[header]).await.is(400, "bad-version", says);
    }
    assert_eq!(api.stored().await.1, 1);
}

#[tokio::test]
async fn several_versions_are_refused_ignoring_empty_elements() {
    let api = Api::start().await;
    let (one, two) = (api.etag("1").await, api.etag("2").await);
    api.put("1", &[format!("{one}, {two}").as_bytes()]).await.is(400, "bad-version", "several");
    api.put("1", &[one.as_bytes(), two.as_bytes()]).await.is(400, "bad-version", "several");
    api.put("1", &[format!("{one}, *").as_bytes()]).await.is(400, "bad-version", "several");
    assert_eq!(api.stored().await.1, 1);
    assert_eq!(api.put("1", &[b",", format!(" ,{one},").as_bytes()]).await.status, 200);
}

#[tokio::test]
async fn version_of_another_order_is_refused() {
    let api = Api::start().await;
    let other = api.etag("2").await;
    api.put("1", &[other.as_bytes()]).await.is(400, "foreign-version", "Order 1");
    api.post("1", other.trim_matches('"')).await.is(400, "foreign-version", "Order 1");
    assert_eq!(api.stored().await.1, 1);
}

#[tokio::test]
async fn stale_version_is_412_in_a_header_and_409_in_a_body() {
    let api = Api::start().await;
    let seen = api.etag("1").await;
    assert_eq!(api.put("1", &[seen.as_bytes()]).await.status, 200);
    let late = api.put("1", &[seen.as_bytes()]).await;
    late.is(412, "version-conflict", "Lee Junho");
    let problem: Value = serde_json::from_str(&late.body).unwrap();
    assert_eq!(problem["by"]["name"], "Lee Junho");
    assert_eq!(problem["actions"][0]["rel"], "reload");
    api.post("1", seen.trim_matches('"')).await.is(409, "version-conflict", "version 2");
    assert_eq!(api.stored().await.1, 2);
}

#[tokio::test]
async fn the_domains_own_refusal_keeps_its_own_status() {
    let api = Api::start().await;
    let ship = |order: &mut Order| {
        order.shipped = true;
        Ok::<_, AlreadyShipped>(())
    };
    assert!(api.orders.update(&"1".into()).run(ship).await.is_ok());
    let seen = api.etag("1").await;
    let refused = api.put("1", &[seen.as_bytes()]).await;
    assert_eq!(refused.status, StatusCode::CONFLICT.as_u16());
    assert!(refused.body.contains("already-shipped"), "{}", refused.body);
}

#[tokio::test]
async fn missing_aggregate_is_404_for_any_version() {
    let api = Api::start().await;
    let token = VersionToken::<Order>::new(&"3".into(), Version::FIRST).etag();
    api.put("3", &[token.as_bytes()]).await.is(404, "not-found", "Order 3");
}

#[tokio::test]
async fn database_message_is_logged_and_the_response_gives_advice() {
    let lost = || "connection to db-7.internal reset".to_owned();
    for (error, status, code, says) in [
        (DatabaseError::ConnectionLost(lost()), 503, "connection-lost", "try again"),
        (DatabaseError::CommitUnknown(lost()), 500, "commit-unknown", "Load it again"),
        (DatabaseError::NotPermitted(lost()), 500, "not-permitted", "log"),
    ] {
        let response = Problem::from(Error::from(error)).into_response();
        let (status_was, headers) = (response.status().as_u16(), response.headers().clone());
        let body = String::from_utf8(to_bytes(response.into_body(), 10_000).await.unwrap().to_vec()).unwrap();
        assert!(!body.contains("internal"), "{body}");
        Reply { status: status_was, headers, body }.is(status, code, says);
    }
}
