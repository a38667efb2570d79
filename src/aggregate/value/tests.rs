use std::collections::BTreeMap;

use serde_json::json;

use super::*;
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
