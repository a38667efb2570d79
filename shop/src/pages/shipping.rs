//! Changing where an order goes: an optimistic form. It reserves nothing; its version decides when it is saved.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use tenure::{Holder, VersionToken};
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
use super::{both, order_url, outcome, see};
use crate::domain::{Order, OrderNo};
use crate::use_cases::Shop;

#[derive(Template)]
#[template(path = "shipping.html")]
struct ShippingPage {
    f: Frame,
    no: OrderNo,
    url: String,
    version: VersionToken<Order>,
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
    page(visit, no, view.order.token(), view.holder, &typed, Vec::new())
}

/// POST /orders/{no}/shipping
pub(super) async fn save(State(shop): State<Shop>, session: Session, Number(no): Number, form: Posted) -> Answer {
    let (version, opened) = (form.version()?, both::opened(&form)?);
    let Posted { visit, fields } = form;
    if fields.has("edit-first") {
        return Ok(page(visit, no, version, None, &fields, Vec::new()));
    }
    let info = match read_shipping(visit.frame.t, &fields) {
        Ok(info) => info,
        Err(mistakes) => return Ok(page(visit, no, version, None, &fields, mistakes)),
    };
    let done = match opened {
        None => shop.change_shipping(&visit.member, &no, version, info).await.map(|saved| Flash::saved(version, saved)),
        Some(opened) => {
            let changes = both::changes(&fields, info, None);
            let saved = shop.save_both(&visit.member, &no, opened, None, &changes).await;
            saved.map(|saved| Flash::saved_both(&visit.frame, saved))
        }
    };
    let attempt = Attempt { what: What::ChangeShipping, no: &no, seen: Some(version), fields: &fields };
    Ok(outcome::of(&shop, &session, visit, attempt, done).await)
}

fn page(
    visit: Visit,
    no: OrderNo,
    version: VersionToken<Order>,
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
