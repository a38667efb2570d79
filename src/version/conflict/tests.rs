//! Paths of fields at any depth; sides, and what a conflict says.

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

/// The conflict of two changes of an order.
fn conflict(theirs: impl FnOnce(&mut Order), mine: impl FnOnce(&mut Order)) -> VersionConflict {
    let (opened, mut now, mut own) = (order(), order(), order());
    theirs(&mut now);
    mine(&mut own);
    let (opened, now, own) = (opened.to_rows(), now.to_rows(), own.to_rows());
    VersionConflict {
        aggregate: "Order".into(),
        id: "17".into(),
        expected: Version::FIRST,
        actual: Version::FIRST.next(),
        changed: None,
        fields: compare(Order::mapping(), Some(&opened), Some(&now), Some(&own)),
        opened_known: true,
        mine_known: true,
    }
}

fn value(text: &str) -> Option<Value> {
    Some(Value::Text(text.into()))
}

#[test]
fn a_side_is_the_one_that_changed_the_field() {
    for (opened, now, mine, side) in [
        (value("a"), value("a"), value("b"), Side::Mine),
        (value("a"), value("b"), value("a"), Side::Theirs),
        (value("a"), value("b"), value("c"), Side::Both),
        (value("a"), value("b"), value("b"), Side::Same),
        (None, value("b"), None, Side::Theirs),
        (value("a"), None, value("b"), Side::Both),
    ] {
        let field = FieldConflict { path: "note".into(), opened, now, mine };
        assert_eq!(field.side(), side, "{field:?}");
    }
}

#[test]
fn only_changes_of_different_fields_are_mergeable() {
    let text = |at: usize, text: &'static str| move |order: &mut Order| order.steps[at].text = text.into();
    let mergeable = conflict(text(0, "fetch"), text(1, "send"));
    assert!(mergeable.auto_mergeable());
    assert!(!VersionConflict { opened_known: false, ..mergeable.clone() }.auto_mergeable());
    assert!(!VersionConflict { mine_known: false, ..mergeable }.auto_mergeable());
    assert!(conflict(text(0, "fetch"), text(0, "fetch")).auto_mergeable());
    assert!(!conflict(text(0, "fetch"), text(0, "send")).auto_mergeable());
}

#[test]
fn a_part_added_to_a_line_that_was_removed_is_contested() {
    let part = || Part { part_no: 9, name: "grip".into(), seats: BTreeMap::new() };
    let removed = |order: &mut Order| order.lines.clear();
    assert!(!conflict(|order| order.lines[0].parts.push(part()), removed).auto_mergeable());
    let line = || Line { line_no: 3, parts: vec![part()] };
    assert!(conflict(|order| order.lines.push(line()), removed).auto_mergeable());
    let second = |order: &mut Order| drop(order.lines[0].parts.pop());
    assert!(conflict(|order| order.lines[0].parts.push(part()), second).auto_mergeable());
    assert!(conflict(|order| order.steps.push(step("send")), second).auto_mergeable());
}

#[test]
fn a_conflict_says_who_changed_it_and_what_to_do() {
    let conflict = conflict(|order| order.steps.clear(), |order| order.invoice = None);
    let now = "after you opened it: it is version 2 now, yours is 1; compare, and apply yours on top";
    assert_eq!(conflict.to_string(), format!("Order 17 was changed {now}"));
    let change = |by| Some(Change { version: Version::FIRST, by, at: SystemTime::UNIX_EPOCH, command: None });
    let unknown = VersionConflict { changed: change(None), ..conflict.clone() };
    assert_eq!(unknown.to_string(), format!("Order 17 was changed {now}"));
    let known = VersionConflict { changed: change(Some(Owner::new("lee", "Lee"))), ..conflict.clone() };
    assert_eq!(known.to_string(), format!("Order 17 was changed by Lee {now}"));
    let deleted = VersionConflict { actual: None, ..conflict };
    assert_eq!(deleted.to_string(), "Order 17 was deleted after you opened version 1; nothing was saved");
}

#[test]
fn json_shows_values_as_texts_and_null_as_nothing() {
    let (opened, now) = (Some(Value::Integer(7)), Some(Value::Null(crate::aggregate::value::Kind::Text)));
    let field = FieldConflict { path: "note".into(), opened, now, mine: None };
    let json = serde_json::to_value(field).expect("JSON");
    assert_eq!(json, serde_json::json!({ "path": "note", "opened": "7", "now": null, "mine": null }));
}

#[test]
fn unknown_states_are_not_compared() {
    let (opened, mut now) = (order(), order());
    now.steps[0].text = "send".into();
    let (opened, now) = (opened.to_rows(), now.to_rows());
    let paths = |opened: Option<&Rows>, now: Option<&Rows>, mine: Option<&Rows>| -> Vec<String> {
        compare(Order::mapping(), opened, now, mine).into_iter().map(|field| field.path).collect()
    };
    assert_eq!(paths(Some(&opened), Some(&now), None), ["steps[0].text"]);
    assert_eq!(paths(None, Some(&now), Some(&opened)), ["steps[0].text"]);
    assert_eq!(paths(None, Some(&now), None), [""; 0]);
    assert!(!paths(Some(&opened), None, Some(&opened)).is_empty(), "it was deleted");
}
