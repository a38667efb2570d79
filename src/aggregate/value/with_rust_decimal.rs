//! `rust_decimal::Decimal` in a column. At most about 28 digits; a stored number with more is an error.

use rust_decimal::Decimal;

use super::{Kind, RowReader, Value, ValueObject};
use crate::aggregate::mapping::{Column, MappingError};

scalar!(Decimal, Decimal, |value| super::Decimal::from(*value), |stored| read(stored.as_str()));

impl From<Decimal> for super::Decimal {
    fn from(decimal: Decimal) -> Self {
        decimal.to_string().parse().expect("it is written with digits and a point")
    }
}

/// A column with many decimal places pads with zeros, which need not fit.
fn read(text: &str) -> Result<Decimal, String> {
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    Decimal::from_str_exact(text).or_else(|_| Decimal::from_str_exact(short)).map_err(|error| {
        format!("{text} does not fit into rust_decimal::Decimal ({error}); use tenure::aggregate::value::Decimal")
    })
}
