//! Decimals as text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An exact decimal number of any size, as written: digits, and a point before the fraction.
///
/// It keeps its spelling for display, and compares as a number, because an equal value need not be saved:
///
/// ```
/// use tenure::aggregate::value::Decimal;
///
/// let price: Decimal = "12.50".parse()?;
/// assert_eq!(price.to_string(), "12.50");
/// assert_eq!(price, "12.5".parse()?);
/// # Ok::<(), tenure::aggregate::value::InvalidDecimal>(())
/// ```
///
/// It has no arithmetic. Use `rust_decimal::Decimal` with the feature `rust_decimal`, or your own
/// [`ValueObject`](crate::ValueObject) that reads and writes this type.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Decimal(String);

/// The text is not a decimal number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no decimal number; it is written with digits, and a point before the fraction, as in `-12.50`")]
pub struct InvalidDecimal(String);

impl Decimal {
    /// Its original spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Decimal {
    type Err = InvalidDecimal;

    fn from_str(text: &str) -> Result<Self, InvalidDecimal> {
        Decimal::try_from(text.to_owned())
    }
}

impl TryFrom<String> for Decimal {
    type Error = InvalidDecimal;

    fn try_from(text: String) -> Result<Self, InvalidDecimal> {
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, "0"));
        let fits = digits(whole.strip_prefix('-').unwrap_or(whole)) && digits(fraction);
        if fits { Ok(Decimal(text)) } else { Err(InvalidDecimal(text)) }
    }
}

impl From<Decimal> for String {
    fn from(decimal: Decimal) -> String {
        decimal.0
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || normal(&self.0) == normal(&other.0)
    }
}

impl Eq for Decimal {}

/// The normal form of a number with digits and optionally a point and an exponent: its sign, its digits without zeros at either
/// end, and the power of ten of the last one. Equal numbers have the same normal form.
pub(super) fn normal(text: &str) -> (bool, String, i64) {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (negative, mantissa) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let short = digits.trim_end_matches('0');
    let significant = short.trim_start_matches('0');
    if significant.is_empty() {
        return (false, String::new(), 0);
    }
    // No database or program can store a larger exponent.
    let largest = i64::from(i32::MAX);
    let beyond = if exponent.starts_with('-') { -largest } else { largest };
    let exponent = exponent.parse().unwrap_or(beyond).clamp(-largest, largest);
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    (negative, significant.to_owned(), exponent - length(fraction) + length(&digits) - length(short))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn decimals_are_compared_as_numbers() {
        for (a, b) in [("1.0", "1.00"), ("-0", "0.000"), ("012.50", "12.5"), ("100", "100.0"), ("-0.10", "-0.1")] {
            assert_eq!(decimal(a), decimal(b));
        }
        for (a, b) in [("1", "-1"), ("10", "1"), ("0.1", "0.01"), ("12345678901234567890.1", "12345678901234567890.2")]
        {
            assert_ne!(decimal(a), decimal(b));
        }
    }

    #[test]
    fn a_decimal_keeps_its_spelling() {
        let price = decimal("-012.50");
        assert_eq!((price.as_str(), price.to_string()), ("-012.50", "-012.50".to_owned()));
        let json = serde_json::to_string(&price).unwrap();
        assert_eq!((&*json, serde_json::from_str::<Decimal>(&json).unwrap().as_str()), ("\"-012.50\"", "-012.50"));
        assert!(serde_json::from_str::<Decimal>("\"1e5\"").is_err());
    }

    #[test]
    fn invalid_decimal_is_refused() {
        for text in ["", "-", ".5", "5.", "1e5", "NaN", "Infinity", "+1", "1,5", "1.2.3", "--1", "1.-5", " 1", "١"] {
            assert_eq!(text.parse::<Decimal>(), Err(InvalidDecimal(text.to_owned())));
        }
    }

    #[test]
    fn numbers_with_an_exponent_are_the_same_as_without() {
        assert_eq!(normal("1e16"), normal("10000000000000000"));
        assert_eq!(normal("1.5E-3"), normal("0.00150"));
        assert_eq!(normal("-0.0"), normal("0e7"));
        assert_ne!(normal("1e16"), normal("10000000000000001"));
        let (smallest, largest) = ("1.5e-9223372036854775808", "1.5e9223372036854775807");
        assert_ne!(normal(smallest), normal(largest));
        assert_ne!(normal(&format!("{smallest}0")), normal(&format!("{largest}0")));
    }
}
