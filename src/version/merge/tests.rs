//! Merges of two changes of one order.

use super::*;
use crate::{Aggregate, Entity};

#[derive(Aggregate, Clone)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    note: String,
    sum: u32,
    #[aggregate(children, table = "order_line", owner = "order_no")]
    lines: Vec<Line>,
}

#[derive(Entity, Clone)]
struct Line {
    #[aggregate(key)]
    line_no: u32,
    quantity: u32,
    text: String,
}

fn line(line_no: u32, quantity: u32) -> Line {
    Line { line_no, quantity, text: "handle".into() }
}

fn order() -> Order {
    Order { no: "17".into(), note: "rice".into(), sum: 3, lines: vec![line(1, 1), line(2, 2)] }
}

fn changed(change: impl Fn(&mut Order)) -> Order {
    let mut order = order();
    change(&mut order);
    order
}

/// The merged state, and whether it is torn. `None`: a person has to decide.
fn merged(policy: Merge, theirs: impl Fn(&mut Order), mine: impl Fn(&mut Order)) -> Option<(Rows, bool)> {
    let mapping = Order::mapping();
    let mut after = changed(&theirs);
    mine(&mut after);
    let (now, mine, after) = (changed(theirs).to_rows(), changed(mine).to_rows(), after.to_rows());
    let cells = policy.decide(mapping, &order().to_rows(), &now, &mine)?;
    let mut merged = after.clone();
    put_back(&cells, &now, &mut merged);
    let torn = is_torn(mapping, &cells, &mine, &after, &merged);
    Some((merged, torn))
}

fn whole(change: impl Fn(&mut Order)) -> Option<(Rows, bool)> {
    Some((changed(change).to_rows(), false))
}

#[test]
fn changes_of_different_fields_are_both_kept() {
    let form = |order: &mut Order| (order.note, order.sum) = ("rice".into(), 4);
    let both = whole(|order| (order.note, order.sum) = ("tea".into(), 4));
    let policy = Merge::Disjoint;
    assert_eq!(merged(policy, |order| order.note = "tea".into(), form), both, "a form sets all its fields");
    assert_eq!(merged(policy, |order| order.note = "tea".into(), |order| order.sum = 4), both);
    assert_eq!(merged(Merge::Never, |order| order.note = "tea".into(), form), None);
    assert_eq!(merged(Merge::default(), |order| order.note = "tea".into(), form), None);
}

#[test]
fn the_same_field_is_not_merged() {
    let (theirs, mine) = (|order: &mut Order| order.sum = 5, |order: &mut Order| order.sum = 4);
    assert_eq!(merged(Merge::Disjoint, theirs, mine), None);
}

#[test]
fn lines_of_the_others_are_restored_and_removed() {
    let form = |order: &mut Order| order.lines = vec![line(1, 1), line(2, 9)];
    let (added, other) =
        (|order: &mut Order| order.lines.push(line(3, 3)), |order: &mut Order| order.lines[0].quantity = 7);
    let policy = Merge::Disjoint;
    assert_eq!(merged(policy, added, form), whole(|order| order.lines = vec![line(1, 1), line(2, 9), line(3, 3)]));
    assert_eq!(merged(policy, other, form), whole(|order| order.lines = vec![line(1, 7), line(2, 9)]));
    let removed = |order: &mut Order| order.lines.truncate(1);
    assert_eq!(merged(policy, removed, form), None);
    let unchanged = |order: &mut Order| (order.sum, order.lines) = (4, vec![line(1, 1), line(2, 2)]);
    let expected = whole(|order| (order.sum, order.lines) = (4, vec![line(1, 1)]));
    assert_eq!(merged(policy, removed, unchanged), expected);
}

#[test]
fn a_result_that_depends_on_reset_changes_is_torn() {
    let torn =
        |theirs: fn(&mut Order), mine: fn(&mut Order)| merged(Merge::Disjoint, theirs, mine).map(|(_, torn)| torn);
    let note = |order: &mut Order| order.note = "tea".into();
    let length =
        |order: &mut Order| (order.sum, order.note) = (if order.note == "rice" { 4 } else { 3 }, "rice".into());
    assert_eq!(torn(note, length), Some(false), "another field of the root");
    let total = |order: &mut Order| {
        order.sum = order.lines.iter().map(|line| line.quantity).sum();
        order.lines = vec![line(1, 1), line(2, 2)];
    };
    assert_eq!(torn(|order| order.lines[0].quantity = 7, total), Some(true), "a sum of lines");
}
