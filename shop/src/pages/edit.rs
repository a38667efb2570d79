//! Editing a whole order under a lease: acquire it, show the form, resume it, move it here, save it, leave it.
//!
//! The address of the form names the form and not the lock id: that is derived from the browser's key. So a reload,
//! Back, a bookmark and a second window show the current state, and viewing acquires no lock.

mod page;

use std::collections::BTreeSet;
use std::mem;

use axum::extract::{Query, State};
use axum::response::Response;
use tenure::{Error, LockId, VersionToken, error::LockError};
use tenure_web::form_id::FormId;
use tenure_web::sent::Sent;

use super::compare::{self, without_gone_lines};
use super::fields::{Fields, GONE, Pairs, quantity};
use super::flash::Flash;
use super::frame::Visit;
use super::input::Mistake;
use super::kept::{KeptForm, Key, Named};
use super::order::Number;
use super::posted::{Answer, Posted};
use super::read::{mistake_of, read_lines, read_shipping};
use super::refusal::{self, Attempt, What};
use super::{both, form_url, order_url, outcome, shipping};
use crate::domain::{Order, OrderLine, OrderNo};
use crate::use_cases::{Doing, Refusal, Shop, WholeForm};
use page::draw;

/// The address of the form.
pub(super) fn address(no: &OrderNo, form: FormId, kept: Option<FormId>) -> String {
    form_url(no, "edit", form, kept)
}

/// GET /orders/{no}/edit: viewing never acquires a lock, so there is nothing to show here.
pub(super) async fn explain(Number(no): Number) -> Response {
    Flash::PressEdit.at(&order_url(&no))
}

/// GET /orders/{no}/edit/{form}
pub(super) async fn show(
    State(shop): State<Shop>,
    visit: Visit,
    Key(key): Key,
    Number(no): Number,
    Named(form): Named,
    Query(asked): Query<Pairs>,
) -> Answer {
    let kept = KeptForm::asked(&shop, &visit, &key, &no, asked).await?;
    let id = key.lock_id(visit.member.id().as_str(), form);
    let mut fields = kept.as_ref().map(|kept| kept.fields.clone()).unwrap_or_default();
    let mistakes = match &kept {
        Some(kept) if kept.what == What::SaveEdit => mistakes(&shop, &visit, &no, &kept.fields).await,
        _ => Vec::new(),
    };
    fields.set("form_id", &form.to_string());
    fields.set("lid", &id.reveal());
    let seen = kept.as_ref().filter(|_| !fields.is_blank()).and_then(|_| fields.text("version").parse().ok());
    let attempt = Attempt { what: What::OpenEdit, no: &no, seen, fields: &fields, kept: kept.map(|kept| kept.id) };
    Ok(draw(&shop, visit, attempt, form, id, mistakes).await)
}

/// POST /orders/{no}/edit: acquires the lease, then shows the form at its address. The sending page created the form's id, so
/// a repetition (a double click, [Keep editing]) finds the same lease.
pub(super) async fn open(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let mut form = form.with_kept(&shop, &no).await?;
    let (next, mut seen) = (form.next_form()?, form.typed_on(&no)?);
    if let (Some(own), Ok(old)) = (&mut seen, form.form_id()) {
        *own = outcome::typed_on(&shop, &form.visit, &no, old, *own, &mut form.fields).await;
    }
    let id = form.lock_id_to_open(&shop, next);
    let opened = shop.open_for_edit(&form.visit.member, &no, id.clone()).await.map(drop);
    let what = What::OpenEdit;
    // The lease of the form has ended: its text goes on in another one.
    if let (Err(Refusal::Lock(LockError::LockIdUsed(_))), Ok(spare)) = (&opened, form.fields.text("edit-first").parse())
    {
        let id = form.lock_id_to_open(&shop, spare);
        let opened = shop.open_for_edit(&form.visit.member, &no, id.clone()).await.map(drop);
        return Ok(opened_at(&shop, form, what, &no, (spare, id), seen, opened).await);
    }
    Ok(opened_at(&shop, form, what, &no, (next, id), seen, opened).await)
}

