//! From the result of a form to the next page: in one place, so that all forms end alike.
//!
//! The response to a form is the address of a page. A refused form is kept for the person, and its page renders itself from
//! the kept text and the current state. Only if nothing can be kept is the page itself the response.

use std::future::Future;

use axum::response::Response;
use tenure::{Aggregate, LockId, Version, VersionToken, version::Side};
use tenure_web::form_id::FormId;
use tenure_web::sent::Sent;

use super::compare::{self, Row};
use super::fields::{Fields, SAVED_BEFORE};
use super::flash::Flash;
use super::frame::Visit;
use super::refusal::{Attempt, What};
use super::{note, order_url, read, unsaved};
use crate::domain::{Note, Order, OrderNo};
use crate::use_cases::{Kept, Once, Refusal, SavedForm, Shop};

/// Runs a save on the version that the person saw. If the same form was saved before, that is the result. If it was saved
/// with other text on the version that the person saw, the person has also seen the version that this save created; unless its text does
/// not go on from there (`goes_on`).
///
/// # Errors
/// The refusal, and the version on which the text was typed.
pub(super) async fn once<A: Aggregate, F>(
    shop: &Shop,
    visit: &Visit,
    once: &Once,
    id: &A::Id,
    seen: VersionToken<A>,
    goes_on: bool,
    save: impl Fn(VersionToken<A>) -> F,
) -> Result<Flash, (Refusal, VersionToken<A>)>
where
    F: Future<Output = Result<Flash, Refusal>>,
{
    let refusal = match save(seen).await {
        Ok(flash) => return Ok(flash),
        Err(refusal) if refusal.is_of_database() => return Err((refusal, seen)),
        Err(refusal) => refusal,
    };
    match shop.saved(&visit.member, once.form).await {
        Ok(Some(saved)) if saved.digest == once.digest => Ok(Flash::Saved),
        Ok(Some(saved)) if goes_on && saved.goes_on_from(seen.version().number()) => {
            let own = VersionToken::new(id, saved.version);
            save(own).await.map_err(|refusal| (refusal, own))
        }
        _ => Err((refusal, seen)),
    }
}

/// The version on which text was typed: if the form was saved and edited further, the one that this save created, and the rows of lines that
/// it added are those lines. A line that this save removed, and that is kept after all, is compared with the version before.
pub(super) async fn typed_on(
    shop: &Shop,
    visit: &Visit,
    no: &OrderNo,
    form: FormId,
    seen: VersionToken<Order>,
    fields: &mut Fields,
) -> VersionToken<Order> {
    match shop.saved(&visit.member, form).await {
        Ok(Some(saved)) => goes_on_from(shop, visit, no, &saved, seen, fields).await,
        _ => seen,
    }
}

/// The same, for a save that is known.
pub(super) async fn goes_on_from(
    shop: &Shop,
    visit: &Visit,
    no: &OrderNo,
    saved: &SavedForm,
    seen: VersionToken<Order>,
    fields: &mut Fields,
) -> VersionToken<Order> {
    if !saved.goes_on_from(seen.version().number()) {
        return seen;
    }
    let own = VersionToken::new(no, saved.version);
    let orders = (compare::opened(shop, visit, no, seen).await, compare::opened(shop, visit, no, own).await);
    match orders {
        (_, Some(after)) if fields.keeps_more_than(&after) => return seen,
        (Some(before), Some(after)) => read::adopt_added_lines(visit.frame.t, fields, &before, &after),
        _ => {}
    }
    own
}

/// The version on which the text was typed, and the result.
pub(super) fn seen<A>(
    seen: VersionToken<A>,
    done: Result<Flash, (Refusal, VersionToken<A>)>,
) -> (VersionToken<A>, Result<Flash, Refusal>) {
    match done {
        Ok(flash) => (seen, Ok(flash)),
        Err((refusal, seen)) => (seen, Err(refusal)),
    }
}

/// The version that has all of the person's changes already, because somebody saved the same, or they changed nothing; and what they are
/// told. The rows of the comparison decide, so its page has always something to decide.
pub(super) async fn nothing_left(
    shop: &Shop,
    visit: &Visit,
    attempt: &Attempt<'_>,
    refusal: &Refusal,
) -> Option<(Version, Flash)> {
    let conflict = refusal.of_version()?;
    let view = match attempt.what {
        What::SaveNote => None,
        _ => Some(shop.order(&visit.member, attempt.no).await.ok()?),
    };
    let rows = compare::rows(visit.frame.t, conflict, attempt.fields, view.as_ref().map(|view| &*view.order));
    // What was chosen in a comparison was theirs, and has changed again: its person sees what there is now.
    let was_chosen = |row: &Row| attempt.fields.has("apply") && row.is_theirs() && row.is_choosable();
    if rows.iter().any(|row| matches!(row.side, Side::Mine | Side::Both) || was_chosen(row)) {
        return None;
    }
    let is_same = !conflict.opened_known || rows.iter().any(|row| row.is_same() && row.mine_changed());
    Some((conflict.actual?, if is_same { Flash::SavedElsewhere } else { Flash::Unchanged }))
}

