//! Documents on axum: each has a version, and its form holds a lock from the first change on.
//!
//! ```text
//! cargo run -p tenure-web --example documents
//! ```
//!
//! Open the printed address in two browsers (or one of them in a private window), as Kim and as Lee. Open the same document in both
//! and type in one: the other shows the writer's name, without a reload. Close that page, and the other may write. Then change the document
//! in one browser with scripts switched off, and save in the other: the save is refused, with the name of the first writer.

#![allow(missing_docs, reason = "an example")]

use std::error::Error;

use axum::extract::{Path, Query, Request, State};
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde::Deserialize;
use tenure::error::{DatabaseError, UpdateError};
use tenure::lease::Acquire;
use tenure::{Aggregate, Database, LockId, LockKey, LockManager, LockPolicy, Owner, Repository, VersionToken, sqlx};
use tenure_web::beat::{Beat, HeartbeatResponse};
use tenure_web::browser_key::BrowserKey;
use tenure_web::csrf::{CsrfForm, CsrfToken};
use tenure_web::form_id::FormId;
use tenure_web::leases;
use tenure_web::problem::Problem;
use tenure_web::sent::{Sent, is_script};
use tenure_web::verdict::{Facts, Verdict, decide};

#[derive(Aggregate)]
#[aggregate(table = "document", revisions = 20)]
struct Document {
    #[aggregate(id)]
    id: String,
    text: String,
}

#[derive(Debug)]
struct TooLong;

impl Document {
    fn write(&mut self, text: &str) -> Result<(), TooLong> {
        if text.len() > 10_000 {
            return Err(TooLong);
        }
        self.text = text.into();
        Ok(())
    }
}

#[derive(Clone)]
struct Documents {
    db: Database,
    documents: Repository<Document>,
    locks: LockManager,
}

/// The tables and two documents.
pub async fn prepare(db: &Database) -> Result<(), tenure::Error> {
    let mut tx = db.begin().await?;
    let tables = "create table document (id text primary key, text text, version integer);
        create table saved_form (form_id text primary key, text text);";
    sqlx::raw_sql(tables).execute(tx.sqlite()?).await.map_err(DatabaseError::other)?;
    let documents = Repository::<Document>::new(db);
    for (id, text) in [("menu", "Bibimbap 9,000"), ("news", "Closed on Mondays")] {
        documents.insert(&mut tx, Document { id: id.into(), text: text.into() }).await?;
    }
    tx.commit().await
}

/// The whole application.
pub fn app(db: &Database) -> Router {
    let policy = LockPolicy::exclusive().acquiring(Acquire::OnFirstEdit);
    let locks = LockManager::new(db).with_policy_for::<Document>(policy);
    let state = Documents { db: db.clone(), documents: Repository::new(db), locks: locks.clone() };
    Router::new()
        .route("/", get(list))
        .route("/documents/{id}", get(edit).post(save))
        .route("/documents/{id}/beat", post(beat))
        .with_state(state)
        .nest("/tenure", leases::router(locks)) // POST /tenure/release
        .route("/sign-in", get(sign_in))
        .layer(from_fn(session))
        .merge(leases::scripts("/tenure")) // GET /tenure/tenure.js
}

/// Who is asking, and from which browser. A real application has sign-in sessions here.
async fn session(mut request: Request, next: Next) -> Response {
    let known = cookie(request.headers(), "browser").and_then(|text| BrowserKey::from_cookie(&text));
    let (key, is_new) = (known.clone().unwrap_or_else(BrowserKey::random), known.is_none());
    let owner = match cookie(request.headers(), "person").as_deref() {
        Some("kim") => Some(Owner::new("kim", "Kim Minji")),
        Some("lee") => Some(Owner::new("lee", "Lee Junho")),
        _ => None,
    };
    let csrf: CsrfToken = key.csrf(owner.as_ref().map(|owner| &*owner.id));
    let new_key = format!("browser={}; Path=/; HttpOnly; SameSite=Lax", key.reveal());
    request.extensions_mut().insert(csrf);
    request.extensions_mut().insert(key);
    if let Some(owner) = owner {
        request.extensions_mut().insert(owner);
    }
    let mut response = next.run(request).await;
    if is_new && let Ok(value) = new_key.parse() {
        response.headers_mut().append(SET_COOKIE, value);
    }
    response
}

fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    lines
        .flat_map(|line| line.split("; "))
        .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        .map(str::to_owned)
}

#[derive(Deserialize)]
struct As {
    r#as: String,
}

async fn sign_in(Query(As { r#as: person }): Query<As>) -> Response {
    let known = ["kim", "lee"].into_iter().find(|known| *known == person).unwrap_or_default();
    ([(SET_COOKIE, format!("person={known}; Path=/; HttpOnly; SameSite=Lax"))], Redirect::to("/")).into_response()
}

/// A list asks once for all holders, and shows the same verdict as the forms do.
async fn list(State(state): State<Documents>, me: Option<Extension<Owner>>) -> Result<Html<String>, Problem> {
    let Some(Extension(me)) = me else {
        return Ok(Html("<a href='/sign-in?as=kim'>I am Kim</a> <a href='/sign-in?as=lee'>I am Lee</a>".into()));
    };
    let mut page = format!("<h1>Documents of {}</h1><ul>", escape(&me.name));
    let ids = sqlx::query_scalar::<_, String>("select id from document order by id").fetch_all(state.db.sqlite()?);
    for id in ids.await.map_err(DatabaseError::other)? {
        let holders = state.locks.acting_for(&me).holders(&LockKey::of::<Document>(&id)).await?;
        let said = said(&decide(&me, Facts::of_a_look(None, holders)));
        page += &format!("<li><a href='/documents/{id}'>{id}</a> {}</li>", escape(&said));
    }
    Ok(Html(page + "</ul>"))
}

async fn edit(
    State(state): State<Documents>,
    Path(id): Path<String>,
    me: Option<Extension<Owner>>,
    Extension(key): Extension<BrowserKey>,
) -> Result<Response, Problem> {
    let Some(Extension(me)) = me else { return Ok(Redirect::to("/").into_response()) };
    let document = state.documents.get(&id).await?.ok_or_else(no_document)?;
    let (form, token, csrf) = (FormId::random(), document.token(), key.csrf(Some(&me.id)));
    let (id, text, me_id) = (escape(&document.id), escape(&document.text), escape(&me.id));
    let lid = key.lock_id(&me.id, form).reveal();
    let page = format!(
        r#"<!doctype html><title>{id}</title><main data-state="">
<form method="post" action="/documents/{id}" autocomplete="off" data-tenure-form="document {id}" data-person="{me_id}"
  data-beat="/documents/{id}/beat" data-release="/tenure/release" data-fresh="/tenure/form" data-acquire="first-edit" data-mode="free">
  <input type="hidden" name="csrf" value="{csrf}"> <input type="hidden" name="person" value="{me_id}">
  <input type="hidden" name="form_id" value="{form}"> <input type="hidden" name="lid" value="{lid}">
  <input type="hidden" name="version" value="{token}">
  <div data-tenure-banner hidden><p data-tenure-status role="status"></p>
    <button type="button" data-tenure-action="retry" hidden>Try again</button>
    <button type="button" data-tenure-action="move" hidden>Continue here</button></div>
  <textarea name="text" rows="9" cols="70">{text}</textarea>
  <button data-tenure-action="save">Save</button> <a href="/" data-tenure-drop>Do not save</a>
</form></main><script type="module" src="/tenure/tenure.js"></script>"#
    );
    Ok(Html(page).into_response())
}

/// POST /documents/{id}/beat: the address in the form's `data-beat`.
async fn beat(
    State(state): State<Documents>,
    Path(id): Path<String>,
    beat: Beat<Document>,
) -> Result<Json<HeartbeatResponse>, Problem> {
    let facts = beat.facts(&state.locks, &state.documents, &id, false, |_| None::<&str>).await?;
    let verdict = decide(beat.owner(), facts);
    let buttons = match &verdict {
        Verdict::Taken { .. } | Verdict::Ended { .. } => vec!["retry"],
        Verdict::Elsewhere { .. } => vec!["move"],
        _ => vec!["save"],
    };
    Ok(Json(HeartbeatResponse::new(beat.owner(), &verdict).said(said(&verdict)).actions(buttons)))
}

/// The words of this application, for lists and forms.
fn said(verdict: &Verdict<&str>) -> String {
    let by = |change: &Option<tenure::version::Change>| {
        change.as_ref().and_then(|change| change.by.as_ref()).map_or("Somebody", |by| &by.name).to_owned()
    };
    match verdict {
        Verdict::Taken { holder, .. } => format!("{} is writing.", holder.owner.name),
        Verdict::Elsewhere { .. } => "You are writing in another tab.".into(),
        Verdict::Outdated { moved, .. } => format!("{} has saved since. A save will compare.", by(&moved.change)),
        Verdict::Ended { .. } => "Your lock has ended. Your text is still here.".into(),
        _ => String::new(),
    }
}

#[derive(Deserialize)]
struct Save {
    person: String,
    form_id: String,
    lid: String,
    version: VersionToken<Document>,
    text: String,
}

async fn save(
    State(state): State<Documents>,
    Path(id): Path<String>,
    me: Option<Extension<Owner>>,
    headers: HeaderMap,
    CsrfForm(form): CsrfForm<Save>,
) -> Result<Response, Problem> {
    let Some(Extension(me)) = me else {
        return Err(Problem::new(401, "session-expired", "Signed out").action("sign-in"));
    };
    if form.person != me.id {
        return Err(Problem::new(409, "other-person", "Somebody else is signed in").detail("Sign in again as before."));
    }
    let form_id = form.form_id.parse::<FormId>().map_err(|_| bad_form())?;
    let lid = form.lid.parse::<LockId>().map_err(|_| bad_form())?;
    // A form that acquired the lock needs it. One that never did, because the page had no scripts, is saved by its version.
    let update = state.documents.update(&id).by(&me).command("write").from_form(form.version, Some(&lid));
    let once = update.also(move |mut tx, document| async move {
        let row = sqlx::query("insert or replace into saved_form (form_id, text) values (?, ?)");
        row.bind(form_id.to_string()).bind(&document.text).execute(tx.sqlite()?).await?;
        Ok(())
    });
    let saved = once.run(|document| document.write(&form.text)).await;
    match saved {
        Ok(_) => {}
        // The script repeats a request without an answer: the first save is the answer to all that sent the same text. Where this cannot be
        // told either, the error of the save is the answer: it may say that the outcome is unknown.
        Err(_) if is_saved(&state.db, form_id, &form.text).await.unwrap_or(false) => {}
        Err(UpdateError::Refused(TooLong)) => {
            return Err(
                Problem::new(422, "too-long", "It is too long").detail("Shorten it to 10,000 bytes. It is still here.")
            );
        }
        Err(UpdateError::Failed(error)) => {
            let detail = error.to_string();
            return Err(Problem::from(error).detail(detail));
        }
    }
    Ok(Sent::done("/").answer(is_script(&headers)))
}

async fn is_saved(db: &Database, form: FormId, text: &str) -> Result<bool, Problem> {
    let rows = sqlx::query("select 1 from saved_form where form_id = ? and text = ?").bind(form.to_string()).bind(text);
    Ok(rows.fetch_optional(db.sqlite()?).await.map_err(DatabaseError::other)?.is_some())
}

fn no_document() -> Problem {
    Problem::new(StatusCode::NOT_FOUND.as_u16(), "not-found", "There is no such document")
}

fn bad_form() -> Problem {
    Problem::new(400, "bad-form", "Refused").detail("The form is incomplete. Load the page again.")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[tokio::main]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let db = Database::connect(&format!("sqlite://{}/documents.db", directory.path().display())).await?;
    prepare(&db).await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    println!("http://{} (the data is gone when this program ends)", listener.local_addr()?);
    axum::serve(listener, app(&db)).await?;
    Ok(())
}
