//! The public behaviour of the derives: the generated mapping, round trips, and readable errors.
//!
//! After a change of a message: `TRYBUILD=overwrite cargo test --test derive`, and read the changes in `tests/derive/`.

use std::fmt;
use std::panic::catch_unwind;

use tenure::aggregate::mapping::{Column, Mapping, MappingError, Rows};
use tenure::aggregate::value::{Kind, RowReader, Value};
use tenure::{Aggregate, Entity, ValueObject};

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "orders", revisions = 50)]
struct Order {
    state: OrderState,
    #[aggregate(id)]
    no: OrderNo,
    ship_to: Shipping,
    #[aggregate(column = "gift_note")]
    message: Option<String>,
    invoice_to: Option<Address>,
    #[aggregate(children, table = "order_line", owner = "order_no")]
    lines: Vec<OrderLine>,
    #[aggregate(children, table = "order_note", owner = "order_no")]
    notes: Vec<Note>,
}

#[derive(ValueObject, Debug, Clone, PartialEq)]
struct OrderNo(String);

impl fmt::Display for OrderNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(ValueObject, Debug, Clone, Copy, PartialEq)]
enum OrderState {
    Preparing,
    #[aggregate(rename = "sent {by post}")]
    Shipped,
}

#[derive(ValueObject, Debug, Clone, PartialEq)]
struct Shipping {
    receiver: String,
    address: Address,
}

#[derive(ValueObject, Debug, Clone, PartialEq)]
struct Address {
    line1: String,
    line2: Option<String>,
    #[aggregate(column = "postcode")]
    zip: Zip,
}

#[derive(ValueObject, Debug, Clone, PartialEq)]
struct Zip(u32);

#[derive(Entity, Debug, Clone, PartialEq)]
struct OrderLine {
    product: String,
    #[aggregate(key)]
    line_no: u32,
    #[aggregate(column = "price")]
    unit_price: Money,
}

#[derive(ValueObject, Debug, Clone, PartialEq)]
struct Money {
    cents: i64,
    r#type: String,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Note {
    #[aggregate(key)]
    author: OrderNo,
    #[aggregate(key)]
    place: Money,
}

