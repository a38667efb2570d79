//! The operators' note: everybody who opens it sees the others; the version decides at the save.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use tenure::aggregate::value::Value;
use tenure::{
    Error, Version, VersionConflict, VersionToken,
    error::{LeaseError, LockError},
    lease::Holder,
    version::FieldConflict,
};
use tenure_web::browser_key::BrowserKey;
use tenure_web::form_id::FormId;
use tenure_web::sent::Sent;
use tenure_web::verdict::{Facts, Mine, Moved, decide};

use super::fields::{Fields, Pairs};
use super::flash::Flash;
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::input::{self, Input, Mistake};
use super::kept::{KeptForm, Key, Named};
use super::order::Number;
use super::posted::{Answer, Posted};
use super::refusal::{self, Attempt, What};
use super::standing::{Kind, Standing};
use super::unsaved::Offered;
use super::{form_url, order_url, outcome, problem, read, see};
use crate::domain::{Invalid, Note, OrderNo, Problem, grouped};
use crate::use_cases::{Doing, Refusal, Shop};

/// The version of a note that does not exist yet. A missing field is a mistake, and does not mean that.
const NONE: &str = "none";

#[derive(Template)]
#[template(path = "note.html")]
struct NotePage {
    f: Frame,
    kind: Kind,
    standing: Standing,
    no: OrderNo,
    url: String,
    /// The version of the note, or [`NONE`].
    version: String,
    form_id: FormId,
    lid: String,
    /// Where the text goes on once this form was saved.
    next_form: FormId,
    input: Input,
    mistakes: Vec<Mistake>,
    /// Whether its text was typed before, and is said to be back.
    returned: bool,
    /// Text of such a form that was refused before.
    offered: Option<Offered>,
}

/// The address of the form.
pub(super) fn address(no: &OrderNo, form: FormId, kept: Option<FormId>) -> String {
    form_url(no, "note", form, kept)
}

/// GET /orders/{no}/note/edit: viewing never acquires a lock.
pub(super) async fn explain(Number(no): Number) -> Response {
    see(&order_url(&no))
}

/// GET /orders/{no}/note/{form}
pub(super) async fn show(
    State(shop): State<Shop>,
    visit: Visit,
    Key(key): Key,
    Number(no): Number,
    Named(form): Named,
    Query(asked): Query<Pairs>,
) -> Answer {
    let kept = KeptForm::asked(&shop, &visit, &key, &no, asked).await?;
    let (id, mut fields) = kept.map(|kept| (Some(kept.id), kept.fields)).unwrap_or_default();
    fields.set("form_id", &form.to_string());
    let attempt = Attempt { what: What::OpenNote, no: &no, seen: None, fields: &fields, kept: id };
    Ok(draw(&shop, visit, attempt, &key, form).await)
}

/// POST /orders/{no}/note/edit
pub(super) async fn open(State(shop): State<Shop>, Key(key): Key, Number(no): Number, form: Posted) -> Answer {
    let form = form.with_kept(&shop, &no).await?;
    // Text of a comparison, which may be open in several tabs, goes on in a form of its own.
    let mut next = match form.fields.text("edit-first").parse() {
        Ok(spare) => spare,
        Err(_) => form.next_form()?,
    };
    let seen = if form.fields.has("text") { seen(&form)? } else { None };
    let id = form.lock_id_to_open(&shop, next);
    // The form that the text comes from is left with that. Without scripts, nothing else says so.
    if let Some(left) = form.lock_id().ok().filter(|left| *left != id) {
        shop.leave(&form.visit.member, &left).await.map_err(|why| refusal::plain(form.visit.frame.clone(), why))?;
    }
    // A form that was left is not opened again: its text goes on in the one after it.
    let opened = loop {
        let id = form.lock_id_to_open(&shop, next);
        match shop.open_note(&form.visit.member, &no, id).await {
            Err(Refusal::Lock(LockError::LockIdUsed(_))) => next = next.successor(),
            opened => break opened,
        }
    };
    outcome::goes_on(&shop, &form.visit, &no, form.fields.text_of(), next).await;
    let old = form.form_id().ok();
    let Posted { visit, mut fields, .. } = form;
    // A form that was saved, and edited further, goes on from its own save.
    if let (true, Some(old)) = (fields.has("text"), old)
        && let Ok(Some(saved)) = shop.saved(&visit.member, old).await
        && saved.goes_on_from(seen.map_or(0, |seen| seen.version().number()))
    {
        fields.set("version", &VersionToken::<Note>::new(&no, saved.version).to_string());
    }
    // What the note says already is not typed: in a comparison, it may have been chosen.
    if fields.has("text")
        && let Some(note) = shop.noted(&visit.member, &no).await.ok().and_then(|view| view.note)
        && fields.text("version") == note.token().to_string()
        && Note::new(no.clone(), fields.text("text")).is_ok_and(|typed| typed.text() == note.text())
    {
        fields = Fields::default();
    }
    fields.set("form_id", &next.to_string());
    let attempt = Attempt { what: What::OpenNote, no: &no, seen: None, fields: &fields, kept: None };
    if let Err(refusal) = opened {
        return Ok(refusal::page(&shop, visit, attempt, refusal).await);
    }
    Ok(on_to_the_form(&shop, visit, attempt, &key, next).await)
}

