//! Commands without fields: start shipping, cancel. They carry the version that the person saw.

use axum::extract::State;

use super::flash::Flash;
use super::order::Number;
use super::outcome;
use super::posted::{Answer, Posted};
use super::refusal::{Attempt, What};
use crate::domain::Order;
use crate::use_cases::{Doing, Shop};

/// POST /orders/{no}/start-shipping
pub(super) async fn start_shipping(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let form = form.with_kept(&shop, &no).await?;
    let seen = form.version::<Order>()?;
    let once = form.once(&shop, &no, Some(seen.version())).await?;
    let anyway = if form.fields.has("anyway") { Some(form.parse("anyway")?) } else { None };
    let (Posted { visit, fields, .. }, doing) = (form, Doing::Save(once.clone()));
    let start = |seen| {
        let started = shop.start_shipping(&visit.member, &no, seen, anyway, &doing);
        async { started.await.map(|_| Flash::Shipping) }
    };
    let done = outcome::once(&shop, &visit, &once, &no, seen, true, start).await;
    let (seen, done) = outcome::seen(seen, done);
    let attempt = Attempt { what: What::StartShipping, no: &no, seen: Some(seen), fields: &fields, kept: None };
    Ok(outcome::of(&shop, visit, attempt, done).await)
}

/// POST /orders/{no}/cancel
pub(super) async fn cancel(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let form = form.with_kept(&shop, &no).await?;
    let seen = form.version::<Order>()?;
    let once = form.once(&shop, &no, Some(seen.version())).await?;
    let anyway = if form.fields.has("anyway") { Some(form.parse("anyway")?) } else { None };
    let (Posted { visit, fields, .. }, doing) = (form, Doing::Save(once.clone()));
    let cancel = |seen| {
        let cancelled = shop.cancel(&visit.member, &no, seen, anyway, &doing);
        async { cancelled.await.map(|_| Flash::Cancelled) }
    };
    let done = outcome::once(&shop, &visit, &once, &no, seen, true, cancel).await;
    let (seen, done) = outcome::seen(seen, done);
    let attempt = Attempt { what: What::Cancel, no: &no, seen: Some(seen), fields: &fields, kept: None };
    Ok(outcome::of(&shop, visit, attempt, done).await)
}
