//! Collections of children without a database: their tables, round trips, and invalid rows.

use std::collections::BTreeMap;

use tenure::aggregate::children::{ChildReader, ChildTable};
use tenure::aggregate::mapping::{Column, Mapping, MappingError, Row, Rows, Table};
use tenure::aggregate::value::{Kind, RowReader, Value};
use tenure::{Aggregate, Entity, ValueObject, aggregate::Children};

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    #[aggregate(children, table = "order_line", owner = "order_no")]
    lines: Vec<Line>,
    #[aggregate(children, table = "order_step", owner = "order_no", key = "position")]
    steps: Vec<Step>,
    #[aggregate(children, table = "order_invoice", owner = "order_no")]
    invoice: Option<Invoice>,
    #[aggregate(children, table = "order_seat", owner = "order_no", key = "hall, seat_no")]
    seats: BTreeMap<Seat, Step>,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Line {
    #[aggregate(key)]
    line_no: i64,
    #[aggregate(children, table = "order_line_part", owner = "order_id, in_line")]
    parts: Vec<Part>,
    product: String,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Part {
    #[aggregate(key)]
    part_no: i64,
    #[aggregate(children, table = "order_line_part_label", key = "language")]
    labels: BTreeMap<String, Step>,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Invoice {
    number: i64,
    #[aggregate(children, table = "order_invoice_item", key = "position")]
    items: Vec<Step>,
}

#[derive(Entity, Debug, Clone, PartialEq)]
struct Step {
    text: String,
}

#[derive(ValueObject, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Seat {
    hall: String,
    no: i64,
}

/// The indexes of the tables in the mapping.
const LINES: usize = 0;
const PARTS: usize = 1;
const LABELS: usize = 2;
const STEPS: usize = 3;
const INVOICE: usize = 4;
const SEATS: usize = 6;

fn step(text: &str) -> Step {
    Step { text: text.into() }
}

fn order() -> Order {
    let labels = |text: &str| BTreeMap::from([("de".into(), step(text)), ("ko".into(), step(text))]);
    let part = |part_no, text: &str| Part { part_no, labels: labels(text) };
    let line = |line_no, parts| Line { line_no, parts, product: "cup".into() };
    Order {
        no: "A-17".into(),
        lines: vec![line(1, vec![part(1, "handle"), part(2, "lid")]), line(2, vec![part(1, "foot")]), line(3, vec![])],
        steps: vec![step("pick"), step("pack"), step("send")],
        invoice: Some(Invoice { number: 9, items: vec![step("cups"), step("postage")] }),
        seats: BTreeMap::from([(Seat { hall: "red".into(), no: 12 }, step("window"))]),
    }
}

fn names(table: &Table) -> (Vec<&str>, Vec<&str>, usize, Option<usize>) {
    let owner = table.owner.iter().map(String::as_str).collect();
    (owner, table.columns.iter().map(|column| column.name.as_str()).collect(), table.key, table.parent)
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn number(number: i64) -> Value {
    Value::Integer(number)
}

/// The error for these rows, without the advice at its end.
fn refusal(rows: &Rows) -> String {
    let error = Order::from_rows(rows).unwrap_err().to_string();
    error.strip_suffix(" (in Order A-17); compare the table with the mapping of the aggregate").unwrap().to_owned()
}

#[test]
fn every_table_starts_with_the_keys_of_its_parents() {
    let tables: Vec<_> = Order::mapping().children.iter().map(|table| (table.name.as_str(), names(table))).collect();

    assert_eq!(
        tables,
        [
            ("order_line", (vec!["order_no"], vec!["line_no", "product"], 1, None)),
            ("order_line_part", (vec!["order_id"], vec!["in_line", "part_no"], 2, Some(LINES))),
            // As in its parent's table, because it declares no others.
            (
                "order_line_part_label",
                (vec!["order_id"], vec!["in_line", "part_no", "language", "text"], 3, Some(PARTS))
            ),
            ("order_step", (vec!["order_no"], vec!["position", "text"], 1, None)),
            ("order_invoice", (vec!["order_no"], vec!["number"], 0, None)),
            ("order_invoice_item", (vec!["order_no"], vec!["position", "text"], 1, Some(INVOICE))),
            ("order_seat", (vec!["order_no"], vec!["hall", "seat_no", "text"], 2, None)),
        ]
    );
}

#[test]
fn rows_start_with_the_keys_of_their_parents() {
    let rows = order().to_rows().children;

    assert_eq!(rows[PARTS], [[number(1), number(1)], [number(1), number(2)], [number(2), number(1)]]);
    assert_eq!(rows[LABELS][3], [number(1), number(2), text("ko"), text("lid")]);
    assert_eq!(rows[STEPS][2], [number(2), text("send")]);
    assert_eq!(rows[INVOICE], [[number(9)]]);
    assert_eq!(rows[SEATS], [[text("red"), number(12), text("window")]]);
}

#[test]
fn order_round_trips_in_any_row_order() {
    let mut rows = order().to_rows();
    rows.children[PARTS..].iter_mut().for_each(|rows| rows.reverse());
    let mut read = Order::from_rows(&rows).unwrap();

    // Only keyed collections follow the rows.
    read.lines[0].parts.reverse();
    assert_eq!(read, order());
}

#[test]
fn an_order_without_children_says_so_of_every_table() {
    let bare = Order { lines: vec![], steps: vec![], invoice: None, seats: BTreeMap::new(), ..order() };
    let rows = bare.to_rows();

    assert_eq!(rows.children, vec![Vec::<Row>::new(); 7]);
    assert_eq!(Order::from_rows(&rows).unwrap(), bare);
}

#[test]
fn a_row_without_its_parent_is_named() {
    let mut rows = order().to_rows();
    rows.children[LINES].remove(1);
    assert_eq!(
        refusal(&rows),
        "table `order_line_part`: where order_id = A-17, in_line = 2, part_no = 1: there is no such row in `order_line`"
    );

    let mut rows = order().to_rows();
    rows.children[INVOICE].clear();
    assert_eq!(
        refusal(&rows),
        "table `order_invoice_item`: where order_no = A-17, position = 0: there is no such row in `order_invoice`"
    );
}

#[test]
fn second_row_of_an_optional_child_is_refused() {
    let mut rows = order().to_rows();
    rows.children[INVOICE].push(vec![number(10)]);
    assert_eq!(
        refusal(&rows),
        "table `order_invoice`: where order_no = A-17: there are 2 rows where there may be at most one"
    );
}

#[test]
fn two_rows_with_one_key_are_refused() {
    for at in [LINES, PARTS, LABELS, STEPS, SEATS] {
        let mut rows = order().to_rows();
        let twice = rows.children[at][0].clone();
        rows.children[at].push(twice);
        assert!(refusal(&rows).ends_with("there are two rows with this key"), "{}", refusal(&rows));
    }
}

#[test]
fn a_list_with_a_gap_is_refused() {
    let mut rows = order().to_rows();
    rows.children[STEPS].remove(1);
    assert_eq!(
        refusal(&rows),
        "table `order_step`: where order_no = A-17: expected position 1, found 2; a list counts from 0, without gaps"
    );
}

#[test]
fn wrong_nested_child_value_names_table_and_column() {
    let mut rows = order().to_rows();
    rows.children[LABELS][0][3] = number(5);
    assert_eq!(refusal(&rows), "table `order_line_part_label`, column `text`: expected Text, found Integer(5)");

    rows.children[LABELS][0].truncate(2);
    assert_eq!(refusal(&rows), "table `order_line_part_label`: the row has fewer columns than the mapping");
}

/// Its mapping is hand-written from a collection that the derive refuses: tests/derive/nested_owner.rs.
#[test]
fn a_wrong_number_of_owner_columns_is_explained() {
    let refused = |owner: &'static [&'static str]| {
        let mut mapping = Order::mapping().clone();
        mapping.children.clear();
        let declared = ChildTable { path: "offers", name: "offer", owner, key: &["position"] };
        mapping.with_children(|tables| <Vec<Step> as Children>::add_tables(tables, declared)).unwrap_err().to_string()
    };
    let message = refused(&["order_no", "line_no"]);
    assert!(message.contains("`owner` takes 1 columns, those of the id of `orders`; it names 2"), "{message}");
}

#[test]
fn a_mapping_with_confused_parents_is_refused() {
    let refusal = |change: fn(&mut Mapping)| {
        let mut mapping = Order::mapping().clone();
        change(&mut mapping);
        mapping.validate().unwrap_err().to_string()
    };

    let message = refusal(|mapping| mapping.children[PARTS].parent = Some(PARTS));
    assert!(message.contains("`order_line_part`: a parent's table must come before"), "{message}");
    let message = refusal(|mapping| mapping.children[PARTS].columns[0].kind = Kind::Text);
    assert!(
        message.contains("`order_line_part`: its key must start with the columns of the key of `order_line`"),
        "{message}"
    );
    let message = refusal(|mapping| mapping.children[PARTS].key = 0);
    assert!(message.contains("`order_line_part`: its key must start with"), "{message}");
    let message = refusal(|mapping| mapping.children[INVOICE].columns.clear());
    assert!(message.contains("`order_invoice`: a child needs a column of its own"), "{message}");
    let message = refusal(|mapping| mapping.root.key = 0);
    assert!(message.contains("`orders`: the root needs an id"), "{message}");
}

/// A child that the derive cannot map: an enum with data, with a discriminator column.
#[derive(Debug, Clone, PartialEq)]
enum Payment {
    Card { digits: String },
    Cash,
}

impl Entity for Payment {
    const KEY: usize = 0;

    fn columns(columns: &mut Vec<Column>) {
        String::columns("kind", "kind", columns);
        Option::<String>::columns("digits", "digits", columns);
    }

    fn write(&self, row: &mut Row) {
        let (kind, digits) = match self {
            Payment::Card { digits } => ("card", Some(digits.clone())),
            Payment::Cash => ("cash", None),
        };
        kind.to_owned().write(row);
        digits.write(row);
    }

    fn read(row: &mut RowReader<'_>, _: &mut ChildReader<'_, '_>) -> Result<Self, MappingError> {
        let here = row.clone();
        match (String::read(row)?.as_str(), Option::<String>::read(row)?) {
            ("card", Some(digits)) => Ok(Payment::Card { digits }),
            ("cash", None) => Ok(Payment::Cash),
            (kind, _) => Err(here.error(format!("`{kind}` is no payment"))),
        }
    }
}

/// A hand-written aggregate with the library's collections.
#[derive(Debug, Clone, PartialEq)]
struct Bill {
    no: i64,
    parts: Vec<Part>,
    payment: Option<Payment>,
}

impl Aggregate for Bill {
    type Id = i64;

    fn id(&self) -> &i64 {
        &self.no
    }

    fn mapping() -> &'static Mapping {
        static MAPPING: std::sync::LazyLock<Mapping> = std::sync::LazyLock::new(|| {
            let mapping = Mapping {
                name: "Bill".into(),
                root: Table {
                    name: "bill".into(),
                    path: String::new(),
                    owner: vec![],
                    parent: None,
                    columns: vec![Column::new("no", "no", Kind::Integer)],
                    key: 1,
                },
                version: "version".into(),
                children: vec![],
                revisions: 0,
                generated: false,
                audit: None,
            };
            let child = |path, name| ChildTable { path, name, owner: &["bill_no"], key: &[] };
            let mapping = mapping.with_children(|tables| {
                Vec::<Part>::add_tables(tables, child("parts", "bill_part"))?;
                Option::<Payment>::add_tables(tables, child("payment", "bill_payment"))
            });
            mapping.unwrap()
        });
        &MAPPING
    }

    fn to_rows(&self) -> Rows {
        Rows::write(vec![number(self.no)], |children| {
            self.parts.write_rows(children);
            self.payment.write_rows(children);
        })
    }

    fn from_rows(rows: &Rows) -> Result<Self, MappingError> {
        rows.read(Self::mapping(), |row, children| {
            let (no, parts, payment) = (i64::read(row)?, Vec::read_rows(children)?, Option::read_rows(children)?);
            Ok(Bill { no, parts, payment })
        })
    }
}

