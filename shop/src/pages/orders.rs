//! The list of orders, with their editors.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use tenure::lease::Holder;
use tenure_web::verdict::{Facts, Verdict, decide};

use super::fields::{Fields, Pairs};
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::refusal;
use crate::domain::OrderState;
use crate::use_cases::{OrderFilter, OrderPage, OrderRow, Shop};

#[derive(Template)]
#[template(path = "orders.html")]
struct OrdersPage {
    f: Frame,
    list: OrderPage,
    state: Option<OrderState>,
}

impl OrdersPage {
    fn shows(&self, state: &OrderState) -> bool {
        self.state == Some(*state)
    }

    /// The holder whose lock blocks a change.
    fn editing(&self, row: &OrderRow) -> Option<Holder> {
        let me = self.f.member.as_ref()?.owner();
        let frozen = (!row.state.is_changeable()).then_some(row.state);
        match decide(&me, Facts::of_a_look(frozen, row.editing.clone().into_iter().collect())) {
            Verdict::Taken { holder, .. } | Verdict::Elsewhere { holder, .. } => Some(holder),
            _ => None,
        }
    }

    fn url(&self, state: Option<&OrderState>, page: u32) -> String {
        let state = state.map(|state| format!("state={}", state.code()));
        let page = (page > 1).then(|| format!("page={page}"));
        let query: Vec<_> = state.into_iter().chain(page).collect();
        if query.is_empty() { "/orders".to_owned() } else { format!("/orders?{}", query.join("&")) }
    }
}

/// GET /orders
pub(super) async fn show(State(shop): State<Shop>, visit: Visit, Query(asked): Query<Pairs>) -> Response {
    // Invalid parameters are ignored: there is always a list.
    let asked = Fields::sent(asked);
    let state = OrderState::from_code(asked.text("state"));
    let filter = OrderFilter { state, page: asked.text("page").parse().unwrap_or(1) };
    match shop.orders(&visit.member, &filter).await {
        Ok(list) => {
            let empty = if state.is_some() { "OL-11" } else { "OL-10" };
            let frame = visit.frame.state(if list.rows.is_empty() { empty } else { "OL-1" });
            let page = OrdersPage { f: frame, list, state };
            page.f.answer(StatusCode::OK, &page)
        }
        Err(refusal) => refusal::plain(visit.frame, refusal),
    }
}
