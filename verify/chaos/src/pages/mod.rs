//! The application of W6: ledgers behind forms, with tenure's web kit. It is a process of its own, so that it can be killed.

mod forms;
mod save;

use std::io::Read;
use std::time::{Duration, Instant};

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, header::COOKIE};
use axum::middleware::{Next, from_fn};
use axum::response::{Html, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde::{Deserialize, Serialize};
use tenure::{LockManager, Owner, Repository};
use tenure_web::browser_key::BrowserKey;
use tenure_web::csrf::CsrfForm;
use tenure_web::form_id::FormId;
use tenure_web::problem::Problem;

use crate::Result;
use crate::backend::Backend;
use crate::subject::tenure::ledger::Ledger;
use crate::subject::tenure::{Declared, Tenure, key, lease};
use crate::subject::{Appended, EMPTY, Grant, Refusal, Subject, digest};

/// The orders of the application, from the driver of the run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Orders {
    /// The database
    #[arg(long)]
    pub(crate) backend: Backend,
    /// Where it is
    #[arg(long)]
    pub(crate) url: String,
    /// The port on which it listens
    #[arg(long)]
    pub(crate) port: u16,
    /// How many connections it opens for transactions
    #[arg(long)]
    pub(crate) connections: u32,
    #[command(flatten)]
    pub(crate) declared: Declared,
    /// A mistake: a form that is sent again is applied again
    #[arg(long)]
    pub(crate) applies_again: bool,
}

/// How long the database may be away when the application starts.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the handlers share.
#[derive(Debug, Clone)]
struct Pages {
    backend: Backend,
    subject: Tenure,
    ledgers: Repository<Ledger>,
    locks: LockManager,
    applies_again: bool,
}

/// Serves until standard input ends: when the driver says so, or is gone.
pub(crate) async fn run(orders: Orders) -> Result<()> {
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = ended.send(());
    });
    let begun = Instant::now();
    let subject = loop {
        match Tenure::connect(orders.backend, &orders.url, orders.connections, orders.declared).await {
            Ok(subject) => break subject,
            Err(error) if begun.elapsed() > PATIENCE => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", orders.port)).await?;
    let (ledgers, locks) = (Repository::new(subject.database()), subject.locks().clone());
    let pages = Pages { backend: orders.backend, ledgers, locks, subject, applies_again: orders.applies_again };
    tokio::select! {
        served = axum::serve(listener, app(pages)) => Ok(served?),
        _ = end => Ok(()),
    }
}

fn app(pages: Pages) -> Router {
    Router::new()
        .route("/ledgers/{id}", get(show).post(save::save))
        .route("/ledgers/{id}/new", post(make))
        .route("/ledgers/{id}/lock", post(lock))
        .with_state(pages)
        .layer(from_fn(session))
}

/// Who is asking, and from which browser. There is nobody to keep out here, so the cookie with the name is believed.
async fn session(mut request: Request, next: Next) -> Response {
    let cookies = request.headers();
    let known = cookie(cookies, "browser").and_then(|text| BrowserKey::from_cookie(&text));
    if let Some((key, person)) = known.zip(cookie(cookies, "person")) {
        request.extensions_mut().insert(key.csrf(Some(&person)));
        request.extensions_mut().insert(key);
        request.extensions_mut().insert(Owner::new(&person, format!("client {person}")));
    }
    next.run(request).await
}

fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split("; "));
    pairs.find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
}

/// The form of a ledger.
async fn show(
    State(pages): State<Pages>,
    Path(id): Path<String>,
    Extension(owner): Extension<Owner>,
    Extension(key): Extension<BrowserKey>,
) -> std::result::Result<Html<String>, Problem> {
    let ledger = pages.ledgers.get(&id).await?;
    let ledger = ledger.ok_or_else(|| Problem::new(404, "not-found", "There is no such ledger"))?;
    let operations = ledger.entries.iter().map(|entry| entry.op.as_str());
    let digest = digest(operations).last().unwrap_or(EMPTY);
    let (csrf, form, token) = (key.csrf(Some(&owner.id)), FormId::random(), ledger.token());
    let (len, number) = (ledger.entries.len(), ledger.version().number());
    Ok(Html(format!(
        r#"<!doctype html><title>ledger</title><form method="post" action="/ledgers/{id}">
<input type="hidden" name="csrf" value="{csrf}"> <input type="hidden" name="form_id" value="{form}">
<input type="hidden" name="version" value="{token}">
<output name="number" value="{number}"></output> <output name="len" value="{len}"></output>
<output name="digest" value="{digest}"></output> <button>Save</button></form>"#
    )))
}

/// The version that a request made.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Made {
    pub(crate) version: i64,
}

#[derive(Debug, Deserialize)]
struct Make {
    op: String,
}

async fn make(
    State(pages): State<Pages>,
    Path(id): Path<String>,
    CsrfForm(form): CsrfForm<Make>,
) -> std::result::Result<Json<Made>, Problem> {
    let made = pages.subject.insert(&id, &form.op).await.map_err(refused)?;
    Ok(Json(Made { version: made.version.unwrap_or_default() }))
}

/// A granted lease, as the page is told of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) generation: i64,
    pub(crate) since_ms: i64,
    pub(crate) remaining_ms: u64,
}

#[derive(Debug, Deserialize)]
struct Lock {
    form_id: String,
}

async fn lock(
    State(pages): State<Pages>,
    Path(id): Path<String>,
    Extension(owner): Extension<Owner>,
    Extension(browser): Extension<BrowserKey>,
    CsrfForm(form): CsrfForm<Lock>,
) -> std::result::Result<Json<Told>, Problem> {
    let lid = browser.lock_id(&owner.id, form.form_id.parse().map_err(|_| bad_form())?);
    let Grant { generation, since_ms, remaining } = lease(&pages.locks.try_lock_as(&key(&id), &owner, lid).await?);
    Ok(Json(Told { generation, since_ms, remaining_ms: u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX) }))
}

fn bad_form() -> Problem {
    Problem::new(400, "bad-form", "The form is incomplete")
}

/// A refusal with the status of an unavailable database, and its code as the detail. (Codes of problems are static.)
fn refused(refusal: Refusal) -> Problem {
    Problem::new(503, "refused", "Refused").detail(refusal.code)
}

/// What the browser's task is told.
impl From<Made> for Appended {
    fn from(made: Made) -> Self {
        Appended { version: Some(made.version), ..Appended::default() }
    }
}
