//! Leaving a form without saving.

use axum::extract::State;
use tenure_web::sent::Sent;

use super::flash::Flash;
use super::order::Number;
use super::posted::{Answer, Posted};
use super::{order_url, refusal};
use crate::use_cases::Shop;

/// POST /orders/{no}/leave: a lock id ends its lease, and a form's id drops the text of it that was refused. A draft that is dropped has no
/// lock id: its form may be open in another tab.
pub(super) async fn leave(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let (frame, member) = (&form.visit.frame, &form.visit.member);
    let has = |name| form.fields.has(name);
    let failed = |why| refusal::plain(frame.clone(), why);
    let dropped = has("form_id") && shop.drop_text(member, &no, form.form_id()?).await.map_err(failed)?;
    let was_held = (has("lid") || !has("form_id")) && shop.leave(member, &form.lock_id()?).await.map_err(failed)?;
    let mut response = Sent::done(order_url(&no)).answer(frame.script);
    // A draft is dropped by the script, and its page stays.
    let stays = frame.script && !has("lid");
    if was_held {
        Flash::Left.leave(&mut response, &order_url(&no));
    } else if dropped && !stays {
        Flash::Dropped.leave(&mut response, &order_url(&no));
    }
    Ok(response)
}
