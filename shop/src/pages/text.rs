//! What became of typed text: saved, dropped by its person, or put into another form.

use axum::Json;
use axum::extract::{Query, State};
use axum::response::IntoResponse;
use serde::Serialize;
use tenure_web::sent::Sent;

use super::fields::{Fields, Pairs};
use super::flash::Flash;
use super::frame::Visit;
use super::order::Number;
use super::posted::{Answer, Posted};
use super::{order_url, problem, refusal};
use crate::use_cases::Shop;

#[derive(Serialize)]
struct Told {
    saved: bool,
}

/// GET /orders/{no}/text: whether the form `form_id` of this person was saved. The script asks that of text whose page was left before
/// there was an answer.
pub(super) async fn saved(State(shop): State<Shop>, visit: Visit, Query(asked): Query<Pairs>) -> Answer {
    let asked = Fields::sent(asked);
    let Ok(form) = asked.text("form_id").parse() else {
        return Err(problem::incomplete_form(visit.frame, "form_id", &asked));
    };
    match shop.saved_last(&visit.member, form).await {
        Ok(saved) => Ok(Json(Told { saved: saved.is_some() }).into_response()),
        Err(why) => Ok(refusal::plain(visit.frame, why)),
    }
}

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