fn order() -> Order {
    let address = |line1: &str, line2: Option<&str>| Address {
        line1: line1.to_owned(),
        line2: line2.map(str::to_owned),
        zip: Zip(4051),
    };
    let euro = |cents| Money { cents, r#type: "EUR".to_owned() };
    Order {
        state: OrderState::Shipped,
        no: OrderNo("A-17".to_owned()),
        ship_to: Shipping { receiver: "Kim".to_owned(), address: address("Main Street 1", None) },
        message: None,
        invoice_to: Some(address("Low Road 2", Some("left door"))),
        lines: vec![
            OrderLine { product: "tea".to_owned(), line_no: 1, unit_price: euro(350) },
            OrderLine { product: "cup".to_owned(), line_no: 2, unit_price: euro(900) },
        ],
        notes: vec![Note { author: OrderNo("kim".to_owned()), place: euro(1) }],
    }
}

fn columns(columns: &[Column]) -> Vec<(&str, &str, Kind, bool)> {
    columns.iter().map(|column| (&*column.name, &*column.path, column.kind, column.nullable)).collect()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn id_column_comes_first_then_declaration_order() {
    let Mapping { name, root, version, revisions, .. } = Order::mapping();

    assert_eq!((name.as_str(), root.name.as_str(), version.as_str(), *revisions), ("Order", "orders", "version", 50));
    assert_eq!((root.path.as_str(), root.owner.len(), root.key), ("", 0, 1));
    assert_eq!(
        columns(&root.columns),
        [
            ("no", "no", Kind::Text, false),
            ("state", "state", Kind::Text, false),
            ("ship_to_receiver", "ship_to.receiver", Kind::Text, false),
            ("ship_to_address_line1", "ship_to.address.line1", Kind::Text, false),
            ("ship_to_address_line2", "ship_to.address.line2", Kind::Text, true),
            ("ship_to_address_postcode", "ship_to.address.zip", Kind::Integer, false),
            ("gift_note", "message", Kind::Text, true),
            ("invoice_to_line1", "invoice_to.line1", Kind::Text, true),
            ("invoice_to_line2", "invoice_to.line2", Kind::Text, true),
            ("invoice_to_postcode", "invoice_to.zip", Kind::Integer, true),
        ]
    );
}

#[test]
fn each_collection_has_a_table_with_its_key_first() {
    let [lines, notes] = &Order::mapping().children[..] else { panic!("an order has two collections") };

    assert_eq!((lines.name.as_str(), lines.path.as_str(), lines.key), ("order_line", "lines", 1));
    assert_eq!(lines.owner, ["order_no"]);
    assert_eq!(
        columns(&lines.columns),
        [
            ("line_no", "line_no", Kind::Integer, false),
            ("product", "product", Kind::Text, false),
            ("price_cents", "unit_price.cents", Kind::Integer, false),
            ("price_type", "unit_price.type", Kind::Text, false),
        ]
    );
    assert_eq!((notes.name.as_str(), notes.key), ("order_note", 3));
}

#[test]
fn the_mapping_is_the_same_on_every_call() {
    assert!(std::ptr::eq(Order::mapping(), Order::mapping()));
}

#[test]
fn order_round_trips() {
    let order = order();

    assert_eq!(order.id(), &OrderNo("A-17".to_owned()));
    assert_eq!(Order::from_rows(&order.to_rows()), Ok(order));
}

#[test]
fn order_without_optional_parts_and_lines_round_trips() {
    let bare = Order { message: Some(String::new()), invoice_to: None, lines: vec![], notes: vec![], ..order() };

    assert_eq!(Order::from_rows(&bare.to_rows()), Ok(bare));
}

#[test]
fn rows_hold_the_values_in_the_order_of_the_columns() {
    let Rows { root, children } = Order { invoice_to: None, ..order() }.to_rows();

    assert_eq!(
        root,
        [
            text("A-17"),
            text("sent {by post}"),
            text("Kim"),
            text("Main Street 1"),
            Value::Null(Kind::Text),
            Value::Integer(4051),
            Value::Null(Kind::Text),
            Value::Null(Kind::Text),
            Value::Null(Kind::Text),
            Value::Null(Kind::Integer),
        ]
    );
    assert_eq!(children[0][1], [Value::Integer(2), text("cup"), Value::Integer(900), text("EUR")]);
}

/// Whether this error is the result, with its order.
fn refused(rows: &Rows, error: &MappingError) {
    let (found, error) = (Order::from_rows(rows).expect_err("it is refused").to_string(), error.to_string());
    let end = "; compare the table with the mapping of the aggregate";
    assert_eq!(found, error.replace(end, &format!(" (in Order {}){end}", rows.root[0])));
}

#[test]
fn unknown_enum_text_names_table_column_and_variants() {
    let mut rows = order().to_rows();
    rows.root[1] = text("lost");

    refused(
        &rows,
        &MappingError::new("orders", "state", "`lost` is no OrderState; known are Preparing, sent {by post}"),
    );
}

#[test]
fn a_number_where_a_variant_is_expected_names_table_and_column() {
    let mut rows = order().to_rows();
    rows.root[1] = Value::Integer(3);

    refused(&rows, &MappingError::new("orders", "state", "expected Text, found Integer(3)"));
}

#[test]
fn a_wrong_value_in_a_child_names_the_table_of_the_child() {
    let mut rows = order().to_rows();
    rows.children[0][1][2] = text("nine");

    refused(&rows, &MappingError::new("order_line", "price_cents", r#"expected Integer, found Text("nine")"#));
}

#[test]
fn missing_collection_in_old_state_is_not_empty() {
    let mut rows = order().to_rows();
    rows.children.pop();

    refused(&rows, &MappingError::new("order_note", "", "the stored state has no rows for this table"));
}

#[derive(Aggregate, Debug, PartialEq)]
#[aggregate(table = "seat", name = "theatre.seat", version = "seat_version")]
struct Seat {
    #[aggregate(id, column = "")]
    id: SeatId,
    version: u32,
    #[aggregate(children, table = "seat_booking", owner = "hall, seat_no")]
    bookings: Vec<Booking>,
}

#[derive(ValueObject, Debug, Clone, PartialEq)]
struct SeatId {
    hall: String,
    no: u32,
}

impl fmt::Display for SeatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.hall, self.no)
    }
}

#[derive(Entity, Debug, PartialEq)]
struct Booking {
    #[aggregate(key)]
    evening: i64,
}

#[test]
fn composite_id_has_as_many_owner_columns() {
    let Mapping { name, root, version, children, revisions, .. } = Seat::mapping();

    assert_eq!((name.as_str(), version.as_str(), *revisions), ("theatre.seat", "seat_version", 0));
    assert_eq!(root.key, 2);
    assert_eq!(
        columns(&root.columns),
        [
            ("hall", "id.hall", Kind::Text, false),
            ("no", "id.no", Kind::Integer, false),
            ("version", "version", Kind::Integer, false),
        ]
    );
    assert_eq!(children[0].owner, ["hall", "seat_no"]);
}

#[test]
fn seat_round_trips() {
    let id = SeatId { hall: "red".to_owned(), no: 12 };
    let seat = Seat { id, version: 3, bookings: vec![Booking { evening: 20_000 }] };

    assert_eq!(Seat::from_rows(&seat.to_rows()), Ok(seat));
}

/// A hand-written typed id, used inside the aggregate it identifies.
#[derive(Debug, Clone, PartialEq)]
struct Id<A>(u32, std::marker::PhantomData<fn(A)>);

impl<A> fmt::Display for Id<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<A> ValueObject for Id<A> {
    const WIDTH: usize = 1;

    fn columns(column: &str, path: &str, columns: &mut Vec<Column>) {
        u32::columns(column, path, columns);
    }

    fn write(&self, row: &mut Vec<Value>) {
        self.0.write(row);
    }

    fn write_null(row: &mut Vec<Value>) {
        u32::write_null(row);
    }

    fn read(row: &mut RowReader<'_>) -> Result<Self, MappingError> {
        Ok(Id(u32::read(row)?, std::marker::PhantomData))
    }
}

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "employee")]
struct Employee {
    #[aggregate(id)]
    id: Id<Self>,
    superior: Option<Id<Self>>,
}

