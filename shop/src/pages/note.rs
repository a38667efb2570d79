//! The operators' note: whoever opens it is told who else has it open; the version decides when it is saved.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use tenure::value::Value;
use tenure::{Error, FieldConflict, Holder, Loaded, Version, VersionConflict};
use tower_sessions::Session;

use super::fields::Fields;
use super::flash::Flash;
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::input::{Input, Kind, Mistake};
use super::order::{Number, fresh_lid};
use super::posted::{Answer, Posted};
use super::refusal::{self, Attempt, What};
use super::{conflict, order_url, problem, read, see};
use crate::domain::{Note, OrderNo};
use crate::use_cases::{EditingNote, Refusal, Shop};

#[derive(Template)]
#[template(path = "note.html")]
struct NotePage {
    f: Frame,
    no: OrderNo,
    url: String,
    /// The version of the note, or 0 when there is none yet.
    version: i64,
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
    let Posted { visit, fields } = form;
    let editing = shop.open_note(&visit.member, &no, id).await;
    Ok(form_or_refusal(&shop, visit, &no, &fields, editing, Vec::new()).await)
}

/// POST /orders/{no}/note/save
pub(super) async fn save(State(shop): State<Shop>, session: Session, Number(no): Number, form: Posted) -> Answer {
    let id = form.lock_id()?;
    // Version 0 is that of a note that was not there yet. A field that is missing is a mistake, and not that.
    let seen: Option<Version> = if form.fields.text("version") == "0" { None } else { Some(form.version()?) };
    let Posted { visit, fields } = form;
    let refusal = match shop.save_note(&visit.member, &no, seen, &id, fields.text("text")).await {
        Ok(version) => {
            Flash::NoteSaved { version: version.number() }.leave(&session).await;
            return Ok(see(&order_url(&no)));
        }
        Err(refusal) => refusal,
    };
    let attempt = Attempt { what: What::SaveNote, no: &no, seen, fields: &fields };
    Ok(match refusal {
        Refusal::Note(invalid) => {
            let mistake = read::mistake(visit.frame.t, invalid);
            let editing = shop.open_note(&visit.member, &no, id).await;
            form_or_refusal(&shop, visit, &no, &fields, editing, vec![mistake]).await
        }
        Refusal::Failed(Error::AlreadyExists { .. }) => met(&shop, visit, attempt, None).await,
        Refusal::Failed(Error::VersionConflict(known) | Error::OptimisticLockingFailure(known))
            if known.fields.is_empty() && known.actual.is_some() =>
        {
            met(&shop, visit, attempt, Some(*known)).await
        }
        refusal => refusal::page(&shop, visit, attempt, refusal).await,
    })
}

/// POST /orders/{no}/note/leave
pub(super) async fn leave(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let id = form.lock_id()?;
    match shop.leave(&form.visit.member, &id).await {
        Ok(()) => Ok(see(&order_url(&no))),
        Err(refusal) => Ok(refusal::plain(form.visit.frame, refusal)),
    }
}

/// Two people wrote, and nothing is known of the text as it was opened: maybe there was none. Then the note as it is
/// now is compared with what was typed.
async fn met(shop: &Shop, visit: Visit, attempt: Attempt<'_>, known: Option<VersionConflict>) -> Response {
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
        expected: attempt.seen.unwrap_or(Version::FIRST),
        actual: Some(note.version()),
        changed: known.and_then(|known| known.changed),
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
    let current = editing.note.as_ref().map_or(0, |note| note.version().number());
    let typed = fields.get("text");
    // Text keeps the version that it was typed on, so that saving it finds out what others changed meanwhile.
    let version = fields.text("version").parse().ok().filter(|_| typed.is_some()).unwrap_or(current);
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
