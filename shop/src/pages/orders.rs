//! The list of orders, with their editors.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use unicode_normalization::UnicodeNormalization;

use super::fields::{Fields, Pairs};
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::live;
use super::read::number;
use super::refusal;
use crate::domain::{OrderNo, OrderState};
use crate::storage::Sort;
use crate::texts::{Html, Lang};
use crate::use_cases::{Only, OrderFilter, OrderPage, OrderRow, Shop};

#[derive(Template)]
#[template(path = "orders.html")]
struct OrdersPage {
    f: Frame,
    shop: Shop,
    list: OrderPage,
    filter: OrderFilter,
}

/// The kinds of orders, with their codes in addresses.
const KINDS: [(&str, Only); 3] = [("edited", Only::Edited), ("mine", Only::Mine), ("drafts", Only::Drafts)];
/// The orders of the list, with their codes in addresses.
const SORTS: [(&str, Sort); 3] = [("", Sort::Newest), ("oldest", Sort::Oldest), ("total", Sort::Total)];
/// The maximum length of a search, in characters: a number is not longer.
const LONGEST_SEARCH: usize = OrderNo::MAX;

/// The code of a value.
fn code<T: PartialEq>(codes: &[(&'static str, T)], value: &T) -> &'static str {
    codes.iter().find(|(_, known)| known == value).map_or("", |(code, _)| code)
}

/// The value of a code.
fn of_code<T: Copy>(codes: &[(&'static str, T)], code: &str) -> Option<T> {
    codes.iter().find(|(known, _)| *known == code).map(|(_, value)| *value)
}

impl OrdersPage {
    fn shows(&self, state: &OrderState) -> bool {
        self.filter.state == Some(*state)
    }

    fn shows_only(&self, only: &Only) -> bool {
        self.filter.only == Some(*only)
    }

    /// Whether it is the kind whose link names the drafts of the browser.
    fn is_drafts(&self, only: &Only) -> bool {
        *only == Only::Drafts
    }

    /// Whether something is filtered.
    fn is_filtered(&self) -> bool {
        self.filter.state.is_some() || self.filter.only.is_some() || self.filter.search.is_some()
    }

    fn search(&self) -> &str {
        self.filter.search.as_deref().unwrap_or_default()
    }

    /// What is said if nothing fits.
    fn none(&self) -> Html {
        let (t, filter) = (self.f.t, &self.filter);
        match (filter.state, filter.only, &filter.search) {
            (None, None, None) => t.no_orders().into(),
            (Some(state), None, None) => t.none_in_state(t.order_state(state)),
            (None, Some(only), None) => none_of(t, only).into(),
            (None, None, Some(search)) => t.none_found_for(search),
            _ => t.none_found().into(),
        }
    }

    fn kind_label(&self, only: &Only) -> &'static str {
        match only {
            Only::Edited => self.f.t.filter_edited(),
            Only::Mine => self.f.t.filter_mine(),
            Only::Drafts => self.f.t.filter_drafts(),
        }
    }

    /// Whether the list has this order; the word for `aria-sort`.
    fn sorted(&self, column: &str) -> &'static str {
        match (column, self.filter.sort) {
            ("placed", Sort::Newest) | ("total", Sort::Total) => "descending",
            ("placed", Sort::Oldest) => "ascending",
            _ => "none",
        }
    }

    /// The address of the list in the other order of this column.
    fn resorted(&self, column: &str) -> String {
        let sort = match (column, self.filter.sort) {
            ("total", _) => Sort::Total,
            (_, Sort::Newest) => Sort::Oldest,
            _ => Sort::Newest,
        };
        address(&OrderFilter { sort, page: 1, ..self.filter.clone() })
    }

    fn in_state(&self, state: Option<&OrderState>) -> String {
        address(&OrderFilter { state: state.copied(), page: 1, ..self.filter.clone() })
    }

    /// The address with this kind alone, or without it if it is chosen.
    fn only(&self, only: &Only) -> String {
        let only = (!self.shows_only(only)).then_some(*only);
        address(&OrderFilter { only, page: 1, ..self.filter.clone() })
    }

    fn page(&self, page: u32) -> String {
        address(&OrderFilter { page, ..self.filter.clone() })
    }

    /// The fields of the search and of the jump to a page, besides the one that is typed.
    fn hidden(&self, without: &str) -> Vec<(&'static str, String)> {
        pairs(&OrderFilter { page: 1, ..self.filter.clone() })
            .into_iter()
            .filter(|(name, _)| *name != without)
            .collect()
    }

    /// Who is editing an order.
    fn editing(&self, row: &OrderRow) -> Html {
        live::cell(&self.f, &self.shop, row)
    }

    /// Where the page asks what is new about its orders.
    fn now(&self) -> String {
        let rows = self.list.rows.iter().map(|row| ("o", format!("{}.{}", row.version, row.no)));
        let only = self.watches().map(|only| ("only", code(&KINDS, &only).to_owned()));
        format!("/now/orders?{}", serde_urlencoded::to_string(rows.chain(only).collect::<Vec<_>>()).unwrap_or_default())
    }

    /// The list of all that is edited, by anybody or by the viewer.
    fn watches(&self) -> Option<Only> {
        let OrderFilter { state, search, only, .. } = &self.filter;
        let is_all = state.is_none() && search.is_none() && self.list.pages == 1;
        only.filter(|only| is_all && *only != Only::Drafts)
    }

    fn is_live(&self) -> bool {
        !self.list.rows.is_empty() || self.watches().is_some()
    }

    /// The states of the page without a connection, and without anything to see.
    fn live_states(&self) -> (&'static str, &'static str) {
        ("OL-12", "")
    }
}

/// What is said if there are no orders of this kind.
pub(super) fn none_of(t: Lang, only: Only) -> &'static str {
    match only {
        Only::Edited => t.nobody_edits_an_order(),
        Only::Mine => t.you_edit_none(),
        Only::Drafts => t.no_drafts(),
    }
}

/// The kind of orders with this code.
pub(super) fn only(code: &str) -> Option<Only> {
    of_code(&KINDS, code)
}

/// The parameters of a list in its address.
fn pairs(filter: &OrderFilter) -> Vec<(&'static str, String)> {
    let only = filter.only.map(|only| code(&KINDS, &only).to_owned());
    let sort = Some(code(&SORTS, &filter.sort).to_owned()).filter(|code| !code.is_empty());
    let page = (filter.page > 1).then(|| filter.page.to_string());
    let state = filter.state.map(|state| state.code().to_owned());
    let named = [("q", filter.search.clone()), ("state", state), ("only", only), ("sort", sort), ("page", page)];
    let drafts = filter.drafts.iter().map(|no| ("draft", no.to_string()));
    named.into_iter().filter_map(|(name, value)| Some((name, value?))).chain(drafts).collect()
}

fn address(filter: &OrderFilter) -> String {
    match serde_urlencoded::to_string(pairs(filter)).unwrap_or_default() {
        query if query.is_empty() => "/orders".to_owned(),
        query => format!("/orders?{query}"),
    }
}

/// Invalid parameters are ignored: there is always a list.
fn filter(query: Pairs) -> OrderFilter {
    let drafts = query.iter().filter(|(name, _)| name == "draft").filter_map(|(_, no)| OrderNo::new(no).ok()).collect();
    let asked = Fields::sent(query);
    let search: String = asked.text("q").trim().nfc().filter(|c| !c.is_control()).take(LONGEST_SEARCH).collect();
    OrderFilter {
        state: OrderState::from_code(asked.text("state")),
        search: Some(search).filter(|search| !search.is_empty()),
        only: only(asked.text("only")),
        drafts,
        sort: of_code(&SORTS, asked.text("sort")).unwrap_or_default(),
        page: number(asked.text("page")).unwrap_or(1),
    }
}

/// GET /orders
pub(super) async fn show(State(shop): State<Shop>, visit: Visit, Query(asked): Query<Pairs>) -> Response {
    let filter = filter(asked);
    match shop.orders(&visit.member, &filter).await {
        Ok(list) => {
            let mut page = OrdersPage { f: visit.frame, shop: shop.clone(), list, filter };
            page.f.state = match (page.list.rows.is_empty(), page.is_filtered()) {
                (false, _) => "OL-1",
                (true, true) => "OL-11",
                (true, false) => "OL-10",
            };
            page.f.answer(StatusCode::OK, &page)
        }
        Err(refusal) => refusal::plain(visit.frame, refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_what_differs_and_is_read_back() {
        assert_eq!(address(&filter(Vec::new())), "/orders");
        for query in [
            "state=Shipped&page=3",
            "q=%EA%B9%80+%26&state=Preparing&only=edited&sort=total",
            "only=drafts&draft=a%2Fb",
        ] {
            let read = filter(serde_urlencoded::from_str(query).expect("a query"));
            assert_eq!(address(&read), format!("/orders?{query}"));
        }
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        let query = "q=++&state=Nowhere&only=all&sort=up&page=-1&draft=%0A";
        assert_eq!(address(&filter(serde_urlencoded::from_str(query).expect("a query"))), "/orders");
        let long = filter(vec![("q".into(), "가".repeat(5_000))]);
        assert_eq!(long.search.expect("a search").chars().count(), LONGEST_SEARCH);
        // As macOS pastes it.
        let decomposed = filter(vec![("q".into(), "\u{1112}\u{1161}\u{11ab}".into())]);
        assert_eq!(decomposed.search.as_deref(), Some("\u{d55c}"));
    }
}
