//! The operators' note: whoever opens it is told who else has it open; the version decides when it is saved.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use tenure::value::Value;
use tenure::{Change, Error, FieldConflict, Holder, Loaded, Version, VersionConflict, VersionToken};
use tower_sessions::Session;

use super::fields::Fields;
use super::flash::Flash;
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::input::{Input, Kind, Mistake};
use super::order::{Number, fresh_lid};
use super::posted::{Answer, Posted};
use super::refusal::{self, Attempt, What};
use super::{conflict, order_url, outcome, problem, read, see};
use crate::domain::{Note, OrderNo};
use crate::use_cases::{EditingNote, Refusal, Shop};

/// The version of a note that is not there yet. A field that is missing is a mistake, and not that.
const NONE: &str = "none";

#[derive(Template)]
#[template(path = "note.html")]
struct NotePage {
    f: Frame,
    no: OrderNo,
    url: String,
    /// The version of the note, or [`NONE`].
    version: String,
    lid: String,
    next_lid: String,
    expires_in_ms: u128,
    others: Vec<Holder>,
    input: Input,
    mistakes: Vec<Mistake>,
}

/// GET /orders/{no}/note/edit: looking never takes a lock.
pub(super) async fn explain(Number(no): Number) -> Response {
    see(&order_url(&no))
}

/// POST /orders/{no}/note/edit
pub(super) async fn open(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let id = form.next_lock_id()?;
    if form.fields.has("text") {
        seen(&form)?;
    }
    let Posted { visit, fields } = form;
    let editing = shop.open_note(&visit.member, &no, id).await;
    Ok(form_or_refusal(&shop, visit, &no, &fields, editing, Vec::new()).await)
}

/// POST /orders/{no}/note/save
pub(super) async fn save(State(shop): State<Shop>, session: Session, Number(no): Number, form: Posted) -> Answer {
    let (id, seen) = (form.lock_id()?, seen(&form)?);
    let Posted { visit, fields } = form;
    let done = shop.save_note(&visit.member, &no, seen, &id, fields.text("text")).await;
    let done = done.map(|version| Flash::NoteSaved { version: version.number() });
    let attempt = Attempt { what: What::SaveNote, no: &no, seen: None, fields: &fields };
    Ok(match done {
        Err(Refusal::Note(invalid)) => {
            let mistake = read::mistake(visit.frame.t, invalid);
            let editing = shop.open_note(&visit.member, &no, id).await;
            form_or_refusal(&shop, visit, &no, &fields, editing, vec![mistake]).await
        }
        Err(Refusal::Failed(Error::AlreadyExists { .. })) => met(&shop, visit, attempt, Version::FIRST, None).await,
        Err(Refusal::Failed(Error::VersionConflict(known) | Error::OptimisticLockingFailure(known)))
            if known.fields.is_empty() && known.actual.is_some() =>
        {
            met(&shop, visit, attempt, known.expected, known.changed).await
        }
        done => outcome::of(&shop, &session, visit, attempt, done).await,
    })
}

/// POST /orders/{no}/note/leave
pub(super) async fn leave(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let id = form.lock_id()?;
    match shop.leave(&form.visit.member, &id).await {
        Ok(_) => Ok(see(&order_url(&no))),
        Err(refusal) => Ok(refusal::plain(form.visit.frame, refusal)),
    }
}

/// The version of the note that the person saw; none if there was no note yet.
fn seen(form: &Posted) -> Result<Option<VersionToken<Note>>, Response> {
    if form.fields.text("version") == NONE { Ok(None) } else { form.version().map(Some) }
}

/// Two people wrote, and nothing is known of the text as it was opened: maybe there was none. Then the note as it is
/// now is compared with what was typed.
async fn met(shop: &Shop, visit: Visit, attempt: Attempt<'_>, expected: Version, changed: Option<Change>) -> Response {
    let view = match shop.order(&visit.member, attempt.no).await {
        Ok(view) => view,
        Err(refusal) => return refusal::plain(visit.frame, refusal),
    };
    let Some(note) = view.note else { return problem::failed(visit.frame) };
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    let fields = vec![FieldConflict {
        path: "text".into(),
        opened: None,
        now: text(note.text()),
        mine: text(attempt.fields.text("text")),
    }];
    let conflict = VersionConflict {
        aggregate: "Note".into(),
        id: attempt.no.to_string(),
        expected,
        actual: Some(note.version()),
        changed,
        fields,
        opened_known: false,
        mine_known: true,
    };
    conflict::page(shop, visit, attempt, &conflict).await
}

async fn form_or_refusal(
    shop: &Shop,
    visit: Visit,
    no: &OrderNo,
    fields: &Fields,
    editing: Result<EditingNote, Refusal>,
    mistakes: Vec<Mistake>,
) -> Response {
    match editing {
        Ok(editing) => form(visit, no, fields, &editing, mistakes),
        Err(refusal) => {
            let attempt = Attempt { what: What::OpenNote, no, seen: None, fields };
            refusal::page(shop, visit, attempt, refusal).await
        }
    }
}

fn form(visit: Visit, no: &OrderNo, fields: &Fields, editing: &EditingNote, mistakes: Vec<Mistake>) -> Response {
    let (t, lease) = (visit.frame.t, &editing.lease);
    let text = editing.note.as_ref().map_or("", |note: &Loaded<Note>| note.text());
    let current = editing.note.as_ref().map_or_else(|| NONE.to_owned(), |note| note.token().to_string());
    let typed = fields.get("text");
    // Text keeps the version that it was typed on, so that saving it finds out what others changed meanwhile.
    let version = if typed.is_some() { fields.text("version").to_owned() } else { current };
    let input = Input::new("text", t.note_text(), typed.unwrap_or(text), Kind::Page, &mistakes).hint(t.note_hint());
    let page = NotePage {
        f: visit.frame.state(if mistakes.is_empty() { "OE-24" } else { "OE-17" }),
        no: no.clone(),
        url: order_url(no),
        version,
        lid: lease.id().reveal(),
        next_lid: fresh_lid(),
        expires_in_ms: lease.remaining.as_millis(),
        others: editing.others.clone(),
        input,
        mistakes,
    };
    let status = if page.mistakes.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    page.f.answer(status, &page)
}
