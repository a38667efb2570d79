//! The script on forms that are not the shop's: it submits as the browser would, and knows other pages' fields and gateways.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{any, get};
use browser::{Person, Story};
use serde_json::json;
use tokio::net::TcpListener;

/// What another application does: its pages, what was sent to it, and how its heartbeats are answered.
#[derive(Clone, Default)]
struct Elsewhere {
    sent: Arc<Mutex<Vec<Sent>>>,
    released: Arc<Mutex<Vec<String>>>,
    gateway: Arc<Mutex<Option<Gateway>>>,
}

/// A form that arrived.
#[derive(Debug, Clone, PartialEq)]
struct Sent {
    method: String,
    address: String,
    kind: String,
    body: String,
}

/// How a gateway answers whose own session has ended.
#[derive(Clone, Copy)]
enum Gateway {
    Page(u16),
    Empty(u16),
    Redirect,
    /// JSON of its own.
    Json,
    /// Not a gateway's, but the application's own.
    Problem,
}

/// A page with this form in it.
fn page(form: &str) -> String {
    format!(
        "<!doctype html><title>Elsewhere</title><main data-state=''>{form}</main><script type=module src=/tenure/tenure.js></script>"
    )
}

/// A form of an application that checks no token of its own.
const WITHOUT_A_TOKEN: &str = "{\"fields\":{\"csrf\":null,\"form_id\":\"f2\",\"lid\":\"l2\"}}";

const HIDDEN: &str = "<input type=hidden name=csrf value=c><input type=hidden name=person value=kim>
    <input type=hidden name=form_id value=f1><input type=hidden name=lid value=l1><input type=hidden name=version value=v1>
    <div data-tenure-banner hidden><p data-tenure-status></p><a data-tenure-signin href=/gate hidden>Sign in</a>
    <div hidden data-tenure-texts data-text-free='No connection.' data-text-free-signed-out='Signed out.'
      data-text-offline='No connection.' data-text-signed-out='Signed out.' data-text-saving='Saving' data-text-failed='It was not saved.'
      data-text-unknown='No answer yet.' data-text-unsent='Not sent yet.' data-text-busy='Busy.'></div></div>";

/// The opening tag of a form of Kim's, with these further attributes.
fn form(attributes: &str) -> String {
    format!(
        "<form autocomplete=off data-tenure-form='document menu' data-person=kim data-beat=/beat data-release=/release data-fresh=/fresh \
         data-acquire=first-edit data-restore=/restore {attributes}>{HIDDEN}"
    )
}

async fn shows(Path(name): Path<String>) -> Html<String> {
    let save = "<button id=save>Save</button></form>";
    let text = "<textarea name=text>Bibimbap</textarea>";
    Html(page(&match &*name {
        "dialog" => {
            let own = form("method=post action=/save");
            format!("<dialog open>{own}{text}<button id=cancel formmethod=dialog>Cancel</button>{save}</dialog>")
        }
        "get" => format!(
            "{}{text}<button id=find formmethod=get formaction=/found>Find</button>{save}",
            form("method=post action=/save")
        ),
        "no-action" => format!("{}{text}{save}", form("method=post")),
        "file" => {
            let own = form("method=post action=/save enctype=multipart/form-data");
            format!("{own}{text}<input type=file name=photo>{save}")
        }
        "file-name" => format!("{}{text}<input type=file name=photo>{save}", form("method=post action=/save")),
        "window" => format!("{}{text}{save}", form("method=post action=/save target=preview")),
        "fragment" => format!("{}{text}{save}", form("method=post action=/save-here")),
        "rich-text" => {
            let editor = "<input type=hidden name=text id=body data-tenure-text value='Bibimbap'>
                <div id=editor contenteditable>Bibimbap</div>
                <script>editor.oninput = () => (body.value = editor.textContent);
                  body.onchange = () => (editor.textContent = body.value)</script>";
            format!("{}{editor}{save}", form("method=post action=/save"))
        }
        "clock" => {
            let clock =
                "<input name=now id=now><script>setInterval(() => (now.value = performance.now()), 50)</script>";
            format!("{}{text}{clock}{save}", form("method=post action=/save"))
        }
        "stays" => format!("{}{text}{save}", form("method=post action=/save-and-stay")),
        "links" => {
            let links = "<a id=preview data-tenure-drop target=_blank href=/done>Preview</a> <a id=leave data-tenure-drop href=/done>Leave</a>";
            format!("{}{text}{links}{save}", form("method=post action=/save"))
        }
        "shadowed-name" => {
            let names =
                ["dataset", "elements", "action", "method", "closest", "querySelector", "contains", "target", "hidden"];
            let fields: String = names.map(|name| format!("<input name={name} value=1>")).concat();
            format!(
                "{}{fields}<input name=toString value=1><input name=__proto__ value=1>{text}{save}",
                form("method=post action=/save")
            )
        }
        _ => format!("{}{text}{save}", form("method=post action=/save")),
    }))
}

