use jiff::Timestamp;
use tenure::Version;

use super::*;
use crate::domain::{Address, MemberId, Money, OrderLine, OrderNo, Receiver, ShippingInfo};

fn fields(pairs: &[(&str, &str)]) -> Fields {
    Fields::sent(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
}

fn order(lines: &[(u32, u32)]) -> Order {
    let receiver = Receiver { name: "김민지".into(), phone: "010-0000-1001".into() };
    let address = Address { postal_code: "06236".into(), line1: "테헤란로 1".into(), line2: String::new() };
    let shipping = ShippingInfo::new(receiver, address, "").expect("valid");
    let line = |(no, quantity): &(u32, u32)| OrderLine::new(*no, "차", Money::won(100), *quantity).expect("a line");
    let (no, minji) = (OrderNo::new("7").expect("a number"), MemberId::new("minji").expect("an id"));
    let lines = lines.iter().map(line).collect();
    Order::place(no, minji, "김민지", shipping, lines, Timestamp::UNIX_EPOCH).expect("an order")
}

fn text(text: &str) -> Option<Value> {
    Some(Value::Text(text.into()))
}

fn number(number: i64) -> Option<Value> {
    Some(Value::Integer(number))
}

/// A path, with its opened, current and typed value.
type Field<'a> = (&'a str, Option<Value>, Option<Value>, Option<Value>);

fn conflict(fields: Vec<Field<'_>>, known: bool) -> VersionConflict {
    let field = |(path, opened, now, mine): Field<'_>| FieldConflict { path: path.into(), opened, now, mine };
    VersionConflict {
        aggregate: "Order".into(),
        id: "7".into(),
        expected: Version::FIRST,
        actual: Version::new(2).ok(),
        changed: None,
        fields: fields.into_iter().map(field).collect(),
        opened_known: known,
        mine_known: known,
    }
}

fn choices(rows: &[Row]) -> Vec<(String, String, String)> {
    let choice = |row: &Row| row.choice.clone().map(|choice| (choice.name, choice.theirs, choice.mine));
    rows.iter().filter_map(choice).collect()
}

#[test]
fn merge_keeps_their_value_where_only_they_changed() {
    let typed = fields(&[("receiver.phone", "old"), ("address.line1", "mine")]);
    let conflict = conflict(
        vec![
            ("shipping.receiver.phone", text("old"), text("theirs"), text("old")),
            ("shipping.address.line1", text("old"), text("old"), text("mine")),
        ],
        true,
    );
    let rows = rows(Lang::En, &conflict, &typed, None);
    assert_eq!(rows.iter().map(|row| row.side).collect::<Vec<_>>(), [Side::Theirs, Side::Mine]);
    assert_eq!(choices(&rows)[0], ("receiver.phone".into(), "theirs".into(), "old".into()));
    assert_eq!(undecided(&typed, &rows), Fields::default());
}

#[test]
fn their_added_line_is_one_row_and_stays() {
    let typed = fields(&[("quantity-1", "1"), ("message", "x")]);
    let added = vec![
        ("lines[2].line_no", None, number(2), None),
        ("lines[2].product", None, text("차"), None),
        ("lines[2].price", None, number(100), None),
        ("lines[2].quantity", None, number(3), None),
        ("total", number(100), number(400), number(100)),
    ];
    let rows = rows(Lang::Ko, &conflict(added, true), &typed, Some(&order(&[(1, 1), (2, 3)])));
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].label.to_string().as_str(), rows[0].side), ("추가된 상품: 차", Side::Theirs));
    assert_eq!(rows[0].now, Cell(Some("100원 × 3개".into())));
    assert_eq!(choices(&rows), [("quantity-2".into(), "3".into(), REMOVE.into())]);
}

#[test]
fn their_removed_line_cannot_be_chosen() {
    let typed = fields(&[("quantity-1", "1"), ("quantity-2", "5")]);
    let gone = vec![("lines[2].quantity", number(3), None, number(5))];
    let rows = rows(Lang::En, &conflict(gone, true), &typed, Some(&order(&[(1, 1)])));
    assert_eq!((rows[0].gone, rows[0].choice.clone()), (true, None));
    let rest = without_gone_lines(undecided(&typed, &rows), &order(&[(1, 1)]));
    assert_eq!(rest, fields(&[("quantity-1", "1")]));
}

#[test]
fn line_that_is_not_in_the_order_is_named_by_its_product() {
    let new = [("new-product", "주전자"), ("new-price", "30,000"), ("new-quantity", "4")];
    let typed = fields(&[&[("quantity-1", "1"), ("quantity-2", "5")][..], &new].concat());
    let lines = vec![
        ("lines[2].product", text("찻잔"), None, text("찻잔")),
        ("lines[2].quantity", number(3), None, number(5)),
        ("lines[3].product", None, None, text("주전자")),
        ("lines[3].quantity", None, None, number(4)),
    ];
    let rows = rows(Lang::Ko, &conflict(lines, true), &typed, Some(&order(&[(1, 1)])));
    let told: Vec<_> = rows.iter().map(|row| (row.label.to_string(), row.mine.0.clone().unwrap_or_default())).collect();
    let expected = [("찻잔 수량", "5"), ("내가 추가한 상품: 주전자", "30,000원 × 4개")];
    assert_eq!(told, expected.map(|(label, mine)| (label.to_owned(), mine.to_owned())));
}

