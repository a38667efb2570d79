//! Changing where an order goes: an optimistic form. It reserves nothing; its version decides when it is saved.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use tenure::{Holder, Version};
use tower_sessions::Session;

use super::fields::Fields;
use super::flash::Flash;
use super::form::{Style, shipping_inputs};
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::input::{Input, Mistake};
use super::order::Number;
use super::posted::{Answer, Posted};
use super::read::read_shipping;
use super::refusal::{self, Attempt, What};
use super::{order_url, see};
use crate::domain::OrderNo;
use crate::use_cases::Shop;

#[derive(Template)]
#[template(path = "shipping.html")]
struct ShippingPage {
    f: Frame,
    no: OrderNo,
    url: String,
    version: Version,
    holder: Option<Holder>,
    inputs: Vec<Input>,
    mistakes: Vec<Mistake>,
}

/// GET /orders/{no}/shipping
pub(super) async fn show(State(shop): State<Shop>, visit: Visit, Number(no): Number) -> Response {
    let view = match shop.order(&visit.member, &no).await {
        Ok(view) => view,
        Err(refusal) => return refusal::plain(visit.frame, refusal),
    };
    if !view.order.is_changeable() {
        // The order's own page says why.
        return see(&order_url(&no));
    }
    let typed = Fields::of_shipping(view.order.shipping());
    page(visit, no, view.order.version(), view.holder, &typed, Vec::new())
}

/// POST /orders/{no}/shipping
pub(super) async fn save(State(shop): State<Shop>, session: Session, Number(no): Number, form: Posted) -> Answer {
    let version = form.version()?;
    let Posted { visit, fields } = form;
    if fields.has("edit-first") {
        return Ok(page(visit, no, version, None, &fields, Vec::new()));
    }
    let info = match read_shipping(visit.frame.t, &fields) {
        Ok(info) => info,
        Err(mistakes) => return Ok(page(visit, no, version, None, &fields, mistakes)),
    };
    match shop.change_shipping(&visit.member, &no, version, info).await {
        Ok(saved) => {
            Flash::saved(version, saved).leave(&session).await;
            Ok(see(&order_url(&no)))
        }
        Err(refusal) => {
            let attempt = Attempt { what: What::ChangeShipping, no: &no, seen: Some(version), fields: &fields };
            Ok(refusal::page(&shop, visit, attempt, refusal).await)
        }
    }
}

fn page(
    visit: Visit,
    no: OrderNo,
    version: Version,
    holder: Option<Holder>,
    typed: &Fields,
    mistakes: Vec<Mistake>,
) -> Response {
    let wrong = !mistakes.is_empty();
    let style = Style { t: visit.frame.t, mistakes: &mistakes, own: !visit.member.is_operator(), readonly: false };
    let inputs = shipping_inputs(style, typed);
    let frame = visit.frame.state(if wrong { "OE-17" } else { "shipping" });
    let page = ShippingPage { f: frame, url: order_url(&no), no, version, holder, inputs, mistakes };
    let status = if wrong { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    page.f.answer(status, &page)
}
