//! The commands of an order: accepted and refused.

use jiff::Timestamp;
use tenure::Aggregate;

use super::*;
use crate::domain::{Address, Receiver};

fn shipping_to(name: &str) -> ShippingInfo {
    let receiver = Receiver { name: name.to_owned(), phone: "010-0000-1234".to_owned() };
    let address =
        Address {
            postal_code: "06236".to_owned(), line1: "서울 강남구 테헤란로 1".to_owned(), line2: String::new()
        };
    ShippingInfo::new(receiver, address, "").expect("a valid address")
}

fn line(line_no: u32, price: i64, quantity: u32) -> OrderLine {
    OrderLine::new(line_no, format!("product {line_no}"), Money::won(price), quantity).expect("a valid line")
}

fn placed_with(lines: Vec<OrderLine>) -> Result<Order, OrderError> {
    let no = OrderNo::new("2026-000123").expect("a number");
    let orderer = MemberId::new("minji").expect("an id");
    Order::place(no, orderer, "김민지", shipping_to("김민지"), lines, Timestamp::UNIX_EPOCH)
}

/// Two lines, 2 × 10,000 and 1 × 5,000 won, in the given state.
fn order(state: OrderState) -> Order {
    let mut order = placed_with(vec![line(1, 10_000, 2), line(2, 5_000, 1)]).expect("an order");
    order.state = state;
    order
}

/// The refusal in every state but the two changeable ones.
fn refusal(state: OrderState) -> OrderError {
    match state {
        OrderState::Cancelled => OrderError::AlreadyCancelled,
        state => OrderError::AlreadyShipped { state },
    }
}

fn unchangeable() -> impl Iterator<Item = OrderState> {
    OrderState::ALL.into_iter().filter(|state| !state.is_changeable())
}

#[test]
fn new_order_awaits_payment_and_totals_its_lines() {
    let order = order(OrderState::PaymentWaiting);
    assert_eq!((order.total(), order.state()), (Money::won(25_000), OrderState::PaymentWaiting));
}

#[test]
fn an_order_needs_a_line_and_a_name() {
    assert_eq!(placed_with(vec![]), Err(OrderError::NoLines));
    let placed = Order::place(
        OrderNo::new("1").expect("a number"),
        MemberId::new("minji").expect("an id"),
        " ",
        shipping_to("김민지"),
        vec![line(1, 100, 1)],
        Timestamp::UNIX_EPOCH,
    );
    let empty = Invalid { field: "orderer_name", problem: crate::domain::Problem::Empty };
    assert_eq!(placed, Err(OrderError::Invalid(empty)));
}

#[test]
fn two_lines_never_have_the_same_number() {
    let placed = placed_with(vec![line(2, 100, 1), line(1, 100, 1), line(2, 300, 1)]);
    assert_eq!(placed, Err(OrderError::DuplicateLine { line_no: 2 }));
}

#[test]
fn too_large_a_total_is_refused() {
    assert_eq!(placed_with(vec![line(1, i64::MAX, 1), line(2, 1, 1)]), Err(OrderError::TotalTooLarge));
}

#[test]
fn the_address_can_change_before_shipping() {
    for state in [OrderState::PaymentWaiting, OrderState::Preparing] {
        let mut order = order(state);
        assert_eq!(order.change_shipping_info(shipping_to("이준호")), Ok(()));
        assert_eq!(order.shipping().receiver().name, "이준호");
    }
}

#[test]
fn the_address_cannot_change_after_shipping() {
    for state in unchangeable() {
        let mut order = order(state);
        assert_eq!(order.change_shipping_info(shipping_to("이준호")), Err(refusal(state)));
        assert_eq!(order.shipping().receiver().name, "김민지");
    }
}

#[test]
fn lines_change_and_the_total_follows() {
    let mut order = order(OrderState::Preparing);
    let changes = vec![LineChange::Add(line(7, 300, 3)), LineChange::Keep { line_no: 2, quantity: 4 }];
    assert_eq!(order.change_lines(changes), Ok(()));
    assert_eq!(order.lines(), [line(2, 5_000, 4), line(7, 300, 3)]);
    assert_eq!(order.total(), Money::won(20_900));
}

