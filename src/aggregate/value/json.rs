//! JSON in a column: any type that serde can serialize.

use std::any::type_name;
use std::ops::{Deref, DerefMut};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Content;

use super::decimal::normal;
use super::{Kind, RowReader, Value, ValueObject};
use crate::aggregate::mapping::{Column, MappingError};

/// Any type that serde can serialize, in one JSON column: lists, maps, enums with data.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use tenure::aggregate::value::Json;
/// use tenure::{Aggregate, Repository};
///
/// #[derive(Serialize, Deserialize, Debug, PartialEq)]
/// enum Payment { Cash, Card { number: String } }
///
/// #[derive(Aggregate)]
/// #[aggregate(table = "orders")]
/// struct Order {
///     #[aggregate(id)]
///     no: u32,
///     payment: Json<Payment>,          // '{"Card":{"number":"4242"}}'
///     tags: Json<Vec<String>>,         // '["gift","fragile"]'
/// }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let db = tenure::Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
/// # let mut tx = db.begin().await?;
/// # sqlx::query("create table orders (no integer primary key, payment text, tags text, version integer)").execute(tx.sqlite()?).await?;
/// # tx.commit().await?;
/// # let orders = Repository::<Order>::new(&db);
/// # let mut tx = db.begin().await?;
///
/// let payment = Json(Payment::Card { number: "4242".into() });
/// orders.insert(&mut tx, Order { no: 1, payment, tags: Json(vec!["gift".into()]) }).await?;
/// # tx.commit().await?;
/// let order = orders.get(&1).await?.expect("it was inserted");
/// assert_eq!(*order.payment, Payment::Card { number: "4242".into() });
/// assert_eq!(order.tags.len(), 1);
/// # Ok(()) }
/// ```
///
/// A save writes it if its content differs; the order of keys and the spelling of numbers do not count, because PostgreSQL's
/// `jsonb` keeps neither. A value that serde cannot serialize (a map whose keys are not texts), or could not deserialize again (a
/// NaN, which JSON does not have), is refused by the save, with an error that names the column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Json<T>(pub T);

impl<T> Deref for Json<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Json<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Serialize + DeserializeOwned> ValueObject for Json<T> {
    const WIDTH: usize = 1;

    fn columns(column: &str, path: &str, columns: &mut Vec<Column>) {
        columns.push(Column::new(column, path, Kind::Json));
    }

    fn write(&self, row: &mut Vec<Value>) {
        let written = serde_json::to_value(&self.0).and_then(|content| T::deserialize(&content).map(|_| content));
        row.push(match written {
            Ok(content) => Value::Json(content),
            Err(error) => {
                let what = format!("this {} cannot be written as JSON and read again: {error}", type_name::<T>());
                Value::Invalid(Kind::Json, what)
            }
        });
    }

    fn write_null(row: &mut Vec<Value>) {
        row.push(Value::Null(Kind::Json));
    }

    fn read(row: &mut RowReader<'_>) -> Result<Self, MappingError> {
        let here = row.clone();
        match row.next_value()? {
            Value::Json(content) => T::deserialize(content)
                .map(Json)
                .map_err(|error| here.error(format!("the JSON is no {}: {error}", type_name::<T>()))),
            other => Err(here.error(format!("expected Json, found {other:?}"))),
        }
    }
}

/// Whether the content is equal. Numbers are compared as numbers: `jsonb` spells `1e16` with sixteen zeros, and a
/// float may come back as an integer.
pub(super) fn same(a: &Content, b: &Content) -> bool {
    match (a, b) {
        (Content::Number(a), Content::Number(b)) => a == b || normal(&a.to_string()) == normal(&b.to_string()),
        (Content::Array(a), Content::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Content::Object(a), Content::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// Whether a text in it contains a NUL, which `jsonb` cannot store.
pub(super) fn contains_nul(json: &Content) -> bool {
    match json {
        Content::String(text) => text.contains('\0'),
        Content::Array(all) => all.iter().any(contains_nul),
        Content::Object(all) => all.iter().any(|(key, value)| key.contains('\0') || contains_nul(value)),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nul_is_found_at_any_depth() {
        for json in [json!("\0"), json!([["a\0"]]), json!({"a": {"\0": 1}}), json!({"a": [{"b": "\0"}]})] {
            assert!(contains_nul(&json), "{json}");
        }
        assert!(!contains_nul(&json!({"a": ["\\u0000", 0, null]})));
    }

    #[test]
    fn json_equality_ignores_key_order_and_number_spelling() {
        let spellings = r#"{"b": [10000000000000000, 0.0], "a": {"x": 1.50, "y": null}}"#;
        let spelled: Content = serde_json::from_str(spellings).unwrap();
        assert!(same(&json!({"a": {"y": null, "x": 1.5}, "b": [1e16, -0.0]}), &spelled));
        for other in
            [json!([1, 2]), json!([2, 1]), json!([1]), json!({}), json!({"a": null}), json!(null), json!("1"), json!(1)]
        {
            let equal = [json!([1, 2]), json!([1.0, 2.0])].iter().filter(|json| same(json, &other)).count();
            assert_eq!(equal, if other == json!([1, 2]) { 2 } else { 0 });
        }
        for other in [json!({"a": 1, "b": 2}), json!({"b": 1}), json!({"a": 2}), json!({})] {
            assert!(!same(&json!({"a": 1}), &other), "{other}");
        }
        assert!(!same(&json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992.0)));
    }
}
