//! Commands without fields: start shipping, cancel. They carry the version that the person saw.

use axum::extract::State;
use tower_sessions::Session;

use super::flash::Flash;
use super::order::Number;
use super::outcome;
use super::posted::{Answer, Posted};
use super::refusal::{Attempt, What};
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
    let done = shop.start_shipping(&visit.member, &no, seen, anyway).await;
    let done = done.map(|version| Flash::Shipping { version: version.number() });
    let attempt = Attempt { what: What::StartShipping, no: &no, seen: Some(seen), fields: &fields };
    Ok(outcome::of(&shop, &session, visit, attempt, done).await)
}

/// POST /orders/{no}/cancel
pub(super) async fn cancel(State(shop): State<Shop>, session: Session, Number(no): Number, form: Posted) -> Answer {
    let seen = form.version()?;
    let Posted { visit, fields } = form;
    let done = shop.cancel(&visit.member, &no, seen).await;
    let done = done.map(|version| Flash::Cancelled { version: version.number() });
    let attempt = Attempt { what: What::Cancel, no: &no, seen: Some(seen), fields: &fields };
    Ok(outcome::of(&shop, &session, visit, attempt, done).await)
}
