//! GET /orders/{no}/now and /orders/{no}/note/now: whether anything has changed. It writes nothing, and keeps neither a lease nor the
//! session alive.

use axum::extract::{FromRequestParts, State};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use tenure_web::now::Now;
use tenure_web::problem::Problem;

use super::beat::in_words;
use super::frame::Frame;
use super::order::Number;
use crate::domain::{Member, OrderNo};
use crate::use_cases::{Refusal, Shop, Watched, problem};

/// GET /orders/{no}/now
pub(super) async fn order(State(shop): State<Shop>, asked: Asked, headers: HeaderMap) -> Response {
    let watched = shop.order_now(&asked.member, &asked.no).await;
    asked.answer(watched, &headers)
}

/// GET /orders/{no}/note/now
pub(super) async fn note(State(shop): State<Shop>, asked: Asked, headers: HeaderMap) -> Response {
    let watched = shop.note_now(&asked.member, &asked.no).await;
    asked.answer(watched, &headers)
}

/// The question of a member about an order.
pub(super) struct Asked {
    frame: Frame,
    member: Member,
    no: OrderNo,
}

impl FromRequestParts<Shop> for Asked {
    type Rejection = Problem;

    /// A script asks, so nobody is led to the sign-in page, and a text that is no number is the number of no order.
    async fn from_request_parts(parts: &mut Parts, shop: &Shop) -> Result<Asked, Problem> {
        let frame = Frame::bare(parts);
        let signed_out = || Problem::new(401, "session-expired", frame.t.signed_out_title()).action("sign-in");
        let member = frame.member.clone().ok_or_else(signed_out)?;
        let number = Number::from_request_parts(parts, shop).await;
        let no_order = |_| Problem::new(404, "not-found", frame.t.no_order_title()).detail(frame.t.standing_gone());
        let Number(no) = number.map_err(no_order)?;
        Ok(Asked { frame, member, no })
    }
}

impl Asked {
    fn answer<A>(&self, watched: Result<Watched<A>, Refusal>, headers: &HeaderMap) -> Response {
        match watched {
            Ok(Watched { version, state, holders }) => {
                Now::new(&self.member.owner(), version, &holders).state(state).answer(headers)
            }
            Err(refusal) => in_words(&self.frame, &self.no, problem(refusal)).into_response(),
        }
    }
}