/// A form with nothing left to save counts as saved.
pub(super) async fn settled(
    shop: &Shop,
    visit: &Visit,
    attempt: &Attempt<'_>,
    once: &Once,
    id: &LockId,
    done: Result<Flash, Refusal>,
) -> Result<Flash, Refusal> {
    let Err(refusal) = &done else { return done };
    match nothing_left(shop, visit, attempt, refusal).await {
        None => done,
        Some((version, flash)) => shop.saved_by_another(&visit.member, once, version, id).await.map(|()| flash),
    }
}

/// Redirects to the order's page with the result, or to the page that explains the refusal.
pub(super) async fn of(shop: &Shop, visit: Visit, attempt: Attempt<'_>, done: Result<Flash, Refusal>) -> Response {
    let refusal = match done {
        Ok(flash) => {
            // A command saves no text.
            if attempt.what.has_text() {
                unsaved::count_as_saved(shop, &visit, &attempt).await;
            }
            let version = next_version(shop, &visit, &attempt).await;
            // Its rows are no longer those of the order. Sent again, they are.
            let again = attempt.what == What::SaveEdit && version.is_none() && !attempt.fields.has("apply");
            let sent = Sent { version, again, ..Sent::done(order_url(attempt.no)) };
            let mut response = sent.answer(visit.frame.script);
            flash.leave(&mut response, &order_url(attempt.no));
            return response;
        }
        Err(refusal) => refusal,
    };
    // A malformed request is answered at once. A failed database cannot keep the form either.
    if refusal.is_of_database() || refusal.is_about_the_request() {
        return note::refusal(shop, visit, attempt, refusal).await;
    }
    match keep(shop, &visit, &attempt).await {
        Some(id) => Sent::refused(format!("{}/kept/{id}", order_url(attempt.no))).answer(visit.frame.script),
        None => note::refusal(shop, visit, attempt, refusal).await,
    }
}

/// The version on which the page's script goes on, if its person typed more while the form was saved. An edit form that added or
/// removed lines does not: its rows are no longer those of the order. Nor does a comparison: it shows what was before.
async fn next_version(shop: &Shop, visit: &Visit, attempt: &Attempt<'_>) -> Option<String> {
    let fields = attempt.fields;
    if !visit.frame.script || fields.changes_rows() || fields.has("apply") {
        return None;
    }
    let saved = shop.saved(&visit.member, fields.text("form_id").parse().ok()?).await.ok()??;
    if !saved.is_by_itself() {
        return None;
    }
    match attempt.what {
        What::SaveNote => Some(VersionToken::<Note>::new(attempt.no, saved.version).to_string()),
        What::SaveEdit | What::ChangeShipping => {
            Some(VersionToken::<Order>::new(attempt.no, saved.version).to_string())
        }
        _ => None,
    }
}

/// Keeps the sent form; `None` if that is not possible.
pub(super) async fn keep(shop: &Shop, visit: &Visit, attempt: &Attempt<'_>) -> Option<FormId> {
    let mut fields = attempt.kept_fields();
    let mut has_text = attempt.what.has_text();
    if let Ok(form) = attempt.fields.text("form_id").parse()
        && let Ok(Some(saved)) = shop.saved(&visit.member, form).await
    {
        fields.push((SAVED_BEFORE.to_owned(), saved.version.number().to_string()));
    } else if has_text && let Some(order) = compare::opened(shop, visit, attempt.no, attempt.seen).await {
        has_text = !attempt.fields.says_nothing_new(&order);
    }
    // Put into a form again, it is what was sent then.
    let at = match attempt.fields.text("kept").parse() {
        Ok(id) if attempt.fields.has("edit-first") => {
            shop.kept(&visit.member, attempt.no, id).await.ok().flatten().and_then(|kept| kept.at)
        }
        _ => None,
    };
    let kept = Kept { what: attempt.what.code().to_owned(), fields, has_text, at, is_saved: false };
    match shop.keep(&visit.member, attempt.no, &kept).await {
        Ok(id) => id,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "a form that was refused could not be kept");
            None
        }
    }
}

/// Text that was typed in one form goes on in another. If that cannot be noted, it is called unsaved for a day.
pub(super) async fn goes_on(shop: &Shop, visit: &Visit, no: &OrderNo, from: Option<FormId>, to: FormId) {
    if let Some(from) = from.filter(|from| *from != to)
        && let Err(error) = shop.move_text(&visit.member, no, from, Some(to)).await
    {
        tracing::warn!(error = &error as &dyn std::error::Error, "where a text goes on could not be noted");
    }
}
