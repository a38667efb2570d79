//! The front page: the story of the parcel, for those who are not signed in.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use super::assets::demo_addresses;
use super::frame::Frame;
use super::icon::Icon;
use super::sign_in;
use crate::seed::DEMO_PASSWORD;
use crate::use_cases::Shop;

#[derive(Template)]
#[template(path = "demo/front.html")]
struct FrontPage {
    f: Frame,
    style: &'static str,
    has_demo: bool,
    /// The accounts to try it with: a customer and an operator, with their buttons.
    ways_in: Vec<(&'static str, &'static str, &'static str)>,
}

/// GET /
pub(super) async fn show(State(shop): State<Shop>, frame: Frame) -> Response {
    if frame.member.is_some() {
        return Redirect::to("/orders").into_response();
    }
    let t = frame.t;
    let accounts = sign_in::accounts(&shop).await;
    let ways = [("minji", t.be_the_customer(), "person"), ("park", t.be_the_operator(), "truck")];
    let ways_in = ways.into_iter().filter(|(id, ..)| accounts.iter().any(|(login, ..)| login == id));
    let page = FrontPage {
        f: frame.state("front"),
        style: &demo_addresses()[0],
        has_demo: shop.has_demo(),
        ways_in: ways_in.collect(),
    };
    page.f.answer(StatusCode::OK, &page)
}
