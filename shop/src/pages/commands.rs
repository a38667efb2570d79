//! Commands without fields: start shipping, cancel. They carry the version that the person saw.

use axum::extract::State;
use tower_sessions::Session;

use super::flash::Flash;
use super::order::Number;
use super::posted::{Answer, Posted};
use super::refusal::{self, Attempt, What};
use super::{order_url, see};
use crate::use_cases::Shop;

/// POST /orders/{no}/start-shipping
pub(super) async fn start_shipping(
    State(shop): State<Shop>,
    session: Session,
    Number(no): Number,
    form: Posted,
) -> Answer {
    let seen = form.version()?;
    let anyway = if form.fields.has("anyway") { Some(form.parse("anyway")?) } else { None };
    let Posted { visit, fields } = form;
    match shop.start_shipping(&visit.member, &no, seen, anyway).await {
        Ok(version) => {
            Flash::Shipping { version: version.number() }.leave(&session).await;
            Ok(see(&order_url(&no)))
        }
        Err(refusal) => {
            let attempt = Attempt { what: What::StartShipping, no: &no, seen: Some(seen), fields: &fields };
            Ok(refusal::page(&shop, visit, attempt, refusal).await)
        }
    }
}

/// POST /orders/{no}/cancel
pub(super) async fn cancel(State(shop): State<Shop>, session: Session, Number(no): Number, form: Posted) -> Answer {
    let seen = form.version()?;
    let Posted { visit, fields } = form;
    match shop.cancel(&visit.member, &no, seen).await {
        Ok(version) => {
            Flash::Cancelled { version: version.number() }.leave(&session).await;
            Ok(see(&order_url(&no)))
        }
        Err(refusal) => {
            let attempt = Attempt { what: What::Cancel, no: &no, seen: Some(seen), fields: &fields };
            Ok(refusal::page(&shop, visit, attempt, refusal).await)
        }
    }
}