#[test]
fn an_aggregate_and_a_child_may_be_mapped_by_hand() {
    for payment in [Some(Payment::Card { digits: "4711".into() }), Some(Payment::Cash), None] {
        let bill = Bill { no: 3, parts: order().lines[0].parts.clone(), payment };
        assert_eq!(Bill::from_rows(&bill.to_rows()).unwrap(), bill);
    }
    let tables: Vec<_> = Bill::mapping().children.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(tables, ["bill_part", "order_line_part_label", "bill_payment"]);

    let mut rows = Bill { no: 3, parts: vec![], payment: Some(Payment::Cash) }.to_rows();
    rows.children[2][0][0] = text("shells");
    let error = Bill::from_rows(&rows).unwrap_err();
    assert!(error.to_string().starts_with("table `bill_payment`, column `kind`: `shells` is no payment (in Bill 3)"));
}

#[test]
fn a_collection_that_is_read_but_not_in_the_mapping_is_an_error() {
    let rows = Bill { no: 3, parts: vec![], payment: None }.to_rows();
    let mut mapping = Bill::mapping().clone();
    mapping.children.truncate(2);
    let read = rows.read(&mapping, |_, children| {
        Vec::<Part>::read_rows(children)?;
        Option::<Payment>::read_rows(children)
    });
    assert!(read.unwrap_err().to_string().contains("more collections than the mapping has tables"));
}
