//! Orders of the last six weeks, generated from the tables beside this file.

use jiff::{SignedDuration, Timestamp};

use super::dice::Dice;
use super::people::{CUSTOMERS, Person, RELATIVES};
use super::products::PRODUCTS;
use super::texts::{MESSAGES_EN, MESSAGES_KO};
use crate::domain::{
    Address, MemberId, Money, Order, OrderError, OrderLine, OrderNo, OrderState, Receiver, ShippingInfo,
};

const ORDERS: usize = 300;
/// How many of the newest orders mostly belong to the people of the demo.
const NEWEST: usize = 30;
/// The people of the demo are the first of the customers.
const STORY: usize = 3;

type Step = fn(&mut Order) -> Result<(), OrderError>;

/// The steps of an order that is not cancelled, from its placing to its delivery.
const STEPS: [Step; 4] = [Order::confirm_payment, Order::start_shipping, Order::start_delivery, Order::finish_delivery];

/// Three hundred orders of the 45 days before `now`, oldest first, numbered `2026-000001` to `2026-000300`.
pub fn orders(now: Timestamp) -> Vec<Order> {
    let mut dice = Dice::new(2026);
    let mut age = SignedDuration::ZERO;
    let newest_first = (0..ORDERS).map(|rank| {
        // Older orders have longer intervals, because the shop was less known.
        let pause = 60 * (20 + 13 * rank / 10);
        age += SignedDuration::from_secs((pause / 2 + dice.roll(pause)) as i64);
        order(rank, age, now, &mut dice).expect("the tables of the seed obey the rules of the domain")
    });
    let mut orders: Vec<_> = newest_first.collect();
    orders.reverse();
    orders
}

/// One order; `rank` 0 is the newest.
fn order(rank: usize, age: SignedDuration, now: Timestamp, dice: &mut Dice) -> Result<Order, OrderError> {
    let no = OrderNo::new(format!("2026-{:06}", ORDERS - rank))?;
    let customer = customer(rank, dice);
    let (id, orderer) = &CUSTOMERS[customer];
    let receiver = if dice.roll(6) == 0 { &RELATIVES[customer % RELATIVES.len()] } else { orderer };
    let (shipping, lines) = (shipping_to(receiver, dice), lines(dice)?);
    let mut order = Order::place(no, MemberId::new(*id)?, orderer.name, shipping, lines, now - age)?;
    bring_to(state(rank, age), &mut order)?;
    Ok(order)
}

/// Of every five of the newest orders three belong to the people of the demo, so that each of them has several that
/// can still change; the others, and all older ones, are assigned at random.
fn customer(rank: usize, dice: &mut Dice) -> usize {
    match rank % 5 {
        turn if rank < NEWEST && turn < STORY => turn,
        _ if rank < NEWEST => STORY + dice.roll(CUSTOMERS.len() - STORY),
        _ => dice.roll(CUSTOMERS.len()),
    }
}

/// The state of an order of this age. On the first day every third still waits for its payment; one in nineteen is
/// cancelled, at any age.
fn state(rank: usize, age: SignedDuration) -> OrderState {
    if rank % 19 == 13 {
        return OrderState::Cancelled;
    }
    match age.as_hours() {
        0..24 if rank % 3 == 2 => OrderState::PaymentWaiting,
        0..48 => OrderState::Preparing,
        48..72 => OrderState::Shipped,
        72..96 => OrderState::InDelivery,
        _ => OrderState::Delivered,
    }
}

fn bring_to(state: OrderState, order: &mut Order) -> Result<(), OrderError> {
    if state == OrderState::Cancelled {
        return order.cancel();
    }
    STEPS.iter().try_for_each(|step| if order.state() == state { Ok(()) } else { step(order) })
}

fn shipping_to(person: &Person, dice: &mut Dice) -> ShippingInfo {
    let message = dice.pick(if person.name.is_ascii() { MESSAGES_EN } else { MESSAGES_KO });
    let receiver = Receiver { name: person.name.to_owned(), phone: person.phone.to_owned() };
    let address = Address {
        postal_code: person.postal_code.to_owned(),
        line1: person.line1.to_owned(),
        line2: person.line2.to_owned(),
    };
    ShippingInfo::new(receiver, address, message).expect("the addresses of the seed are valid")
}

/// One to four different products, most of them once.
fn lines(dice: &mut Dice) -> Result<Vec<OrderLine>, OrderError> {
    let (count, first) = (*dice.pick(&[1, 1, 1, 2, 2, 3, 4]), dice.roll(PRODUCTS.len()));
    let line = |at: usize| {
        let (product, price) = PRODUCTS[(first + 7 * at) % PRODUCTS.len()];
        let quantity = *dice.pick(&[1, 1, 1, 1, 2, 2, 3]);
        OrderLine::new(at as u32 + 1, product, Money::won(price), quantity)
    };
    (0..count).map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::new(1_795_000_000, 0).expect("a time")
    }

    #[test]
    fn every_order_obeys_the_rules() {
        for order in orders(now()) {
            let total: i64 = order.lines().iter().map(|line| line.price().as_won() * i64::from(line.quantity())).sum();
            assert_eq!(order.total(), Money::won(total), "{}", order.no());
            let numbers: Vec<_> = order.lines().iter().map(OrderLine::line_no).collect();
            assert_eq!(numbers, (1..=order.lines().len() as u32).collect::<Vec<_>>());
            assert!(!order.lines().is_empty());
            assert!(order.lines().iter().all(|line| (1..=OrderLine::MAX_QUANTITY).contains(&line.quantity())));
            let shipping = order.shipping().clone();
            let again = ShippingInfo::new(shipping.receiver().clone(), shipping.address().clone(), shipping.message());
            assert_eq!(again, Ok(shipping));
        }
    }

    #[test]
    fn seeded_order_numbers_follow_dates_over_45_days() {
        let orders = orders(now());
        let numbers = (1..=300).map(|n| format!("2026-{n:06}"));
        assert!(orders.iter().map(|order| order.no().to_string()).eq(numbers));
        assert!(orders.is_sorted_by(|earlier, later| earlier.placed_at() < later.placed_at()));
        let days = now().duration_since(orders[0].placed_at()).as_hours() / 24;
        assert!((40..=47).contains(&days), "{days}");
        assert!(orders[299].placed_at() < now());
    }

    #[test]
    fn old_orders_are_delivered_and_new_ones_are_not() {
        let mut counts = HashMap::new();
        for order in orders(now()) {
            *counts.entry(order.state()).or_insert(0) += 1;
            let days = now().duration_since(order.placed_at()).as_hours() / 24;
            match order.state() {
                OrderState::Delivered => assert!(days >= 4),
                OrderState::PaymentWaiting => assert!(days < 1),
                OrderState::Cancelled => {}
                _ => assert!(days < 4),
            }
        }
        let counted = OrderState::ALL.map(|state| (state, counts.get(&state).copied().unwrap_or(0)));
        let expected = [10, 42, 15, 14, 203, 16];
        assert_eq!(counted.map(|(_, count)| count), expected, "{counted:?}");
    }
}