/// POST /orders/{no}/note/save
pub(super) async fn save(State(shop): State<Shop>, Key(key): Key, Number(no): Number, form: Posted) -> Answer {
    let form = form.with_kept(&shop, &no).await?;
    let (id, seen) = (form.lock_id()?, seen(&form)?);
    let once = form.once(&shop, &no, seen.map(|seen| seen.version())).await?;
    let Posted { visit, mut fields, .. } = form;
    let doing = Doing::Save(once.clone());
    let text = fields.text("text").to_owned();
    let save = |seen| {
        let (shop, visit, no, id, doing, text) = (&shop, &visit, &no, &id, &doing, &text);
        async move {
            let saved = shop.save_note(&visit.member, no, seen, id, text, doing).await?;
            Ok(if saved.is_some() { Flash::NoteSaved } else { Flash::Unchanged })
        }
    };
    let done = match seen {
        Some(seen) => {
            let done = outcome::once(&shop, &visit, &once, &no, seen, true, |seen| save(Some(seen))).await;
            let (seen, done) = outcome::seen(seen, done);
            fields.set("version", &seen.to_string());
            done
        }
        // There was no note yet. If this form itself has created it meanwhile, that is the result.
        None => match save(None).await {
            Err(refusal) if !refusal.is_of_database() => match shop.saved(&visit.member, once.form).await {
                Ok(Some(saved)) if saved.digest == once.digest => Ok(Flash::NoteSaved),
                Ok(Some(saved)) if saved.goes_on_from(0) => save(Some(VersionToken::new(&no, saved.version))).await,
                _ => Err(refusal),
            },
            done => done,
        },
    };
    let mut form = once.form;
    if let Err(Refusal::Note(_)) = done
        && let Ok(Some(_)) = shop.saved(&visit.member, form).await
    {
        // Without scripts a saved form may be sent again after Back: its new text goes on in another form.
        form = FormId::random();
        fields.set("form_id", &form.to_string());
    }
    let attempt = Attempt { what: What::SaveNote, no: &no, seen: None, fields: &fields, kept: None };
    let done = match done {
        Err(refusal) => Err(met(&shop, &visit, &attempt, refusal).await),
        done => done,
    };
    match outcome::settled(&shop, &visit, &attempt, &once, &id, done).await {
        Err(Refusal::Note(_)) => Ok(on_to_the_form(&shop, visit, attempt, &key, form).await),
        done => Ok(outcome::of(&shop, visit, attempt, done).await),
    }
}

/// The version of the note that the person saw; `None` if there was no note yet.
fn seen(form: &Posted) -> Result<Option<VersionToken<Note>>, Response> {
    if form.fields.text("version") == NONE { Ok(None) } else { form.version().map(Some) }
}

/// Keeps the typed text, and shows it in the form at its address.
async fn on_to_the_form(shop: &Shop, visit: Visit, attempt: Attempt<'_>, key: &BrowserKey, form: FormId) -> Response {
    let mut kept = None;
    if attempt.fields.has("text") {
        kept = outcome::keep(shop, &visit, &attempt).await;
        if kept.is_none() {
            return draw(shop, visit, attempt, key, form).await;
        }
    }
    Sent::refused(address(attempt.no, form, kept)).answer(visit.frame.script)
}

/// The page about a refused form; of a note, also if the opened text is unknown.
pub(super) async fn refusal(shop: &Shop, visit: Visit, attempt: Attempt<'_>, refusal: Refusal) -> Response {
    let refusal = met(shop, &visit, &attempt, refusal).await;
    refusal::page(shop, visit, attempt, refusal).await
}

