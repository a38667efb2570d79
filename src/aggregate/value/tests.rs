use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::ValueObject;
use crate::aggregate::mapping::{Column, Mapping, Table};

fn one_of_each_kind() -> Vec<Value> {
    vec![
        Value::Bool(true),
        Value::Integer(i64::MIN),
        Value::Real(0.1 + 0.2),
        Value::Decimal("12.50".parse().unwrap()),
        Value::Text("생일".into()),
        Value::Bytes(vec![0, 255]),
        Value::Uuid([7; 16]),
        Value::Json(json!({"a": [null, 1e300]})),
        Value::Timestamp(-1),
        Value::Date("2026-11-20".into()),
        Value::DateTime("2026-11-20 10:00:00.000000".into()),
        Value::Time("10:00:00.000000".into()),
    ]
}

#[test]
fn value_equals_only_itself_and_null_by_kind() {
    let mut values = one_of_each_kind();
    values.extend(one_of_each_kind().iter().map(|value| Value::Null(value.kind())));
    values.push(Value::Invalid(Kind::Json, "no".into()));
    values.push(Value::Real(f64::NAN));
    for (at, one) in values.iter().enumerate() {
        let equal: Vec<usize> = (0..values.len()).filter(|&other| values[other] == *one).collect();
        assert_eq!(equal, [at], "{one:?}");
    }
}

#[test]
fn json_value_round_trips_equal() {
    for value in one_of_each_kind().into_iter().flat_map(|value| [Value::Null(value.kind()), value]) {
        let kept = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), value, "{kept}");
    }
}

/// These names are stored in existing databases with revisions.
#[test]
fn values_of_earlier_releases_are_readable() {
    let kept =
        r#"[{"null":"text"},{"bool":true},{"integer":-1},{"real":0.5},{"text":"x"},{"bytes":[1]},{"timestamp":7}]"#;
    let values = [
        Value::Null(Kind::Text),
        Value::Bool(true),
        Value::Integer(-1),
        Value::Real(0.5),
        Value::Text("x".into()),
        Value::Bytes(vec![1]),
        Value::Timestamp(7),
    ];
    assert_eq!(serde_json::from_str::<Vec<Value>>(kept).unwrap(), values);
}

#[test]
fn wrong_kind_or_form_of_a_value_cannot_be_saved() {
    for value in one_of_each_kind() {
        assert_eq!(value.check(value.kind()), Ok(()));
        let other = if value.kind() == Kind::Bool { Kind::Text } else { Kind::Bool };
        assert!(value.check(other).unwrap_err().starts_with("a column of "));
    }
    let refused = Value::Time("10:00".into()).check(Kind::Time).unwrap_err();
    assert!(refused.starts_with("`10:00` has to be written `10:00:00.000000`"), "{refused}");
}

