//! The number of an order.

use std::fmt;
use std::str::FromStr;

use tenure::ValueObject;

use super::text::{Invalid, check_line};

/// The number of an order, such as `2026-000123`. Numbers of other shops are accepted unchanged: up to 255 characters of
/// any script, nothing trimmed or folded, so that different numbers stay different.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, ValueObject)]
pub struct OrderNo(String);

impl OrderNo {
    /// The maximum length of a number, in characters.
    pub const MAX: usize = 255;

    /// The number, if it is valid.
    ///
    /// # Errors
    /// [`Invalid`] if it is empty or only white space, too long, or contains control characters.
    pub fn new(no: impl Into<String>) -> Result<OrderNo, Invalid> {
        let no = no.into();
        match check_line(&no, Self::MAX) {
            Ok(()) => Ok(OrderNo(no)),
            Err(problem) => Err(Invalid { field: "order_no", problem }),
        }
    }

    /// The number as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for OrderNo {
    type Err = Invalid;

    fn from_str(no: &str) -> Result<OrderNo, Invalid> {
        OrderNo::new(no)
    }
}

impl fmt::Display for OrderNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Problem;

    #[test]
    fn a_number_may_be_in_any_script_and_prints_as_it_was_given() {
        for no in ["2026-000123", "주문 17", "📦-1", "O'Brien \"100%\"", "a/b?c=d&e", "../..", " 7 "] {
            assert_eq!(no.parse::<OrderNo>().expect("a number").to_string(), no);
        }
    }

    #[test]
    fn order_number_has_at_most_255_characters() {
        assert_eq!(OrderNo::new("가".repeat(255)).expect("a number").as_str().chars().count(), 255);
        let refused = OrderNo::new("가".repeat(256)).expect_err("too long");
        assert_eq!(refused.to_string(), "`order_no` is longer than 255 characters; shorten it");
    }

    #[test]
    fn order_number_is_not_blank_and_has_no_hidden_characters() {
        let problem_of = |no: &str| OrderNo::new(no).expect_err("no number").problem;
        assert_eq!(problem_of(""), Problem::Empty);
        assert_eq!(problem_of(" \u{3000} "), Problem::Empty);
        assert_eq!(problem_of("17\n"), Problem::ControlCharacter);
        assert_eq!(problem_of("1\u{0}7"), Problem::ControlCharacter);
    }
}