#[test]
fn lines_cannot_change_after_shipping() {
    for state in unchangeable() {
        let mut order = order(state);
        // Also for invalid lines: the state matters more to the person.
        assert_eq!(order.change_lines(vec![]), Err(refusal(state)));
        assert_eq!(order.lines().len(), 2);
    }
}

#[test]
fn a_refused_change_of_lines_changes_nothing() {
    let keep = |line_no, quantity| LineChange::Keep { line_no, quantity };
    let refused = [
        (vec![], OrderError::NoLines),
        (vec![keep(1, 1), keep(3, 1)], OrderError::NoSuchLine { line_no: 3 }),
        (vec![keep(1, 1), keep(1, 2)], OrderError::DuplicateLine { line_no: 1 }),
        (vec![keep(1, 1), LineChange::Add(line(2, 1, 1))], OrderError::DuplicateLine { line_no: 2 }),
        (vec![keep(1, 1), keep(2, 0)], OrderError::QuantityOutOfRange { line_no: 2, quantity: 0 }),
        (vec![keep(1, 1), LineChange::Add(line(3, i64::MAX, 1))], OrderError::TotalTooLarge),
    ];
    for (changes, error) in refused {
        let mut order = order(OrderState::Preparing);
        let before = order.clone();
        assert_eq!(order.change_lines(changes), Err(error));
        assert_eq!(order, before);
    }
}

#[test]
fn shipping_starts_only_when_the_order_is_paid() {
    let mut unpaid = order(OrderState::PaymentWaiting);
    assert_eq!(unpaid.start_shipping(), Err(OrderError::NotPaid));
    assert_eq!(unpaid.confirm_payment(), Ok(()));
    assert_eq!(unpaid.start_shipping(), Ok(()));
    assert_eq!(unpaid.state(), OrderState::Shipped);
}

#[test]
fn shipping_starts_only_once() {
    for state in unchangeable() {
        assert_eq!(order(state).start_shipping(), Err(refusal(state)));
    }
}

#[test]
fn an_order_is_cancelled_only_before_shipping() {
    for state in OrderState::ALL {
        let mut order = order(state);
        let (answer, after) = match state.is_changeable() {
            true => (Ok(()), OrderState::Cancelled),
            false => (Err(refusal(state)), state),
        };
        assert_eq!((order.cancel(), order.state()), (answer, after));
    }
}

#[test]
fn parcel_states_follow_in_order() {
    let steps = [
        (Order::confirm_payment as fn(&mut Order) -> _, OrderState::PaymentWaiting, OrderState::Preparing),
        (Order::start_delivery, OrderState::Shipped, OrderState::InDelivery),
        (Order::finish_delivery, OrderState::InDelivery, OrderState::Delivered),
    ];
    for (step, needed, next) in steps {
        for state in OrderState::ALL {
            let mut order = order(state);
            let (answer, after) = match state {
                OrderState::Cancelled => (Err(OrderError::AlreadyCancelled), state),
                state if state == needed => (Ok(()), next),
                state => (Err(OrderError::OutOfTurn { needed, state }), state),
            };
            assert_eq!((step(&mut order), order.state()), (answer, after));
        }
    }
}

#[test]
fn an_order_is_the_same_when_it_is_read_back() {
    let nanosecond = Timestamp::new(1_790_000_000, 123_456_789).expect("a time");
    let lines = vec![line(3, 100, 1), line(1, 200, 2)];
    let no = OrderNo::new("주문 \"17\" 100% 📦").expect("a number");
    let orderer = MemberId::new("minji").expect("an id");
    let order = Order::place(no, orderer, "김민지", shipping_to("Emma"), lines, nanosecond).expect("an order");
    assert_eq!(Order::from_rows(&order.to_rows()), Ok(order));
}