/// The refusal to save a note. If two people wrote and the opened text is unknown, maybe because there was none, it is a conflict of the
/// typed text with the present note.
pub(super) async fn met(shop: &Shop, visit: &Visit, attempt: &Attempt<'_>, refusal: Refusal) -> Refusal {
    let (expected, changed) = match (&refusal, refusal.of_version()) {
        _ if attempt.what != What::SaveNote => return refusal,
        (Refusal::Failed(Error::AlreadyExists { .. }), _) => (Version::FIRST, None),
        (_, Some(known)) if known.fields.is_empty() && known.actual.is_some() => {
            (known.expected, known.changed.clone())
        }
        _ => return refusal,
    };
    let note = match shop.noted(&visit.member, attempt.no).await {
        Ok(view) => view.note,
        Err(refusal) => return refusal,
    };
    let Some(note) = note else { return refusal };
    let changed = match changed {
        None => shop.note_change(attempt.no).await.ok().flatten(),
        changed => changed,
    };
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
    Refusal::Failed(Error::VersionConflict(Box::new(conflict)))
}

/// The form, with the typed text if there is any.
async fn draw(shop: &Shop, visit: Visit, attempt: Attempt<'_>, key: &BrowserKey, form: FormId) -> Response {
    let (member, no, fields) = (&visit.member, attempt.no, attempt.fields);
    let id = key.lock_id(member.id().as_str(), form);
    let asked = async {
        let view = shop.noted(member, no).await?;
        let saved = shop.saved(member, form).await?;
        let mine = match shop.lease(member, &id).await {
            Ok(lease) => Mine::Alive(Holder::clone(lease.holder())),
            Err(LeaseError::NoLock(_)) => Mine::None,
            Err(error) => return Err(error.into()),
        };
        Ok::<_, Refusal>((view, saved, mine))
    };
    let (view, saved, mine) = match asked.await {
        Ok(asked) => asked,
        Err(refusal) => return refusal::page(shop, visit, attempt, refusal).await,
    };
    if saved.is_some() {
        return problem::already_saved(visit.frame, no);
    }
    let t = visit.frame.t;
    let text = view.note.as_ref().map_or("", |note| note.text());
    let current = view.note.as_ref().map_or_else(|| NONE.to_owned(), |note| note.token().to_string());
    let typed = fields.get("text");
    // Text keeps the version that it was typed on, so that saving it detects the changes of others.
    let version = if typed.is_some() { fields.text("version").to_owned() } else { current.clone() };
    let mistakes: Vec<_> = match typed.map(|text| Note::new(no.clone(), text)) {
        Some(Err(Invalid { problem: Problem::TooLong { max }, .. })) => {
            let length = typed.unwrap_or_default().chars().count();
            let [length, over, max] = [length, length.saturating_sub(max), max].map(|count| grouped(count as u64));
            vec![Mistake::new("text", t.note_text(), t.note_too_long(length, over, max))]
        }
        Some(Err(invalid)) => vec![read::mistake(t, invalid)],
        _ => Vec::new(),
    };
    let own = if let Mine::Alive(lease) = &mine { Some(lease.generation) } else { None };
    let facts = Facts {
        frozen: None,
        mine,
        others: view.note_editors.into_iter().filter(|holder| Some(holder.generation) != own).collect(),
        moved: if version == current {
            None
        } else {
            Some(Moved { change: shop.note_change(no).await.ok().flatten() })
        },
        saved: false,
        exclusive: false,
    };
    let standing = Standing::new(&visit.frame, &member.owner(), Kind::Note, no, &decide(&member.owner(), facts));
    let offered = match Offered::above(shop, &visit, &attempt, None).await {
        Ok(offered) => offered,
        Err(refusal) => return refusal::page(shop, visit, attempt, refusal).await,
    };
    let returned = typed.is_some() && mistakes.is_empty() && version == current;
    let input = Input::new("text", t.note_text(), typed.unwrap_or(text), input::Kind::Page, &mistakes);
    let page = NotePage {
        no: no.clone(),
        url: order_url(no),
        kind: Kind::Note,
        version,
        form_id: form,
        lid: id.reveal(),
        next_form: FormId::random(),
        input: input.hint(t.note_hint()).base(text).counted(t, Note::MAX),
        returned,
        f: visit.frame.state(if mistakes.is_empty() { standing.state } else { "OE-17" }),
        standing,
        mistakes,
        offered,
    };
    if page.f.script && !page.mistakes.is_empty() {
        return problem::mistakes_told(&page.f, &page.mistakes);
    }
    let status = if page.mistakes.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    page.f.answer(status, &page)
}