#[test]
fn same_product_that_both_added_is_two_rows() {
    let new = [("new-product", "차"), ("new-price", "abc"), ("new-quantity", "4")];
    let typed = fields(&[&[("quantity-1", "1")][..], &new].concat());
    let lines =
        vec![("lines[2].product", None, text("차"), text("차")), ("lines[2].quantity", None, number(3), number(4))];
    let (before, now) = (order(&[(1, 1)]), order(&[(1, 1), (2, 3)]));
    for rows in
        [rows(Lang::En, &conflict(lines, true), &typed, Some(&now)), typed_rows(Lang::En, &now, Some(&before), &typed)]
    {
        let told: Vec<_> = rows.iter().map(|row| (row.label.plain(), row.now.0.clone(), row.mine.0.clone())).collect();
        let first = Some("3 at ₩100".to_owned());
        let theirs = ("New line: 차".to_owned(), first.clone(), None);
        let mine = ("Your new line: 차".to_owned(), first, Some("4 × abc".to_owned()));
        assert_eq!(told, [theirs, mine]);
        assert_eq!(rows.iter().map(Row::is_second).collect::<Vec<_>>(), [false, true]);
    }
}

#[test]
fn line_that_was_there_when_the_form_was_opened_is_not_called_new() {
    let new = [("new-product", "차"), ("new-price", "100"), ("new-quantity", "4")];
    let opened = |changed: Vec<Field>, removed: &[(&str, &str)]| {
        let typed = fields(&[&[("quantity-1", "1"), ("quantity-2", "3")][..], &new, removed].concat());
        let rows = rows(Lang::En, &conflict(changed, true), &typed, Some(&order(&[(1, 1), (2, 3)])));
        let mine = rows.into_iter().next_back().expect("my line");
        (mine.opened.0, mine.now.0)
    };
    let told = |opened: &str, now: &str| (Some(opened.to_owned()), Some(now.to_owned()));
    let elsewhere = || vec![("shipping.message", text("Before"), text("Theirs"), text("Before"))];
    assert_eq!(opened(elsewhere(), &[]), told("3 at ₩100", "3 at ₩100"));
    let changed = vec![("lines[2].quantity", number(2), number(3), number(2))];
    assert_eq!(opened(changed, &[]), told("2 at ₩100", "3 at ₩100"));
    assert_eq!(opened(elsewhere(), &[("remove-2", "on")]), told("1 at ₩100", "1 at ₩100"), "the line that stays");
}

#[test]
fn typed_change_of_a_line_that_is_gone_names_its_product() {
    let typed = fields(&[("quantity-1", "1"), ("quantity-2", "5")]);
    let rows = typed_rows(Lang::En, &order(&[(1, 1)]), Some(&order(&[(1, 1), (2, 3)])), &typed);
    let told: Vec<_> = rows.iter().map(|row| (row.label.plain(), row.gone)).collect();
    assert_eq!(told, [("Quantity of 차".to_owned(), true)]);
}

#[test]
fn own_removed_line_can_be_restored() {
    let typed = fields(&[("quantity-1", "1"), ("quantity-2", "3"), ("remove-2", "on")]);
    let mine = vec![("lines[2].quantity", number(3), number(4), None)];
    let rows = rows(Lang::En, &conflict(mine, true), &typed, Some(&order(&[(1, 1), (2, 4)])));
    assert_eq!(choices(&rows), [("quantity-2".into(), "4".into(), REMOVE.into())]);
    assert_eq!(undecided(&typed, &rows), fields(&[("quantity-1", "1")]));
}

#[test]
fn comparison_without_the_opened_state_uses_the_current_one() {
    let typed = fields(&[
        ("receiver.name", "이준호"),
        ("address.postal_code", " 06236 "),
        ("quantity-1", "2"),
        ("quantity-9", "1"),
    ]);
    let rows = rows(Lang::En, &conflict(vec![], false), &typed, Some(&order(&[(1, 1), (2, 1)])));
    let told: Vec<_> = rows.iter().map(|row| (row.label.to_string(), row.side, row.gone)).collect();
    let expected = [
        ("Receiver", Side::Both, false),
        ("Quantity of 차", Side::Both, false),
        ("Quantity of 차", Side::Theirs, false),
        ("Line 9: Quantity", Side::Both, true),
    ];
    assert_eq!(told, expected.map(|(label, side, gone)| (label.to_owned(), side, gone)));
}

#[test]
fn form_as_the_order_is_says_nothing_new() {
    let order = order(&[(1, 2)]);
    let with = |name: &str, value: &str| {
        let mut typed = Fields::of_shipping(order.shipping()).with_lines(order.lines());
        typed.set(name, value);
        typed.says_nothing_new(&order)
    };
    assert!(with("form_id", "f") && with("new-product", " ") && with("receiver.name", " 김민지 "));
    for (name, value) in [("message", "x"), ("quantity-1", "3"), ("remove-1", "on"), ("new-product", "x")] {
        assert!(!with(name, value), "{name}");
    }
}
