//! Leaving a form without saving.

use axum::extract::State;
use axum::response::Response;
use tenure_web::sent::Sent;

use super::flash::Flash;
use super::order::Number;
use super::order_url;
use super::posted::{Answer, Posted};
use super::refusal;
use crate::domain::OrderNo;
use crate::use_cases::{Refusal, Shop};

/// POST /orders/{no}/leave: a lock id ends its lease, and a form's id drops the text of it that was refused. A draft that is dropped has no
/// lock id: its form may be open in another tab.
pub(super) async fn leave(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let left = left(&shop, &no, &form).await?;
    let script = form.visit.frame.script;
    match left {
        Ok(left) => {
            let mut response = Sent::done(order_url(&no)).answer(script);
            // A draft is dropped by the script, and its page stays.
            if let Some(flash) = left.filter(|_| form.fields.has("lid") || !script) {
                flash.leave(&mut response, &order_url(&no));
            }
            Ok(response)
        }
        Err(refusal) => Ok(refusal::plain(form.visit.frame, refusal)),
    }
}

/// What there is to say about it.
async fn left(shop: &Shop, no: &OrderNo, form: &Posted) -> Result<Result<Option<Flash>, Refusal>, Response> {
    let member = &form.visit.member;
    let text = if form.fields.has("form_id") { Some(form.form_id()?) } else { None };
    let lease = if form.fields.has("lid") || text.is_none() { Some(form.lock_id()?) } else { None };
    Ok(async {
        let dropped = match text {
            Some(text) => shop.drop_text(member, no, text).await?,
            None => false,
        };
        let was_held = match lease {
            Some(lease) => shop.leave(member, &lease).await?,
            None => false,
        };
        Ok(if was_held { Some(Flash::Left) } else { dropped.then_some(Flash::Dropped) })
    }
    .await)
}
