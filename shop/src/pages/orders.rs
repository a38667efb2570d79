//! The list of orders, with their editors.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::fields::{Fields, Pairs};
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::live;
use super::refusal;
use crate::domain::OrderState;
use crate::texts::Html;
use crate::use_cases::{OrderFilter, OrderPage, OrderRow, Shop};

#[derive(Template)]
#[template(path = "orders.html")]
struct OrdersPage {
    f: Frame,
    shop: Shop,
    list: OrderPage,
    state: Option<OrderState>,
}

impl OrdersPage {
    fn shows(&self, state: &OrderState) -> bool {
        self.state == Some(*state)
    }

    /// Who is editing an order.
    fn editing(&self, row: &OrderRow) -> Html {
        live::cell(&self.f, &self.shop, row)
    }

    /// Where the page asks what is new about its orders.
    fn now(&self) -> String {
        let rows = self.list.rows.iter().map(|row| ("o", format!("{}.{}", row.version, row.no)));
        format!("/now/orders?{}", serde_urlencoded::to_string(rows.collect::<Vec<_>>()).unwrap_or_default())
    }

    /// The states of the page without a connection, and without anything to see.
    fn live_states(&self) -> (&'static str, &'static str) {
        ("OL-12", "")
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
            let page = OrdersPage { f: frame, shop: shop.clone(), list, state };
            page.f.answer(StatusCode::OK, &page)
        }
        Err(refusal) => refusal::plain(visit.frame, refusal),
    }
}
