//! Paths of fields at any depth.

use std::collections::BTreeMap;

use super::*;
use crate::{Aggregate, Entity, ValueObject};

#[derive(Aggregate, Clone)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    #[aggregate(children, table = "order_line", owner = "order_no")]
    lines: Vec<Line>,
    #[aggregate(children, table = "order_invoice", owner = "order_no")]
    invoice: Option<Invoice>,
    #[aggregate(children, table = "order_step", owner = "order_no", key = "position")]
    steps: Vec<Step>,
}

#[derive(Entity, Clone)]
struct Line {
    #[aggregate(key)]
    line_no: u32,
    #[aggregate(children, table = "order_part")]
    parts: Vec<Part>,
}

#[derive(Entity, Clone)]
struct Part {
    #[aggregate(key)]
    part_no: u32,
    name: String,
    #[aggregate(children, table = "order_part_seat", key = "hall, seat_no")]
    seats: BTreeMap<Seat, Step>,
}

#[derive(ValueObject, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Seat {
    hall: String,
    no: u32,
}

#[derive(Entity, Clone)]
struct Invoice {
    number: u32,
    #[aggregate(children, table = "order_invoice_note")]
    note: Option<Step>,
}

#[derive(Entity, Clone)]
struct Step {
    text: String,
}

fn step(text: &str) -> Step {
    Step { text: text.into() }
}

fn order() -> Order {
    let part = |part_no| Part { part_no, name: "handle".into(), seats: BTreeMap::new() };
    Order {
        no: "17".into(),
        lines: vec![Line { line_no: 2, parts: vec![part(7), part(8)] }],
        invoice: Some(Invoice { number: 1, note: Some(step("paid")) }),
        steps: vec![step("pick"), step("pack")],
    }
}

/// The changes of `mine`, as paths.
fn changed(change: impl FnOnce(&mut Order)) -> Vec<String> {
    let (opened, mut mine) = (order(), order());
    change(&mut mine);
    let fields = compare(Order::mapping(), Some(&opened.to_rows()), Some(&opened.to_rows()), Some(&mine.to_rows()));
    assert!(fields.iter().all(|field| field.side() == Side::Mine));
    fields.into_iter().map(|field| field.path).collect()
}

#[test]
fn a_field_is_named_through_all_its_parents() {
    assert_eq!(changed(|order| order.lines[0].parts[0].name = "grip".into()), ["lines[2].parts[7].name"]);
    assert_eq!(changed(|order| order.steps[1].text = "send".into()), ["steps[1].text"]);
}

#[test]
fn an_optional_child_needs_no_brackets() {
    assert_eq!(changed(|order| order.invoice.as_mut().expect("an invoice").number = 2), ["invoice.number"]);
    let note = |order: &mut Order| order.invoice.as_mut().expect("an invoice").note = Some(step("open"));
    assert_eq!(changed(note), ["invoice.note.text"]);
    assert_eq!(changed(|order| order.invoice = None), ["invoice.number", "invoice.note.text"]);
}

#[test]
fn added_or_removed_child_shows_only_its_own_fields() {
    let gone = ["lines[2].parts[8].part_no", "lines[2].parts[8].name"];
    assert_eq!(changed(|order| drop(order.lines[0].parts.pop())), gone);
    assert_eq!(changed(|order| order.steps.push(step("send"))), ["steps[2]", "steps[2].text"]);
    let sit = |order: &mut Order| {
        let seat = Seat { hall: "red".into(), no: 12 };
        order.lines[0].parts[0].seats.insert(seat, step("left"));
    };
    let seat = ["hall", "no", "text"].map(|field| format!("lines[2].parts[7].seats[red,12].{field}"));
    assert_eq!(changed(sit), seat);
}
