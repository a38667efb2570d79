//! Conditions as SQL. The databases differ in the quotes of a name and in the placeholder of a value.

use crate::aggregate::condition::{Comparison, Test};
use crate::aggregate::mapping::{Column, Table};
use crate::aggregate::value::Value;

/// Renders a condition; passes each value with its column to `place`, in the order of the text.
pub(in crate::storage) fn render(
    table: &Table,
    test: &Test,
    quote: char,
    place: &mut impl FnMut(&Column, &Value) -> String,
) -> String {
    match test {
        Test::Compare { column, comparison, value } => {
            let column = &table.columns[*column];
            let operator = match comparison {
                Comparison::Equal => "=",
                Comparison::Less => "<",
                Comparison::AtMost => "<=",
            };
            format!("{quote}{}{quote} {operator} {}", column.name, place(column, value))
        }
        Test::Null { column } => format!("{quote}{}{quote} is null", table.columns[*column].name),
        Test::All(tests) => join(table, tests, " and ", "1 = 1", quote, place),
        Test::Any(tests) => join(table, tests, " or ", "1 = 0", quote, place),
        // A comparison with null is neither true nor false, and so is its negation.
        Test::Not(test) => format!("not coalesce({}, false)", render(table, test, quote, place)),
    }
}

fn join(
    table: &Table,
    tests: &[Test],
    between: &str,
    empty: &str,
    quote: char,
    place: &mut impl FnMut(&Column, &Value) -> String,
) -> String {
    if tests.is_empty() {
        return empty.to_owned();
    }
    let tests: Vec<_> = tests.iter().map(|test| render(table, test, quote, place)).collect();
    format!("({})", tests.join(between))
}
