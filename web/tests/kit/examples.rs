//! The example with two browsers: it behaves as its first page says.

#[allow(dead_code, reason = "its `main` listens on a port")]
#[path = "../../examples/documents.rs"]
mod documents;

#[path = "../../examples/chapter.rs"]
mod chapter;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{ACCEPT, CONTENT_TYPE, COOKIE, SET_COOKIE};
use axum::http::{Request, Response};
use serde_json::Value;
use tempfile::TempDir;
use tenure::Database;
use tower::ServiceExt;

/// A browser with a person who is signed in.
struct Browser {
    app: Router,
    cookies: String,
}

/// The hidden fields of a form, as they are posted.
struct Form(Vec<(&'static str, String)>);

async fn two_browsers() -> (Browser, Browser, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::connect(&format!("sqlite://{}/documents.db", directory.path().display())).await.unwrap();
    documents::prepare(&db).await.unwrap();
    let app = documents::app(&db);
    let (kim, lee) = (Browser::of(&app, "kim").await, Browser::of(&app, "lee").await);
    (kim, lee, directory)
}

async fn body(response: Response<Body>) -> String {
    String::from_utf8(to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap()
}

impl Browser {
    async fn of(app: &Router, person: &str) -> Browser {
        let request = Request::get(format!("/sign-in?as={person}")).body(Body::empty()).unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        let set = response.headers().get_all(SET_COOKIE).iter();
        let cookies: Vec<_> =
            set.map(|cookie| cookie.to_str().unwrap().split(';').next().unwrap().to_owned()).collect();
        Browser { app: app.clone(), cookies: cookies.join("; ") }
    }

    async fn get(&self, path: &str) -> String {
        let request = Request::get(path).header(COOKIE, &self.cookies).body(Body::empty()).unwrap();
        let response = self.app.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        body(response).await
    }

    async fn open(&self) -> Form {
        let page = self.get("/documents/menu").await;
        let value = |name: &str| {
            let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
            rest.split_once('"').unwrap().0.to_owned()
        };
        Form(["csrf", "person", "form_id", "lid", "version"].map(|name| (name, value(name))).to_vec())
    }

    /// As the page's script does: the status, and the JSON.
    async fn post(&self, path: &str, form: &Form, more: &[(&'static str, &str)]) -> (u16, Value) {
        let more = more.iter().map(|(name, value)| (*name, (*value).to_owned()));
        let fields: Vec<_> =
            form.0.iter().cloned().chain(more).map(|(name, value)| format!("{name}={value}")).collect();
        let request = Request::post(path).header(COOKIE, &self.cookies).header(ACCEPT, "application/json");
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let response = self.app.clone().oneshot(request.body(Body::from(fields.join("&"))).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let text = body(response).await;
        (status, if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() })
    }

    async fn first_change(&self, form: &Form) -> (u16, Value) {
        self.post("/documents/menu/beat", form, &[("want", "take")]).await
    }

    async fn save(&self, form: &Form, text: &str) -> (u16, Value) {
        self.post("/documents/menu", form, &[("text", text)]).await
    }
}

#[tokio::test]
async fn second_browser_is_told_who_is_writing() {
    let (kim, lee, _directory) = two_browsers().await;
    let (kims, lees) = (kim.open().await, lee.open().await);
    assert_eq!(kim.first_change(&kims).await.1["mode"], "held");
    let (status, told) = lee.first_change(&lees).await;
    assert_eq!((status, &told["mode"], &told["said"]), (200, &"refused".into(), &"Kim Minji is writing.".into()));
    assert!(lee.get("/").await.contains("Kim Minji is writing."));
    assert_eq!(lee.save(&lees, "Lee").await.0, 423);

    // Kim saves, and the lock is free. Lee's text is for the older version.
    assert_eq!(kim.save(&kims, "Kim").await.0, 200);
    let (status, problem) = lee.save(&lees, "Lee").await;
    assert_eq!((status, &problem["code"]), (409, &"version-conflict".into()));
    assert!(problem["detail"].as_str().unwrap().contains("Kim Minji"));
    assert!(lee.get("/documents/menu").await.contains(">Kim</textarea>"));
}

#[tokio::test]
async fn left_page_frees_its_document() {
    let (kim, lee, _directory) = two_browsers().await;
    let (kims, lees) = (kim.open().await, lee.open().await);
    kim.first_change(&kims).await;
    assert_eq!(kim.post("/tenure/release", &kims, &[("mode", "final")]).await.0, 204);
    assert_eq!(lee.first_change(&lees).await.1["mode"], "held");
}

#[tokio::test]
async fn page_without_scripts_is_saved_by_its_version() {
    let (kim, lee, _directory) = two_browsers().await;
    let (kims, lees) = (kim.open().await, lee.open().await);
    assert_eq!(kim.save(&kims, "Kim").await.0, 200);
    assert_eq!(lee.save(&lees, "Lee").await.0, 409);
}

#[tokio::test]
async fn form_that_is_sent_twice_saves_once() {
    let (kim, lee, _directory) = two_browsers().await;
    let kims = kim.open().await;
    kim.first_change(&kims).await;
    let first = kim.save(&kims, "Kim").await;
    let lees = lee.open().await;
    assert_eq!(lee.save(&lees, "Lee").await.0, 200);
    assert_eq!(kim.save(&kims, "Kim").await, first);
    assert_eq!(kim.save(&kims, "Other text").await.0, 409, "it was not saved, and the answer does not claim it");
    assert!(kim.get("/documents/menu").await.contains(">Lee</textarea>"));
}

#[tokio::test]
async fn form_of_another_browser_is_refused() {
    let (kim, lee, _directory) = two_browsers().await;
    let kims = kim.open().await;
    assert_eq!(lee.save(&kims, "Lee").await.0, 403);
    assert!(kim.get("/documents/menu").await.contains(">Bibimbap 9,000</textarea>"));
}

#[tokio::test]
async fn somebody_who_is_not_signed_in_changes_nothing() {
    let (kim, _lee, _directory) = two_browsers().await;
    let nobody = Browser::of(&kim.app, "nobody").await;
    let request = Request::get("/documents/menu").header(COOKIE, &nobody.cookies).body(Body::empty()).unwrap();
    assert_eq!(kim.app.clone().oneshot(request).await.unwrap().status(), 303);
    assert_eq!(nobody.save(&kim.open().await, "Nobody").await.0, 403, "the form is of another browser");
    assert!(kim.get("/documents/menu").await.contains(">Bibimbap 9,000</textarea>"));
}

#[test]
fn every_listing_of_the_chapter_runs() {
    chapter::main().unwrap();
}