/// POST /orders/{no}/edit/move-here: ends the person's own lease in another tab, and acquires a new one, for the form that they came from.
pub(super) async fn move_here(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let form = form.with_kept(&shop, &no).await?;
    let (next, generation, seen) = (form.next_form()?, form.parse("generation")?, form.typed_on(&no)?);
    let id = form.lock_id_to_open(&shop, next);
    let opened = shop.move_here(&form.visit.member, &no, generation, id.clone()).await.map(drop);
    let is_shipping = !form.fields.is_blank() && form.fields.text("what") == What::ChangeShipping.code();
    let what = if is_shipping { What::ChangeShipping } else { What::OpenEdit };
    Ok(opened_at(&shop, form, what, &no, (next, id), seen, opened).await)
}

/// Redirects to the form's address, with the sent text. That page shows the reason if the order cannot be edited.
async fn opened_at(
    shop: &Shop,
    posted: Posted,
    what: What,
    no: &OrderNo,
    (form, id): (FormId, LockId),
    seen: Option<VersionToken<Order>>,
    opened: Result<(), Refusal>,
) -> Response {
    let Posted { visit, mut fields, .. } = posted;
    outcome::goes_on(shop, &visit, no, fields.text_of(), form).await;
    fields.set("form_id", &form.to_string());
    fields.set("lid", &id.reveal());
    let typed_on = compare::opened(shop, &visit, no, seen).await;
    if let Some(order) = &typed_on {
        let gone = gone(shop, &visit, no, &fields, order).await;
        fields = without_gone_lines(fields, order);
        if !gone.is_empty() {
            fields.set(GONE, &gone);
        }
    }
    let attempt = Attempt { what, no, seen, fields: &fields, kept: None };
    match opened {
        Ok(())
        | Err(Refusal::Order(_) | Refusal::Break(_) | Refusal::Failed(Error::NotFound { .. }))
        | Err(Refusal::Lock(
            LockError::AlreadyLocked(_) | LockError::LockingFailed { .. } | LockError::LockIdUsed(_),
        )) => {}
        Err(refusal) => return refusal::page(shop, visit, attempt, refusal).await,
    }
    let mut kept = None;
    if !fields.is_blank() && !typed_on.is_some_and(|order| fields.says_nothing_new(&order)) {
        kept = outcome::keep(shop, &visit, &attempt).await;
        if kept.is_none() {
            return draw(shop, visit, attempt, form, id, Vec::new()).await;
        }
    }
    let to = match kept.filter(|_| what == What::ChangeShipping) {
        Some(kept) => shipping::address(no, kept),
        None => address(no, form, kept),
    };
    Sent::refused(to).answer(visit.frame.script)
}

