//! What became of text that was refused: dropped by its person, or put into another form.

use axum::extract::State;
use tenure_web::sent::Sent;

use super::flash::Flash;
use super::order::Number;
use super::posted::{Answer, Posted};
use super::{order_url, refusal};
use crate::use_cases::Shop;

/// POST /orders/{no}/text: the text of the form `form_id` goes on in the form `next-form`, or is dropped. The script says so of its drafts.
pub(super) async fn moved(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let to = if form.fields.has("next-form") { Some(form.next_form()?) } else { None };
    let moved = shop.move_text(&form.visit.member, &no, form.form_id()?, to).await;
    let script = form.visit.frame.script;
    match moved {
        Err(why) => Ok(refusal::plain(form.visit.frame, why)),
        Ok(_) if script || to.is_some() => Ok(Sent::done(order_url(&no)).answer(script)),
        Ok(_) => Ok(Flash::Dropped.at(&order_url(&no))),
    }
}