#[test]
fn value_is_shown_as_a_form_shows_it() {
    let shown: Vec<String> = one_of_each_kind().iter().map(Value::to_string).collect();
    let uuid = "07070707-0707-0707-0707-070707070707";
    let (json, instant) = (r#"{"a":[null,1e+300]}"#, "1969-12-31T23:59:59.999999Z");
    assert_eq!(shown[..6], ["true", "-9223372036854775808", "0.30000000000000004", "12.50", "생일", "00ff"]);
    assert_eq!(shown[6..], [uuid, json, instant, "2026-11-20", "2026-11-20 10:00:00.000000", "10:00:00.000000"]);
    for value in one_of_each_kind() {
        let null = Value::Null(value.kind());
        assert_eq!((null.to_string(), null.is_null(), value.is_null()), (String::new(), true, false));
    }
    assert_eq!(Value::Invalid(Kind::Json, "no".into()).to_string(), "no");
}

#[test]
fn hexadecimal_digits_are_read_as_the_bytes_that_they_show() {
    let bytes: Vec<u8> = (0..=255).collect();
    assert_eq!(from_hex(&hex(&bytes)), Some(bytes));
    assert_eq!(
        [from_hex(""), from_hex("0"), from_hex("0g"), from_hex("7F")],
        [Some(vec![]), None, None, Some(vec![127])]
    );
}

#[test]
fn text_is_read_as_the_kind_of_its_column() {
    use Kind::{Bool, Bytes, Date, DateTime, Decimal, Integer, Json, Real, Text, Time, Timestamp, Uuid};
    for value in one_of_each_kind() {
        let read = Value::from_text(value.kind(), &value.to_string());
        match value.kind() {
            Decimal | Uuid | Json | Date | DateTime | Time | Text => assert_eq!(read, Ok(value)),
            kind @ (Bool | Integer | Real | Bytes | Timestamp) => {
                assert_eq!(read, Err(format!("expected {kind:?}, found the text `{value}`")));
            }
        }
    }
    assert!(Value::from_text(Json, "{").is_err_and(|error| error.starts_with("not JSON: ")));
}

#[test]
fn only_kinds_with_one_spelling_identify_rows() {
    let kinds = one_of_each_kind().into_iter().map(|value| value.kind()).filter(|kind| !kind.identifies());
    assert_eq!(kinds.collect::<Vec<_>>(), [Kind::Decimal, Kind::Json]);
}

#[test]
fn values_out_of_range_are_refused_with_the_reason() {
    for (value, reason) in [
        (Value::Timestamp(i64::MAX), "294247-01-10T04:00:54.775807Z is not in the years 1 to 9999"),
        (Value::Real(f64::INFINITY), "inf is no number"),
        (Value::Date("2026-02-29".into()), "`2026-02-29` is no date"),
        (Value::Invalid(Kind::Time, "no such time".into()), "no such time"),
        (Value::Text("a\0b".into()), "it contains a NUL character"),
        (Value::Json(serde_json::json!({"notes": ["a\0b"]})), "it contains a NUL character"),
    ] {
        let refused = value.check(value.kind()).unwrap_err();
        assert!(refused.starts_with(reason), "{refused}");
    }
    assert_eq!(Value::Null(Kind::Date).check(Kind::Date), Ok(()));
}

/// Writes a value, compares it with the expected one, and reads it back.
fn round_trip<T: ValueObject + PartialEq + std::fmt::Debug>(value: T, stored: Value) {
    let (mut columns, mut row, mut null) = (Vec::new(), Vec::new(), Vec::new());
    T::columns("field", "path", &mut columns);
    value.write(&mut row);
    T::write_null(&mut null);
    assert_eq!(
        (columns[0].kind, &row, &null),
        (stored.kind(), &vec![stored.clone()], &vec![Value::Null(stored.kind())])
    );
    let read = |row: &[Value]| T::read(&mut RowReader::new("orders", &columns, row));
    assert_eq!(read(&row), Ok(value));
    assert!(read(&null).unwrap_err().to_string().contains("table `orders`, column `field`: expected "));
    assert!(read(&[]).unwrap_err().to_string().contains("the row has fewer columns than the mapping"));
}

#[test]
fn values_of_one_column_round_trip() {
    round_trip(true, Value::Bool(true));
    round_trip(-7_i8, Value::Integer(-7));
    round_trip(7_u32, Value::Integer(7));
    round_trip(0.5_f64, Value::Real(0.5));
    round_trip("tea".to_owned(), Value::Text("tea".into()));
    round_trip(vec![1_u8], Value::Bytes(vec![1]));
    round_trip(Array(vec!["tea".to_owned()]), Value::Json(json!(["tea"])));
    round_trip(Json(vec![7_i64]), Value::Json(json!([7])));
    round_trip(std::time::SystemTime::UNIX_EPOCH, Value::Timestamp(0));
}

#[cfg(feature = "jiff")]
#[test]
fn values_of_jiff_round_trip_to_the_microsecond() {
    use jiff::Timestamp;
    use jiff::civil::{date, time};
    let (day, hour) = (date(2026, 11, 20), time(23, 59, 58, 123_456_000));
    round_trip(day, Value::Date("2026-11-20".into()));
    round_trip(hour, Value::Time("23:59:58.123456".into()));
    round_trip(day.to_datetime(hour), Value::DateTime("2026-11-20 23:59:58.123456".into()));
    round_trip(Timestamp::from_microsecond(-7).unwrap(), Value::Timestamp(-7));
    let mut cut = Vec::new();
    time(23, 59, 58, 123_456_789).write(&mut cut);
    Timestamp::from_nanosecond(-1).unwrap().write(&mut cut);
    assert_eq!(cut, [Value::Time("23:59:58.123456".into()), Value::Timestamp(-1)]);
}

#[cfg(feature = "rust_decimal")]
#[test]
fn values_of_rust_decimal_round_trip_unless_too_long() {
    use rust_decimal::Decimal;
    let stored = |text: &str| Value::Decimal(text.parse().unwrap());
    round_trip(Decimal::new(-1250, 2), stored("-12.50"));
    let columns = [Column::new("price", "price", Kind::Decimal)];
    let read = |text: &str| Decimal::read(&mut RowReader::new("orders", &columns, &[stored(text)]));
    assert_eq!(read(&format!("12.5{}", "0".repeat(40))), Ok(Decimal::new(125, 1)));
    assert_eq!(read(&format!("7.{}", "0".repeat(40))), Ok(Decimal::new(7, 0)));
    for long in ["1".repeat(40), format!("1.{}", "1".repeat(40))] {
        assert!(read(&long).unwrap_err().to_string().contains("does not fit into rust_decimal::Decimal"));
    }
}

#[test]
fn an_array_is_used_as_its_list() {
    let mut array = Array::from(vec![1_i64]);
    array.push(2);
    assert_eq!((array.len(), array[1]), (2, 2));
    let mut json = Json(vec![1]);
    json.push(2);
    assert_eq!((json.len(), json[1]), (2, 2));
    let mut columns = Vec::new();
    Array::<i64>::columns("ratings", "ratings", &mut columns);
    assert_eq!(columns[0].sql_type.as_deref(), Some("bigint[]"));
}

#[derive(ValueObject, Debug, PartialEq)]
struct Receiver {
    name: String,
    phone: Option<String>,
}

#[test]
fn an_optional_value_of_several_columns_is_null_as_a_whole() {
    let mut columns = Vec::new();
    <Option<Receiver> as ValueObject>::columns("receiver", "receiver", &mut columns);
    Option::<i64>::columns("sum", "sum", &mut columns);
    assert!(columns.iter().all(|column| column.nullable));
    let parts: Vec<_> = columns.iter().map(|column| column.part_of.as_deref()).collect();
    assert_eq!(parts, [Some("receiver"), Some("receiver"), None]);
    let kim = || Receiver { name: "Kim".into(), phone: None };
    for (value, sum) in [(None, Some(7)), (Some(kim()), None)] {
        let mut row = Vec::new();
        value.write(&mut row);
        sum.write(&mut row);
        assert_eq!(row.len(), 3);
        let mut reader = RowReader::new("orders", &columns, &row);
        assert_eq!((Option::read(&mut reader), Option::<i64>::read(&mut reader)), (Ok(value), Ok(sum)));
    }
    let row = [Value::Null(Kind::Text), Value::Text("555".into()), Value::Null(Kind::Integer)];
    let refused = Option::<Receiver>::read(&mut RowReader::new("orders", &columns, &row)).unwrap_err();
    assert!(refused.to_string().contains("column `receiver_name`"), "{refused}");
}

#[test]
fn unserializable_json_value_names_the_reason() {
    let mut row = Vec::new();
    Json(BTreeMap::from([((1, 2), 3)])).write(&mut row);
    let refused = row[0].check(Kind::Json).unwrap_err();
    assert!(refused.ends_with("cannot be written as JSON and read again: key must be a string"), "{refused}");
}

#[test]
fn decimals_and_json_cannot_be_keys() {
    for kind in [Kind::Decimal, Kind::Json, Kind::Uuid] {
        let column = Column::new("no", "no", kind);
        let root = Table {
            name: "orders".into(),
            path: String::new(),
            owner: Vec::new(),
            parent: None,
            columns: vec![column],
            key: 1,
        };
        let (name, version) = ("Order".into(), "version".into());
        let mapping =
            Mapping { name, root, version, children: Vec::new(), revisions: 0, generated: false, audit: None };
        match mapping.validate() {
            Ok(()) => assert_eq!(kind, Kind::Uuid),
            Err(error) => {
                assert!(error.to_string().contains("column `no`: decimals and JSON cannot be keys"), "{error}")
            }
        }
    }
}

#[test]
fn number_not_exact_in_f32_is_refused() {
    let columns = [Column::new("ratio", "ratio", Kind::Real)];
    let read = |number| f32::read(&mut RowReader::new("orders", &columns, &[Value::Real(number)]));
    assert_eq!(read(0.5), Ok(0.5));
    for number in [0.1, f64::MAX, f64::NAN] {
        assert!(read(number).unwrap_err().to_string().contains("column `ratio`: "));
    }
}