async fn receives(
    State(elsewhere): State<Elsewhere>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let text = |name| headers.get(&name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let body = String::from_utf8_lossy(&body).into_owned();
    if uri.path() == "/release" {
        elsewhere.released.lock().expect("no panic").push(body.clone());
    }
    let is_form = !["/beat", "/release", "/fresh", "/favicon.ico", "/gate", "/done"].contains(&uri.path());
    if is_form {
        let sent = Sent { method: method.to_string(), address: uri.to_string(), kind: text(CONTENT_TYPE), body };
        elsewhere.sent.lock().expect("no panic").push(sent);
    }
    match *elsewhere.gateway.lock().expect("no panic") {
        Some(Gateway::Page(status)) if uri.path() != "/gate" => {
            return (StatusCode::from_u16(status).expect("a status"), Html("<p>Please sign in")).into_response();
        }
        Some(Gateway::Empty(status)) if uri.path() != "/gate" => {
            return StatusCode::from_u16(status).expect("a status").into_response();
        }
        Some(Gateway::Redirect) if uri.path() != "/gate" => {
            return (StatusCode::FOUND, [(LOCATION, "/gate")]).into_response();
        }
        Some(Gateway::Json) if uri.path() != "/gate" => return axum::Json(json!({ "ok": true })).into_response(),
        Some(Gateway::Problem) if uri.path() == "/beat" => {
            let problem = json!({ "title": "Only Kim writes this", "status": 403, "code": "forbidden" });
            return (StatusCode::FORBIDDEN, axum::Json(problem)).into_response();
        }
        _ => {}
    }
    if uri.path() == "/fresh" {
        return ([(CONTENT_TYPE, "application/json")], WITHOUT_A_TOKEN).into_response();
    }
    if uri.path() == "/beat" {
        return axum::Json(json!({
            "mode": "held", "state": "", "said": "You have it.", "actions": ["save"], "expires_in_ms": 300_000, "generation": null,
            "person": "kim", "next": null
        }))
        .into_response();
    }
    if !text(ACCEPT).contains("json") {
        return Html("<p id=arrived>Arrived").into_response();
    }
    if uri.path() == "/save-and-stay" {
        return axum::Json(json!({ "next": "/done", "done": true, "version": "v2" })).into_response();
    }
    let next = if uri.path() == "/save-here" { "/fragment#saved" } else { "/done" };
    axum::Json(json!({ "next": next, "done": true })).into_response()
}

impl Elsewhere {
    /// Opens the application; returns its address.
    async fn opens() -> (Elsewhere, String) {
        let elsewhere = Elsewhere::default();
        let pages = [
            "dialog",
            "get",
            "no-action",
            "file",
            "file-name",
            "window",
            "fragment",
            "rich-text",
            "shadowed-name",
            "plain",
            "clock",
            "links",
            "stays",
        ];
        let router = pages.into_iter().fold(Router::new(), |router, name| {
            router.route(&format!("/{name}"), get(move || shows(Path(name.to_owned()))).post(receives))
        });
        let router =
            router.fallback(any(receives)).with_state(elsewhere.clone()).merge(tenure_web::leases::scripts("/tenure"));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("its own address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        (elsewhere, address)
    }

    fn released(&self) -> Vec<String> {
        self.released.lock().expect("no panic").clone()
    }

    fn sent(&self) -> Vec<Sent> {
        self.sent.lock().expect("no panic").clone()
    }
}

/// Kim has opened this page and typed into it.
async fn kim_types(story: &Story, name: &str) -> (Elsewhere, Person) {
    let (elsewhere, address) = Elsewhere::opens().await;
    let kim = story.visitor().await;
    kim.visits(&format!("{address}/{name}")).await;
    kim.sees("form[data-tenure-state]").await;
    if name != "rich-text" {
        kim.types("[name=text]", "Bibimbap\nKimchi").await;
        kim.sees("form[data-tenure-state=held]").await;
    }
    (elsewhere, kim)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_dialog_saves_nothing() {
    let story = Story::begin().await;
    let (elsewhere, kim) = kim_types(&story, "dialog").await;
    kim.clicks("#cancel").await;
    kim.waits_until("!document.querySelector('dialog').open").await;
    assert_eq!(elsewhere.sent(), []);
    assert_eq!(kim.complaints().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_without_an_action_is_sent_to_its_own_page() {
    let story = Story::begin().await;
    let (elsewhere, kim) = kim_types(&story, "no-action").await;
    kim.clicks("#save").await;
    kim.waits_until("location.pathname === '/done'").await;
    assert_eq!((&*elsewhere.sent()[0].method, &*elsewhere.sent()[0].address), ("POST", "/no-action"));
    assert!(elsewhere.sent()[0].body.contains("text=Bibimbap%0D%0AKimchi"), "lines end as the browser ends them");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_sent_in_parts_or_as_its_name() {
    let story = Story::begin().await;
    for (name, kind, part) in [
        ("file", "multipart/form-data", "filename=\"menu.txt\"\r\nContent-Type: text/plain\r\n\r\nPhoto of the menu"),
        ("file-name", "application/x-www-form-urlencoded", "photo=menu.txt"),
    ] {
        let (elsewhere, kim) = kim_types(&story, name).await;
        let chosen =
            "((field, files) => (files.items.add(new File(['Photo of the menu'], 'menu.txt', { type: 'text/plain' })),
            field.files = files.files, null))(document.querySelector('[name=photo]'), new DataTransfer())";
        kim.finds::<()>(chosen).await;
        kim.clicks("#save").await;
        kim.waits_until("location.pathname === '/done'").await;
        let sent = &elsewhere.sent()[0];
        assert!(sent.kind.starts_with(kind) && sent.body.contains(part), "{sent:?}");
        assert!(sent.body.contains("Bibimbap\r\nKimchi") || sent.body.contains("Bibimbap%0D%0AKimchi"), "{sent:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_and_another_window_are_left_to_the_browser() {
    let story = Story::begin().await;
    let (elsewhere, kim) = kim_types(&story, "get").await;
    kim.clicks("#find").await;
    kim.waits_until("location.pathname === '/found'").await;
    assert!(elsewhere.sent()[0].method == "GET" && elsewhere.sent()[0].address.contains("text=Bibimbap"));
    let (elsewhere, kim) = kim_types(&story, "window").await;
    kim.clicks("#save").await;
    kim.turns_to_tab(1).await;
    kim.sees("#arrived").await;
    assert_eq!(&*elsewhere.sent()[0].address, "/save");
    kim.turns_to_tab(0).await;
    kim.sees("form[data-tenure-state=held]").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_leads_to_a_fragment_of_the_page_loads_it() {
    let story = Story::begin().await;
    let (elsewhere, kim) = kim_types(&story, "fragment").await;
    kim.finds::<()>("(window.isBefore = true, null)").await;
    kim.clicks("#save").await;
    kim.waits_until(
        "!window.isBefore && location.hash === '#saved' && document.querySelector('form[data-tenure-state]')",
    )
    .await;
    assert_eq!(elsewhere.sent().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn rich_text_takes_the_lock_and_comes_back_as_a_draft() {
    let story = Story::begin().await;
    let (elsewhere, kim) = kim_types(&story, "rich-text").await;
    kim.clicks("#editor").await;
    kim.presses(browser::Key::End + ", Kimchi").await;
    kim.sees("form[data-tenure-state=held]").await;
    assert_eq!(kim.drafts().await, 1);
    kim.reloads().await;
    kim.waits_until("document.querySelector('#editor').textContent === 'Bibimbap, Kimchi'").await;
    kim.clicks("#save").await;
    kim.waits_until("location.pathname === '/done'").await;
    assert!(elsewhere.sent()[0].body.contains("text=Bibimbap%2C+Kimchi"), "{:?}", elsewhere.sent());
    assert_eq!(kim.drafts().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_may_have_the_names_of_properties() {
    let story = Story::begin().await;
    let (elsewhere, kim) = kim_types(&story, "shadowed-name").await;
    assert_eq!(kim.drafts().await, 1);
    kim.clicks("#save").await;
    kim.waits_until("location.pathname === '/done'").await;
    assert!(
        elsewhere.sent()[0].address == "/save" && elsewhere.sent()[0].body.contains("dataset=1&elements=1&action=1")
    );
    assert_eq!(kim.complaints().await, [""; 0]);
}

/// Saves, with an answer that arrives when [`is_answered`] says so.
async fn saves_slowly(kim: &Person) {
    let slow = "(window.send = fetch, window.fetch = (url, options) => !/save/.test(url) ? send(url, options)
        : send(url, options).then((answer) => new Promise((go) => (window.arrive = () => go(answer)))), null)";
    kim.finds::<()>(slow).await;
    kim.clicks("#save").await;
    kim.waits_until("window.arrive").await;
}

async fn is_answered(kim: &Person) {
    kim.finds::<()>("(window.arrive(), null)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_the_page_changes_is_not_typed() {
    let story = Story::begin().await;
    let (elsewhere, kim) = kim_types(&story, "clock").await;
    saves_slowly(&kim).await;
    kim.finds::<()>("(window.then = document.querySelector('#now').value, null)").await;
    kim.waits_until("document.querySelector('#now').value !== window.then").await;
    is_answered(&kim).await;
    kim.waits_until("location.pathname === '/done'").await;
    assert_eq!((elsewhere.sent().len(), kim.drafts().await), (1, 0), "all that was typed is saved");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_stays_keeps_the_token_that_the_server_does_not_give() {
    let story = Story::begin().await;
    let (_elsewhere, kim) = kim_types(&story, "stays").await;
    saves_slowly(&kim).await;
    kim.clicks("[name=text]").await;
    kim.presses("!").await;
    is_answered(&kim).await;
    kim.waits_until("document.querySelector('[name=version]').value === 'v2'").await;
    let hidden = "['csrf', 'form_id', 'lid'].map((name) => document.querySelector(`[name=${name}]`).value)";
    assert_eq!(kim.finds::<Vec<String>>(hidden).await, ["c", "f2", "l2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_another_tab_leaves_nothing_and_a_link_away_releases() {
    let story = Story::begin().await;
    let (elsewhere, kim) = kim_types(&story, "links").await;
    kim.clicks("#preview").await;
    kim.turns_to_tab(1).await;
    kim.turns_to_tab(0).await;
    kim.sees("form[data-tenure-state=held]").await;
    assert_eq!((elsewhere.released(), kim.drafts().await), (Vec::new(), 1));
    kim.clicks("#leave").await;
    kim.waits_until("location.pathname === '/done'").await;
    let released = elsewhere.released();
    assert!(
        released.len() == 1 && released[0].contains("lid=l1") && released[0].contains("mode=final"),
        "{released:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_problem_without_a_detail_says_its_title() {
    let story = Story::begin().await;
    let (elsewhere, kim) = kim_types(&story, "plain").await;
    *elsewhere.gateway.lock().expect("no panic") = Some(Gateway::Problem);
    kim.looks_away_and_back().await;
    kim.sees("form[data-tenure-state=lost]").await;
    assert_eq!(kim.reads("[data-tenure-status]").await, "Only Kim writes this");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_whose_session_ended_is_signed_out() {
    let story = Story::begin().await;
    let answers = [Gateway::Page(401), Gateway::Empty(401), Gateway::Page(403), Gateway::Redirect];
    for answer in answers {
        let (elsewhere, kim) = kim_types(&story, "plain").await;
        *elsewhere.gateway.lock().expect("no panic") = Some(answer);
        kim.looks_away_and_back().await;
        kim.sees("[data-tenure-signin]").await;
        assert_eq!(kim.reads("[data-tenure-status]").await, "Signed out.");
        kim.clicks("#save").await;
        kim.sees("form:not([data-tenure-state=saving]) [data-tenure-signin]").await;
        assert_eq!(kim.value("[name=text]").await, "Bibimbap\nKimchi");
        *elsewhere.gateway.lock().expect("no panic") = None;
        kim.clicks("#save").await;
        kim.waits_until("location.pathname === '/done'").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_ours_keeps_the_text() {
    let story = Story::begin().await;
    for (answer, told) in [
        (Gateway::Page(500), "It was not saved."),
        (Gateway::Page(413), "It was not saved."),
        (Gateway::Page(200), "No answer yet."),
        (Gateway::Json, "No answer yet."),
        (Gateway::Page(503), "Busy."),
    ] {
        let (elsewhere, kim) = kim_types(&story, "plain").await;
        *elsewhere.gateway.lock().expect("no panic") = Some(answer);
        kim.looks_away_and_back().await;
        kim.sees("form[data-tenure-state=offline]").await;
        kim.clicks("#save").await;
        kim.waits_until(&format!("document.querySelector('[data-tenure-status]').textContent === '{told}'")).await;
        assert_eq!(kim.value("[name=text]").await, "Bibimbap\nKimchi");
        assert_eq!(kim.drafts().await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_typed_after_back_to_a_form_that_was_left_is_kept() {
    let story = Story::begin().await;
    let (_elsewhere, kim) = kim_types(&story, "links").await;
    kim.finds::<()>("(window.isBefore = true, null)").await;
    kim.clicks("#leave").await;
    kim.waits_until("location.pathname === '/done'").await;
    kim.goes_back().await;
    kim.waits_until("window.isBefore").await;
    kim.sees("form[data-tenure-state=held]").await;
    kim.clicks("[name=text]").await;
    kim.presses(", Mandu").await;
    let kept = "Object.values(localStorage).some((draft) => draft.includes('Mandu') && !JSON.parse(draft).dropped)";
    kim.waits_until(kept).await;
}
