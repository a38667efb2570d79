//! GET /orders/{no}/now and /orders/{no}/note/now: whether anything has changed. It writes nothing, and keeps neither a lease nor the
//! session alive.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use tenure_web::now::Now;
use tenure_web::problem::Problem;

use super::beat::in_words;
use super::frame::Frame;
use super::order::Number;
use crate::domain::{Member, OrderNo};
use crate::use_cases::{Refusal, Shop, Watched, problem};

/// GET /orders/{no}/now
pub(super) async fn order(
    State(shop): State<Shop>,
    frame: Frame,
    no: Result<Number, Response>,
    headers: HeaderMap,
) -> Response {
    match asked(&frame, no) {
        Ok((member, no)) => answer(&frame, member, &no, shop.order_now(member, &no).await, &headers),
        Err(refused) => refused.into_response(),
    }
}

/// GET /orders/{no}/note/now
pub(super) async fn note(
    State(shop): State<Shop>,
    frame: Frame,
    no: Result<Number, Response>,
    headers: HeaderMap,
) -> Response {
    match asked(&frame, no) {
        Ok((member, no)) => answer(&frame, member, &no, shop.note_now(member, &no).await, &headers),
        Err(refused) => refused.into_response(),
    }
}

/// A script asks, so nobody is led to the sign-in page, and a text that is no number is the number of no order.
fn asked(frame: &Frame, no: Result<Number, Response>) -> Result<(&Member, OrderNo), Problem> {
    let t = frame.t;
    let signed_out = || Problem::new(401, "session-expired", t.signed_out_title()).action("sign-in");
    let member = frame.member.as_ref().ok_or_else(signed_out)?;
    let Number(no) = no.map_err(|_| Problem::new(404, "not-found", t.no_order_title()).detail(t.standing_gone()))?;
    Ok((member, no))
}

fn answer<A>(
    frame: &Frame,
    member: &Member,
    no: &OrderNo,
    watched: Result<Watched<A>, Refusal>,
    headers: &HeaderMap,
) -> Response {
    match watched {
        Ok(Watched { version, state, holders }) => {
            Now::new(&member.owner(), version, &holders).state(state).answer(headers)
        }
        Err(refusal) => in_words(frame, no, problem(refusal)).into_response(),
    }
}
