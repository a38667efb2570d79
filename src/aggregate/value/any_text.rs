//! A property of any text in a column, for the unit tests and for the fuzz target `stored_texts`. No I/O here.

use super::Decimal;
use super::calendar::{self, Day, Hour};
use super::{Value, decimal, uuid};

/// Each parser refuses the text, or its output is parsed as the same value; and it agrees with the libraries of the features.
pub(crate) fn check(text: &str) {
    if let Ok(day) = Day::parse(text) {
        assert_eq!(day.to_string(), text);
    }
    if let Ok(hour) = Hour::parse(text) {
        assert_eq!(Hour::parse(&hour.to_string()), Ok(hour));
    }
    if let Ok((day, hour)) = calendar::parse(text) {
        assert_eq!(calendar::parse(&format!("{day} {hour}")), Ok((day, hour)));
    }
    if let Ok(bytes) = uuid::parse(text) {
        assert_eq!(uuid::parse(&Value::Uuid(bytes).to_string()), Ok(bytes));
    }
    let (one, other) = text.split_once(' ').unwrap_or((text, text));
    // Also texts that are no numbers: a column of SQLite accepts any text.
    let equal = decimal::normal(one) == decimal::normal(other);
    if let (Ok(one), Ok(other)) = (one.parse::<Decimal>(), other.parse::<Decimal>()) {
        assert_eq!(one == other, equal);
        #[cfg(feature = "rust_decimal")]
        if let (Some(one), Some(other)) = (exact(&one), exact(&other)) {
            assert_eq!(one == other, equal, "{text:?}");
        }
    }
    #[cfg(feature = "jiff")]
    if let Ok(date) = jiff::civil::Date::strptime("%Y-%m-%d", text) {
        let reads = Day::parse(text).is_ok();
        assert_eq!(reads, (1..=9999).contains(&date.year()) && date.to_string() == text, "{text:?}");
    }
}

#[cfg(feature = "rust_decimal")]
fn exact(decimal: &Decimal) -> Option<rust_decimal::Decimal> {
    rust_decimal::Decimal::from_str_exact(decimal.as_str()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::check;

    proptest! {
        #[test]
        fn any_text_is_refused_or_read_back(text in ".*") {
            check(&text);
        }

        #[test]
        fn text_like_a_value_is_refused_or_read_back(
            text in "[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?)?|-?[0-9]{1,9}([.][0-9]{1,5})?(e-?[0-9]{1,19})?( -?0*[0-9]{1,9}([.][0-9]{1,5}0*)?)?|[0-9a-fA-F-]{32,36}",
        ) {
            check(&text);
        }
    }
}