#[test]
fn an_id_may_name_the_type_it_identifies() {
    let id = |no| Id(no, std::marker::PhantomData);
    let kim = Employee { id: id(2), superior: Some(id(1)) };

    assert_eq!(Employee::from_rows(&kim.to_rows()), Ok(kim));
}

#[derive(Aggregate)]
#[aggregate(table = "leaflet")]
struct Leaflet {
    #[aggregate(unversioned)]
    views: u32,
    #[aggregate(id)]
    no: u32,
    text: String,
    #[aggregate(unversioned)]
    reader: Option<Money>,
}

#[test]
fn unversioned_field_marks_each_of_its_columns() {
    let mapping = Leaflet::mapping();
    let marked: Vec<_> = mapping.root.columns.iter().map(|column| (&*column.name, column.unversioned)).collect();
    assert_eq!(
        marked,
        [("no", false), ("views", true), ("text", false), ("reader_cents", true), ("reader_type", true)]
    );
    assert_eq!(mapping.validate(), Ok(()));
}

#[test]
fn mapping_with_an_impossible_unversioned_column_is_refused() {
    let refused = |change: fn(&mut Mapping)| {
        let mut mapping = Order::mapping().clone();
        change(&mut mapping);
        mapping.validate().expect_err("it is no column of the root, or half a value").to_string()
    };
    let of_the_id = refused(|mapping| mapping.root.columns[0].unversioned = true);
    assert!(of_the_id.contains("column `no`: only a column of the root"), "{of_the_id}");
    let of_a_child = refused(|mapping| mapping.children[0].columns[1].unversioned = true);
    assert!(of_a_child.contains("column `product`: only a column of the root"), "{of_a_child}");
    let of_a_part = refused(|mapping| mapping.root.columns[7].unversioned = true);
    assert!(of_a_part.contains("`invoice_to"), "{of_a_part}");
}

#[derive(Aggregate)]
#[aggregate(table = "parcel")]
struct Parcel {
    #[aggregate(id)]
    no: u32,
    #[aggregate(column = "a_prefix_that_is_long_enough_to_leave_too_little_for_the_field")]
    contents: Contents,
}

#[derive(ValueObject)]
struct Contents {
    weight: u32,
}

#[test]
fn a_mapping_that_is_not_valid_as_a_whole_says_so_on_every_call() {
    for _ in 0..2 {
        let panic = catch_unwind(Parcel::mapping).expect_err("the column's name has 69 letters");
        let message = panic.downcast_ref::<String>().map_or("", String::as_str);
        assert!(
            message.starts_with("the mapping of `Parcel` is not valid: table `parcel`, column `a_prefix"),
            "{message}"
        );
    }
}

#[test]
fn mistakes_are_explained_where_they_are() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/derive/*.rs");
}
