//! The shop as it looks on a busy day: three hundred orders, the people who placed them, and the operators' notes.
//!
//! It is the same on every call except for the time, so that a story about order `2026-000300` is true wherever the shop is
//! started. All people are invented; their phone numbers do not exist.

mod dice;
mod orders;
mod people;
mod products;
mod texts;

use crate::domain::{MemberId, Note, OrderNo, Product, Role};

pub use orders::orders;

/// The author of what the demo comes with, in the history.
pub(crate) const AUTHOR: &str = "seed";

/// The password of every seeded member.
pub const DEMO_PASSWORD: &str = "tenure-demo";

/// The members who can sign in: sign-in name, name, role, and the password in clear text, to be hashed by the caller.
pub fn members() -> Vec<(MemberId, &'static str, Role, &'static str)> {
    let customers = people::CUSTOMERS.iter().map(|(id, person)| (*id, person.name, Role::Customer));
    let operators = people::OPERATORS.iter().map(|(id, name)| (*id, *name, Role::Operator));
    let member = |(id, name, role)| (MemberId::new(id).expect("a valid sign-in name"), name, role, DEMO_PASSWORD);
    customers.chain(operators).map(member).collect()
}

/// What is in stock: twenty pieces of most products, and few of some.
pub fn stock() -> Vec<Product> {
    let pieces = |at: usize| if at % 13 == 5 { 3 } else { 20 };
    let product = |(at, (name, _)): (usize, &(&str, i64))| Product::new(name, pieces(at)).expect("a valid product");
    products::PRODUCTS.iter().enumerate().map(product).collect()
}

/// What the operators wrote about some of the orders.
pub fn notes() -> Vec<Note> {
    let note = |(no, text): &(&str, &str)| {
        let no = OrderNo::new(*no).expect("a valid number");
        Note::new(no, text).expect("a valid note")
    };
    texts::NOTES.iter().map(note).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::domain::{Member, Order, OrderState};

    fn now() -> Timestamp {
        Timestamp::new(1_795_000_000, 0).expect("a time")
    }

    #[test]
    fn customers_and_operators_can_sign_in() {
        let members = members();
        let of_role = |role| members.iter().filter(move |member| member.2 == role).count();
        assert_eq!((of_role(Role::Customer), of_role(Role::Operator)), (12, 2));
        let ids: HashSet<_> = members.iter().map(|member| member.0.as_str()).collect();
        assert_eq!(ids.len(), members.len());
        assert!(["minji", "lee", "emma", "park", "olivia"].iter().all(|id| ids.contains(id)));
        for (id, name, role, password) in members {
            assert_eq!(password, DEMO_PASSWORD);
            assert_eq!(Member::new(id, name, role, "hash").expect("a valid member").name(), name);
        }
    }

    #[test]
    fn every_order_was_placed_by_a_member_under_the_members_name() {
        let members = members();
        for order in orders(now()) {
            let (_, name, role, _) = members.iter().find(|member| member.0 == *order.orderer()).expect("a member");
            assert_eq!((order.orderer_name(), *role), (*name, Role::Customer));
        }
    }

    #[test]
    fn demo_customers_have_several_changeable_recent_orders() {
        let orders = orders(now());
        for id in ["minji", "lee", "emma"] {
            let theirs = |order: &&Order| order.orderer().as_str() == id && order.state() == OrderState::Preparing;
            let changeable = orders.iter().rev().take(30).filter(theirs).count();
            assert!(changeable >= 4, "{id} has {changeable}");
        }
    }

    #[test]
    fn every_note_is_about_an_order_and_no_order_has_two() {
        let orders: HashSet<_> = orders(now()).iter().map(|order| order.no().clone()).collect();
        let notes = notes();
        let noted: HashSet<_> = notes.iter().map(|note| note.order_no().clone()).collect();
        assert_eq!(noted.len(), notes.len());
        assert!(noted.is_subset(&orders));
    }

    #[test]
    fn the_shop_is_the_same_on_every_call_and_moves_with_the_time() {
        assert_eq!(orders(now()), orders(now()));
        let hour = SignedDuration::from_hours(1);
        let (earlier, later) = (orders(now()), orders(now() + hour));
        for (earlier, later) in earlier.iter().zip(&later) {
            assert_eq!((earlier.no(), earlier.placed_at() + hour), (later.no(), later.placed_at()));
            assert_eq!((earlier.state(), earlier.lines()), (later.state(), later.lines()));
        }
    }
}
