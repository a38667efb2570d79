//! Amounts of money.

use std::fmt;

use tenure::ValueObject;

/// An amount in won, the shop's only currency. The won has no smaller unit, so a whole number is exact.
///
/// It prints as `12,300`; the pages add the currency sign, which depends on the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueObject)]
pub struct Money(i64);

/// A sum or product that a 64-bit number cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the amount of money is too large to be kept; lower a price or a quantity")]
pub struct AmountTooLarge;

impl Money {
    /// Zero.
    pub const ZERO: Money = Money(0);
    /// The largest amount that can be stored.
    pub const MAX: Money = Money(i64::MAX);

    /// So many won.
    pub const fn won(amount: i64) -> Money {
        Money(amount)
    }

    /// How many won.
    pub const fn as_won(self) -> i64 {
        self.0
    }

    /// The sum.
    ///
    /// # Errors
    /// [`AmountTooLarge`] instead of a wrapped or cut sum.
    pub fn plus(self, other: Money) -> Result<Money, AmountTooLarge> {
        self.0.checked_add(other.0).map(Money).ok_or(AmountTooLarge)
    }

    /// The product.
    ///
    /// # Errors
    /// [`AmountTooLarge`] instead of a wrapped or cut product.
    pub fn times(self, count: u32) -> Result<Money, AmountTooLarge> {
        self.0.checked_mul(i64::from(count)).map(Money).ok_or(AmountTooLarge)
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad_integral(self.0 >= 0, "", &grouped(self.0.unsigned_abs()))
    }
}

/// A number in groups of three digits: `12,300`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_prints_in_groups_of_three_digits() {
        let printed = |amount| Money::won(amount).to_string();
        assert_eq!([0, 7, 999, 1_000, 12_300].map(printed), ["0", "7", "999", "1,000", "12,300"]);
        assert_eq!(printed(-1_234_567), "-1,234,567");
        assert_eq!(printed(i64::MIN), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn an_amount_lines_up_in_a_column() {
        assert_eq!(format!("{:>8}", Money::won(12_300)), "  12,300");
    }

    #[test]
    fn amounts_add_up_and_multiply() {
        assert_eq!(Money::won(12_300).plus(Money::won(700)), Ok(Money::won(13_000)));
        assert_eq!(Money::won(12_300).times(3), Ok(Money::won(36_900)));
    }

    #[test]
    fn too_large_an_amount_is_an_error() {
        assert_eq!(Money::MAX.plus(Money::won(1)), Err(AmountTooLarge));
        assert_eq!(Money::MAX.times(2), Err(AmountTooLarge));
        assert_eq!(Money::won(i64::MIN).plus(Money::won(-1)), Err(AmountTooLarge));
    }
}
