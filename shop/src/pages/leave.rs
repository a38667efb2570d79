//! Leaving a form without saving.

use axum::extract::State;
use tenure_web::sent::Sent;

use super::flash::Flash;
use super::order::Number;
use super::posted::{Answer, Posted};
use super::{order_url, refusal};
use crate::use_cases::Shop;

/// POST /orders/{no}/leave: ends the lease, and drops the form's text that was refused, also the text of an ended form with which it was
/// drawn. A page on which the text cannot be saved names no form: the text stays.
pub(super) async fn leave(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let form = form.with_kept(&shop, &no).await?;
    let (frame, member) = (&form.visit.frame, &form.visit.member);
    let id = form.lock_id()?;
    let own = if form.fields.has("form_id") { Some(form.form_id()?) } else { None };
    let ended = form.fields.text_of().filter(|ended| Some(*ended) != own);
    let failed = |why| refusal::plain(frame.clone(), why);
    let had_lease = shop.leave(member, &id).await.map_err(failed)?;
    // Its answer may still be on the way.
    let saved = match own {
        Some(form) => shop.saved_last(member, form).await.map_err(failed)?.is_some_and(|saved| saved.is_by_itself()),
        None => false,
    };
    let mut dropped = false;
    for text in own.into_iter().chain(ended) {
        dropped |= shop.move_text(member, &no, text, None).await.map_err(failed)?;
    }
    let mut response = Sent::done(order_url(&no)).answer(frame.script);
    let flash = match (saved, dropped) {
        (true, _) => Some(Flash::LeftSaved),
        (false, true) => Some(Flash::Dropped),
        (false, false) => had_lease.then_some(Flash::Left),
    };
    match flash {
        Some(flash) => flash.leave(&mut response, &order_url(&no)),
        // Nor does an earlier message, which was not shown, speak of this.
        None => Flash::forget(&mut response),
    }
    Ok(response)
}
