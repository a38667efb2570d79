//! Conditions on the columns of an order.

use super::*;
use crate::aggregate::value::Json;
use crate::{Aggregate, ValueObject};

#[derive(Aggregate)]
#[aggregate(table = "orders")]
#[allow(dead_code, reason = "only its mapping is used")]
struct Order {
    #[aggregate(id)]
    no: String,
    shipping: Address,
    priority: i64,
    weight: f64,
    note: Option<String>,
    tags: Json<Vec<String>>,
}

#[derive(ValueObject, Clone)]
struct Address {
    zip: String,
    city: String,
}

fn address() -> Address {
    Address { zip: "04524".into(), city: "Seoul".into() }
}

fn resolved(condition: &Condition) -> Test {
    condition.resolve(Order::mapping()).expect("a condition on fields of an order")
}

fn refused(condition: &Condition) -> String {
    condition.resolve(Order::mapping()).expect_err("it does not fit an order").to_string()
}

fn compare(column: usize, comparison: Comparison, value: impl ValueObject) -> Test {
    let [value] = <[Value; 1]>::try_from(written(&value)).expect("one column");
    Test::Compare { column, comparison, value }
}

#[test]
fn a_condition_names_the_columns_of_its_field() {
    use Comparison::{AtMost, Equal, Less};
    let (zip, city) = (compare(1, Equal, address().zip), compare(2, Equal, address().city));
    for (condition, expected) in [
        (Condition::equal("priority", 3_i64), vec![compare(3, Equal, 3_i64)]),
        (Condition::less("priority", 3_i64), vec![compare(3, Less, 3_i64)]),
        (Condition::at_most("weight", 0.5), vec![compare(4, AtMost, 0.5)]),
        (Condition::equal("shipping", address()), vec![zip, city.clone()]),
        (Condition::equal("shipping.city", address().city), vec![city]),
        (Condition::is_none("note"), vec![Test::Null { column: 5 }]),
        (Condition::is_none("shipping"), vec![Test::Null { column: 1 }, Test::Null { column: 2 }]),
        (Condition::always(), vec![]),
    ] {
        assert_eq!(resolved(&condition), Test::All(expected), "{condition:?}");
    }
}

#[test]
fn conditions_are_combined_in_their_order() {
    let (one, other) = (Condition::less("priority", 3_i64), Condition::is_none("note"));
    let both = vec![resolved(&one), resolved(&other)];
    assert_eq!(resolved(&one.clone().and(other.clone())), Test::All(both.clone()));
    assert_eq!(resolved(&one.clone().or(other)), Test::Any(both.clone()));
    assert_eq!(resolved(&!one), Test::Not(Box::new(both[0].clone())));
}

#[test]
fn a_condition_that_does_not_fit_says_why() {
    let tags = Json(vec!["gift".to_owned()]);
    for (condition, reason) in [
        (Condition::equal("ship", 3_i64), "the root has no field `ship`; it has no, shipping.zip, shipping.city"),
        (Condition::is_none("shipping.country"), "the root has no field `shipping.country`"),
        (Condition::equal("priority", "3".to_owned()), "the value given for `priority` is not of the field's type"),
        (Condition::equal("shipping", "Seoul".to_owned()), "the value given for `shipping` is not of the field's type"),
        (Condition::equal("no", address()), "the value given for `no` is not of the field's type"),
        (Condition::less("shipping", address()), "`shipping` has several columns, which have no order"),
        (Condition::equal("tags", tags), "`tags` is JSON, which cannot be compared"),
        (Condition::equal("weight", f64::NAN), "NaN is no number that every database can hold"),
    ] {
        assert!(refused(&condition).contains(reason), "{}", refused(&condition));
        assert!(refused(&!condition.clone()).contains(reason));
        assert!(refused(&Condition::always().and(condition.clone())).contains(reason));
        assert!(refused(&Condition::always().or(condition)).contains(reason));
    }
}

#[cfg(feature = "sqlite")]
#[test]
fn a_test_compares_the_kinds_of_its_parts() {
    let condition = Condition::is_none("note").or(!Condition::less("priority", 3_i64));
    let test = resolved(&condition.and(Condition::always()));
    assert!(test.compares(Kind::Integer));
    assert!(!test.compares(Kind::Text), "null is no comparison");
}
