//! An order: what it says, what can be done with it, who is editing it, who changed it.

use askama::Template;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use tenure::LockId;
use tenure_web::versions::Versioned;

use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::{order_url, problem, refusal};
use crate::domain::{Order, OrderNo, OrderState};
use crate::use_cases::{OrderView, Shop};

#[derive(Template)]
#[template(path = "order.html")]
struct OrderPage {
    f: Frame,
    view: OrderView,
    url: String,
    /// The secrets of the leases that the two edit buttons would take, one each per page that was drawn.
    edit_lid: String,
    note_lid: String,
}

impl OrderPage {
    fn order(&self) -> &Order {
        &self.view.order
    }

    fn can_start_shipping(&self) -> bool {
        self.f.is_operator() && self.order().state() == OrderState::Preparing
    }

    fn waits_for_payment(&self) -> bool {
        self.f.is_operator() && self.order().state() == OrderState::PaymentWaiting
    }
}

/// The number in the address. A text that is no number is that of no order, and the page about it says why.
pub(super) struct Number(pub(super) OrderNo);

impl FromRequestParts<Shop> for Number {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shop: &Shop) -> Result<Number, Response> {
        match Path::<String>::from_request_parts(parts, shop).await {
            Ok(Path(no)) => {
                OrderNo::new(no).map(Number).map_err(|why| problem::no_order_number(Frame::bare(parts), why))
            }
            // Not even text.
            Err(_) => Err(problem::not_found(Frame::bare(parts))),
        }
    }
}

/// A secret for a form that is being drawn.
pub(super) fn fresh_lid() -> String {
    LockId::random().reveal()
}

/// GET /orders/{no}
pub(super) async fn show(State(shop): State<Shop>, visit: Visit, Number(no): Number) -> Response {
    let view = match shop.order(&visit.member, &no).await {
        Ok(view) => view,
        Err(refusal) => return refusal::plain(visit.frame, refusal),
    };
    let state = match &view.holder {
        Some(holder) if visit.frame.is_me(&holder.owner) => "OV-3",
        Some(_) => "OV-2",
        None if !view.order.is_changeable() => "OV-6",
        None => "OV-1",
    };
    let (url, edit_lid, note_lid) = (order_url(&no), fresh_lid(), fresh_lid());
    let page = OrderPage { f: visit.frame.state(state), view, url, edit_lid, note_lid };
    Versioned(page.view.order.token(), page.f.answer(StatusCode::OK, &page)).into_response()
}