/// In words, what was typed about lines that are gone in the order with which it was compared.
async fn gone(shop: &Shop, visit: &Visit, no: &OrderNo, fields: &Fields, order: &Order) -> String {
    let (true, Ok(id)) = (fields.has("apply"), fields.text("kept").parse()) else { return String::new() };
    let Ok(Some(kept)) = shop.kept(&visit.member, no, id).await else { return String::new() };
    let kept = Fields::sent(kept.fields);
    let Some(opened) = compare::opened(shop, visit, no, kept.text("version").parse().ok()).await else {
        return String::new();
    };
    let own = kept.without_same(&opened);
    let is_gone = |line_no: &u32| compare::line_in(order, *line_no).is_none() && !kept.removes(*line_no);
    let words = own.lines().filter(is_gone).map(|line_no| {
        let name = quantity(line_no);
        format!("{}: {}", compare::label(visit.frame.t, &name, [&opened]).plain(), own.text(&name))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// POST /orders/{no}/edit/save
pub(super) async fn save(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let form = form.with_kept(&shop, &no).await?;
    let (id, seen, opened) = (form.lock_id()?, form.version_of(&no)?, both::opened(&form)?);
    let mut once = form.once(&shop, &no, opened.is_none().then(|| seen.version())).await?;
    let Posted { visit, mut fields, .. } = form;
    let saved = shop.saved(&visit.member, once.form).await.ok().flatten();
    let seen = match (opened, saved) {
        (None, Some(saved)) if saved.digest != once.digest => {
            let own = outcome::goes_on_from(&shop, &visit, &no, &saved, seen, &mut fields).await;
            once.on = own.version().number();
            own
        }
        _ => seen,
    };
    let attempt = Attempt { what: What::SaveEdit, no: &no, seen: Some(seen), fields: &fields, kept: None };
    let view = match shop.order(&visit.member, &no).await {
        Ok(view) => view,
        Err(refusal) => return Ok(outcome::of(&shop, visit, attempt, Err(refusal)).await),
    };
    let filled_in = read(&shop, &visit, &no, seen, &mut fields, &view.order).await;
    let t = visit.frame.t;
    let attempt = Attempt { what: What::SaveEdit, no: &no, seen: Some(seen), fields: &fields, kept: None };
    let Ok(filled_in) = filled_in else {
        return Ok(with_mistakes(&shop, visit, attempt, once.form, id).await);
    };
    let doing = Doing::Save(once.clone());
    let save = |seen| {
        let (shop, visit, no, id, doing, fields) = (&shop, &visit, &no, &id, &doing, &fields);
        let filled_in = &filled_in;
        async move {
            match opened {
                None => {
                    let saved = shop.save_edit(&visit.member, no, seen, id, filled_in, doing).await?;
                    Ok(Flash::saved(seen, saved))
                }
                Some(opened) => {
                    let WholeForm { info, lines } = filled_in.clone();
                    let changes = both::changes(fields, info, Some(lines));
                    let saved = shop.save_both(&visit.member, no, opened, id, &changes, doing).await?;
                    Ok(Flash::saved_both(&visit.frame, saved))
                }
            }
        }
    };
    let goes_on = !fields.keeps_more_than(&view.order);
    let done = outcome::once(&shop, &visit, &once, &no, seen, goes_on, save).await;
    let (seen, done) = outcome::seen(seen, done);
    let done = outcome::settled(&shop, &visit, &attempt, &once, &id, done).await;
    let attempt = Attempt { seen: Some(seen), ..attempt };
    let is_mistake =
        done.as_ref().err().and_then(|refusal| refusal.of_order()).is_some_and(|error| mistake_of(t, error).is_some());
    if is_mistake {
        return Ok(with_mistakes(&shop, visit, attempt, once.form, id).await);
    }
    Ok(outcome::of(&shop, visit, attempt, done).await)
}

/// Reads the form. A line that it does not name stays as it was in the version that the form is on: another person has added it, and only a
/// ticked box removes one. What it says of lines that were gone in that version is dropped: its person has read that they were.
///
/// # Errors
/// The mistakes in the text.
pub(super) async fn read(
    shop: &Shop,
    visit: &Visit,
    no: &OrderNo,
    seen: VersionToken<Order>,
    fields: &mut Fields,
    now: &Order,
) -> Result<WholeForm, Vec<Mistake>> {
    let (t, named) = (visit.frame.t, fields.lines().collect::<BTreeSet<_>>());
    let is_of_now = now.lines().iter().map(OrderLine::line_no).eq(named.iter().copied());
    let on = if is_of_now { None } else { compare::opened(shop, visit, no, seen).await };
    if let Some(order) = &on {
        *fields = without_gone_lines(mem::take(fields), order);
    }
    let lines = read_lines(t, fields, now.lines(), on.as_ref().map_or(&[], |order| order.lines()));
    match (read_shipping(t, fields), lines) {
        (Ok(info), Ok(lines)) => Ok(WholeForm { info, lines }),
        (info, lines) => Err(lines.err().into_iter().chain(info.err()).flatten().collect()),
    }
}

/// The form again, with its mistakes. It keeps its lease, so that nobody else acquires the order while a mistake is
/// corrected.
async fn with_mistakes(shop: &Shop, visit: Visit, attempt: Attempt<'_>, form: FormId, id: LockId) -> Response {
    match outcome::keep(shop, &visit, &attempt).await {
        Some(kept) => Sent::refused(address(attempt.no, form, Some(kept))).answer(visit.frame.script),
        None => {
            let mistakes = mistakes(shop, &visit, attempt.no, attempt.fields).await;
            draw(shop, visit, Attempt { what: What::OpenEdit, ..attempt }, form, id, mistakes).await
        }
    }
}

/// The mistakes in the text.
async fn mistakes(shop: &Shop, visit: &Visit, no: &OrderNo, fields: &Fields) -> Vec<Mistake> {
    let t = visit.frame.t;
    let Ok(view) = shop.order(&visit.member, no).await else { return Vec::new() };
    let (Ok(seen), Ok(id)) = (fields.text("version").parse(), fields.text("lid").parse()) else { return Vec::new() };
    let form = match read(shop, visit, no, seen, &mut fields.clone(), &view.order).await {
        Ok(form) => form,
        Err(mistakes) => return mistakes,
    };
    match shop.save_edit(&visit.member, no, seen, &id, &form, &Doing::Ask).await {
        Err(Refusal::Order(error)) => mistake_of(t, &error).into_iter().collect(),
        _ => Vec::new(),
    }
}
