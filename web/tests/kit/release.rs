//! The release of an open form, and the scripts that its page loads.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::middleware::from_fn;
use axum::{Extension, Router};
use serde_json::Value;
use tempfile::TempDir;
use tenure::{Database, Lease, LockKey, LockManager, Owner, clock::ManualClock, db::ConnectOptions};
use tenure_web::browser_key::BrowserKey;
use tenure_web::leases::{self, PARTING_GRACE};
use tokio::io::AsyncWriteExt;
use tower::ServiceExt;

struct Kit {
    locks: LockManager,
    clock: ManualClock,
    _directory: TempDir,
}

fn kim() -> Owner {
    Owner::new("kim", "Kim Minji")
}

fn lee() -> Owner {
    Owner::new("lee", "Lee Junho")
}

impl Kit {
    async fn new() -> Kit {
        let (directory, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
        let url = format!("sqlite://{}/locks.db", directory.path().display());
        let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.unwrap();
        Kit { locks: LockManager::new(&db), clock, _directory: directory }
    }

    async fn lock(&self, owner: &Owner) -> Lease {
        self.locks.try_lock(&LockKey::new("Order", "1"), owner).await.unwrap()
    }

    /// The holder, and the remaining time.
    async fn holders(&self) -> Vec<(String, Duration)> {
        let holders = self.locks.holders(&LockKey::new("Order", "1")).await.unwrap();
        holders.into_iter().map(|holder| (holder.owner.id.clone(), holder.remaining)).collect()
    }

    /// Sends a beacon; returns the status, and the code of the problem.
    async fn release(&self, who: Option<Owner>, form: &str) -> (u16, Value) {
        self.release_from(&[], who, form).await
    }

    /// As [`release`](Self::release), with headers that a browser sets.
    async fn release_from(&self, headers: &[(&str, &str)], who: Option<Owner>, form: &str) -> (u16, Value) {
        let app: Router = leases::router(self.locks.clone());
        let app = if let Some(owner) = who { app.layer(Extension(owner)) } else { app };
        let request = Request::post("/release").header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let response = app.oneshot(request.body(Body::from(form.to_owned())).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        (status, serde_json::from_slice::<Value>(&body).map(|problem| problem["code"].clone()).unwrap_or_default())
    }
}

const DONE: (u16, Value) = (204, Value::Null);

#[tokio::test]
async fn leaving_for_good_frees_the_lock_at_once() {
    let kit = Kit::new().await;
    for mode in ["", "&mode=final"] {
        let lid = kit.lock(&kim()).await.id().reveal();
        assert_eq!(kit.release(Some(kim()), &format!("lid={lid}{mode}")).await, DONE);
        assert_eq!(kit.holders().await, []);
    }
}

#[tokio::test]
async fn reloading_page_keeps_its_lock_for_the_grace() {
    let kit = Kit::new().await;
    let lease = kit.lock(&kim()).await;
    let form = format!("lid={}&mode=parting", lease.id().reveal());
    assert_eq!(kit.release(Some(kim()), &form).await, DONE);
    assert_eq!(kit.holders().await, [("kim".into(), PARTING_GRACE)]);
    // A repetition does not extend it.
    kit.clock.advance(PARTING_GRACE / 2);
    assert_eq!(kit.release(Some(kim()), &form).await, DONE);
    assert_eq!(kit.holders().await, [("kim".into(), PARTING_GRACE / 2)]);
    kit.clock.advance(PARTING_GRACE / 2);
    assert_eq!(kit.holders().await, []);
    assert_eq!(kit.release(Some(kim()), &form).await, DONE);
}

#[tokio::test]
async fn release_body_may_have_unknown_fields() {
    let kit = Kit::new().await;
    let lid = kit.lock(&kim()).await.id().reveal();
    let form = format!("lid={lid}&csrf=no&version=none&form_id=0&person=kim&idle_ms=7&mode=parting");
    assert_eq!(kit.release(Some(kim()), &form).await, DONE);
    assert_eq!(kit.holders().await, [("kim".into(), PARTING_GRACE)]);
}

#[tokio::test]
async fn release_of_a_foreign_lease_or_unsigned_ends_nothing() {
    let kit = Kit::new().await;
    let lid = kit.lock(&lee()).await.id().reveal();
    for mode in ["final", "parting"] {
        let form = format!("lid={lid}&mode={mode}");
        assert_eq!(kit.release(Some(kim()), &form).await, DONE);
        assert_eq!(kit.release(None, &form).await, (401, "session-expired".into()));
    }
    assert_eq!(kit.holders().await, [("lee".into(), Duration::from_secs(300))]);
}

#[tokio::test]
async fn cross_site_release_is_refused_without_a_layer() {
    let kit = Kit::new().await;
    let form = format!("lid={}", kit.lock(&kim()).await.id().reveal());
    let elsewhere: [&[_]; 4] = [
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site"), ("origin", "https://other.example.com"), ("host", "shop.example.com")],
        &[("origin", "https://evil.example"), ("host", "shop.example.com")],
        &[("origin", "null"), ("host", "shop.example.com")],
    ];
    for headers in elsewhere {
        let refused = kit.release_from(headers, Some(kim()), &form).await;
        assert_eq!(refused, (403, "csrf-failed".into()), "{headers:?}");
    }
    assert_eq!(kit.holders().await, [("kim".into(), Duration::from_secs(300))]);
    let here =
        [("sec-fetch-site", "same-origin"), ("origin", "https://shop.example.com"), ("host", "shop.example.com")];
    assert_eq!(kit.release_from(&here, Some(kim()), &form).await, DONE);
    assert_eq!(kit.holders().await, []);
}

#[tokio::test]
async fn invalid_lock_id_or_release_body_ends_nothing() {
    let kit = Kit::new().await;
    kit.lock(&kim()).await;
    let long = format!("lid={}", "0".repeat(100_000));
    for form in ["lid=", "lid=none", &long, &format!("lid={}", "0".repeat(64))] {
        assert_eq!(kit.release(Some(kim()), form).await, DONE, "{form}");
    }
    for form in ["", "mode=final", "lid=1&mode=maybe", "lid=1&lid=2"] {
        assert_eq!(kit.release(Some(kim()), form).await, (422, "bad-form".into()), "{form}");
    }
    assert_eq!(kit.holders().await, [("kim".into(), Duration::from_secs(300))]);
}

#[tokio::test]
async fn the_scripts_and_all_that_they_import_are_served() {
    let mut wanted = vec![String::from("tenure.js")];
    let mut served = Vec::new();
    while let Some(name) = wanted.pop() {
        if served.contains(&name) {
            continue;
        }
        let app: Router = leases::scripts("/kit");
        let request = Request::get(format!("/kit/{name}")).body(Body::empty()).unwrap();
        let response = app.oneshot(request).await.unwrap();
        assert_eq!(response.status().as_u16(), 200, "{name}");
        assert_eq!(response.headers()[CONTENT_TYPE], "text/javascript; charset=utf-8");
        // A release that changes one of them changes all of them.
        assert_eq!(response.headers()[CACHE_CONTROL], "no-cache");
        let text = String::from_utf8(to_bytes(response.into_body(), 100_000).await.unwrap().to_vec()).unwrap();
        wanted.extend(text.split("from \"./").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()));
        served.push(name);
    }
    served.sort();
    assert_eq!(served, ["form.js", "kept.js", "lease.js", "live.js", "save.js", "tenure.js", "text.js"]);
}

/// The answer to a request for new hidden fields by this person, from a page of Kim's.
async fn new_form(kit: &Kit, who: Option<Owner>) -> (u16, Value) {
    let key = BrowserKey::from_cookie(&"0a".repeat(32)).unwrap();
    let csrf = key.csrf(who.as_ref().map(|owner| &*owner.id));
    let app: Router = leases::router(kit.locks.clone());
    let app = app.layer(Extension(csrf)).layer(Extension(key));
    let app = if let Some(owner) = who { app.layer(Extension(owner)) } else { app };
    let response = app.oneshot(Request::get("/form?person=kim").body(Body::empty()).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    assert!(status != 200 || response.headers()[CACHE_CONTROL] == "no-store");
    (status, serde_json::from_slice(&to_bytes(response.into_body(), 10_000).await.unwrap()).unwrap())
}

#[tokio::test]
async fn new_form_has_the_lock_id_of_its_form_in_this_browser() {
    let kit = Kit::new().await;
    let (status, first) = new_form(&kit, Some(kim())).await;
    let (_, second) = new_form(&kit, Some(kim())).await;
    let key = BrowserKey::from_cookie(&"0a".repeat(32)).unwrap();
    let form = first["fields"]["form_id"].as_str().unwrap().parse().unwrap();
    assert_eq!((status, first["fields"]["lid"].as_str()), (200, Some(&*key.lock_id("kim", form).reveal())));
    assert_eq!(first["fields"]["csrf"], key.csrf(Some("kim")).to_string());
    assert_ne!(first["fields"]["form_id"], second["fields"]["form_id"]);
    assert_eq!(kit.holders().await, [], "it is not acquired yet");
}

#[tokio::test]
async fn new_form_is_only_for_the_person_of_the_page() {
    let kit = Kit::new().await;
    for (who, status, code) in [(None, 401, "session-expired"), (Some(lee()), 409, "other-person")] {
        let (found, problem) = new_form(&kit, who).await;
        assert_eq!((found, &problem["code"]), (status, &Value::from(code)));
    }
}

/// A page that sends its release and closes at once: the server drops the request when it notices.
#[tokio::test]
async fn page_that_closes_at_once_still_releases() {
    let kit = Kit::new().await;
    let locks = kit.locks.clone();
    // As a session that is read from a database: the connection is closed before the person is known.
    let identify = move |mut request: axum::extract::Request, next: axum::middleware::Next| {
        let locks = locks.clone();
        async move {
            for _ in 0..20 {
                locks.holders(&LockKey::new("Session", "1")).await.unwrap();
            }
            request.extensions_mut().insert(kim());
            next.run(request).await
        }
    };
    let app: Router = leases::router(kit.locks.clone());
    let app = app.layer(from_fn(identify)).layer(from_fn(leases::to_its_end));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    for mode in ["final", "parting"] {
        let lid = kit.lock(&kim()).await.id().reveal();
        let form = format!("lid={lid}&mode={mode}");
        let head = "POST /release HTTP/1.1\r\nhost: shop\r\ncontent-type: application/x-www-form-urlencoded";
        let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{form}", form.len());
        let mut page = tokio::net::TcpStream::connect(address).await.unwrap();
        page.write_all(request.as_bytes()).await.unwrap();
        drop(page);
        let next = kit.locks.lock(&LockKey::new("Order", "1"), &lee());
        let released = async {
            while kit.holders().await.iter().any(|(_, remaining)| *remaining > PARTING_GRACE) {
                tokio::task::yield_now().await;
            }
            kit.clock.advance(PARTING_GRACE);
            next.within(Duration::from_secs(30)).await.unwrap()
        };
        let released = tokio::time::timeout(Duration::from_secs(30), released).await.expect("it is released");
        kit.locks.release_lock(released.id()).await.unwrap();
    }
}
