//! The parcel that must not go to the wrong house: an operator ships while the customer changes the address.

use std::sync::Arc;

use shop::domain::OrderState;
use tokio::sync::Barrier;

use super::support::{ORDER, Server, order_path, token};

const SHIPPING: &str = "/orders/2026-000300/shipping";
const START: &str = "/orders/2026-000300/start-shipping";

#[tokio::test]
async fn address_change_before_shipping_makes_operator_review() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let as_park_saw_it = park.open(ORDER).await.form(START);
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("address.line1", "세종대로 9");
    minji.submit(form).await.is(200);
    let refused = park.submit(as_park_saw_it).await;
    refused.is(409).says("세종대로 9").says("김민지");
    assert_eq!(server.order(ORDER).await.0.state(), OrderState::Preparing);
    // The page offers to apply it to the current version.
    park.submit(refused.form(START)).await.is(200);
    let (order, version) = server.order(ORDER).await;
    assert_eq!(
        (order.state(), order.shipping().address().line1.as_str(), version),
        (OrderState::Shipped, "세종대로 9", 3)
    );
}

#[tokio::test]
async fn late_address_after_shipping_is_refused_and_kept() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let form = minji.get(SHIPPING).await.form(SHIPPING).with("address.line1", "세종대로 9");
    let before = server.order(ORDER).await.0;
    park.submit(park.open(ORDER).await.form(START)).await.is(200);
    let refused = minji.submit(form.clone()).await;
    refused.is(409).says("박서연").says("세종대로 9");
    let (order, version) = server.order(ORDER).await;
    assert_eq!((order.state(), order.shipping(), version), (OrderState::Shipped, before.shipping(), 2));
    // Also sent again on the new version, the domain's rule applies, and the text is still there.
    let again = minji.submit(form.with("version", &token(ORDER, 2))).await;
    again.is(409).says("세종대로 9");
    assert_eq!(server.order(ORDER).await, (order, 2));
}

#[tokio::test]
async fn second_form_sees_three_states_and_applies_on_top() {
    let server = Server::start().await;
    let (here, there) = (server.sign_in("park").await, server.sign_in("minji").await);
    let opened = here.get(SHIPPING).await.form(SHIPPING);
    let was = opened.value("address.line1").to_owned();
    let second =
        there.get(SHIPPING).await.form(SHIPPING).with("address.line1", "한강대로 2").with("message", "문 앞에");
    here.submit(opened.with("address.line1", "세종대로 9")).await.is(200);
    let conflict = there.submit(second).await;
    conflict.is(409).says(&was).says("세종대로 9").says("한강대로 2").says("문 앞에");
    assert_eq!(conflict.state(), "CP-2");
    let apply = conflict.form(SHIPPING);
    assert_eq!(apply.value("version"), token(ORDER, 2));
    there.submit(apply).await.is(200);
    let (order, version) = server.order(ORDER).await;
    assert_eq!(
        (order.shipping().address().line1.as_str(), order.shipping().message(), version),
        ("한강대로 2", "문 앞에", 3)
    );
}

#[tokio::test]
async fn one_of_two_concurrent_saves_wins() {
    let server = Server::start().await;
    let (here, there) = (server.sign_in("minji").await, server.sign_in("minji").await);
    for round in 1..=5 {
        let barrier = Arc::new(Barrier::new(2));
        let save = async |browser: &super::support::Browser, line1: String| {
            let form = browser.get(SHIPPING).await.form(SHIPPING).with("address.line1", &line1);
            barrier.wait().await;
            browser.submit(form).await.status.as_u16()
        };
        let mut statuses =
            <[u16; 2]>::from(tokio::join!(save(&here, format!("a {round}")), save(&there, format!("b {round}"))));
        statuses.sort_unstable();
        assert_eq!((statuses, server.order(ORDER).await.1), ([200, 409], round + 1));
    }
}

#[tokio::test]
async fn a_customer_cannot_start_shipping() {
    let server = Server::start().await;
    let minji = server.sign_in("minji").await;
    let page = minji.open(ORDER).await;
    assert!(!page.has_form(START));
    let csrf = page.form(&format!("{}/edit", order_path(ORDER))).value("csrf").to_owned();
    let form = "0".repeat(32);
    minji.post(START, &[("csrf", &csrf), ("version", &token(ORDER, 1)), ("form_id", &form)], &[]).await.is(403);
    assert_eq!((server.order(ORDER).await.0.state(), server.order(ORDER).await.1), (OrderState::Preparing, 1));
}

#[tokio::test]
async fn a_cancelled_order_is_not_shipped() {
    let server = Server::start().await;
    let (minji, park) = (server.sign_in("minji").await, server.sign_in("park").await);
    let start = park.open(ORDER).await.form(START);
    let cancel = minji.open(ORDER).await.form(&format!("{}/cancel", order_path(ORDER)));
    minji.submit(cancel).await.is(200);
    park.submit(start).await.is(409);
    assert_eq!((server.order(ORDER).await.0.state(), server.order(ORDER).await.1), (OrderState::Cancelled, 2));
}
