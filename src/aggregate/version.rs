//! The version of an aggregate: a number that rises with every save.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The version of an aggregate: 1 after the insert, one more with every save that changed something.
///
/// tenure starts with 1. Rows of other libraries may start with 0, as Hibernate's do: 0 is a valid version.
///
/// It travels with forms, as a hidden field, and with HTTP as the strong `ETag "v7"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64")]
pub struct Version(i64);

impl Version {
    /// The version of an aggregate that was just inserted.
    pub const FIRST: Version = Version(1);

    /// The version with this number.
    ///
    /// # Errors
    /// [`InvalidVersion`] if the number is negative: no aggregate ever had it.
    pub fn new(number: i64) -> Result<Self, InvalidVersion> {
        if number < 0 {
            return Err(InvalidVersion(number.to_string()));
        }
        Ok(Version(number))
    }

    /// The number.
    pub fn number(self) -> i64 {
        self.0
    }

    /// The version of a new aggregate: the first, or the next one after that of an aggregate that was deleted under its id.
    ///
    /// # Errors
    /// [`InvalidVersion`] if there is no higher number.
    pub(crate) fn after_removed(removed: Option<i64>) -> Result<Self, InvalidVersion> {
        removed.map_or(Ok(Version::FIRST), |removed| Version::new(removed.wrapping_add(1)))
    }

    /// The version after the next save; `None` after the highest number.
    pub(crate) fn next(self) -> Option<Version> {
        self.0.checked_add(1).map(Version)
    }
}

/// For serde, which refuses a negative number.
impl TryFrom<i64> for Version {
    type Error = InvalidVersion;

    fn try_from(number: i64) -> Result<Self, InvalidVersion> {
        Version::new(number)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Parses a version from a form: a number in decimal digits as [`Display`](fmt::Display) writes it, nothing around it.
impl FromStr for Version {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<Self, InvalidVersion> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let digits = digits && (text == "0" || !text.starts_with('0'));
        let number = digits.then(|| text.parse().ok()).flatten();
        number
            .and_then(|number| Version::new(number).ok())
            .ok_or_else(|| InvalidVersion(text.chars().take(40).collect()))
    }
}

/// The text is not a version. Never treat it as "no version given": that would disable the check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a version: a version is a whole number from 0; load the form again to get the current one")]
pub struct InvalidVersion(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_survives_the_form() {
        let second = Version::FIRST.next().expect("there is one after the first");
        assert_eq!(second.to_string().parse(), Version::new(2));
    }

    #[test]
    fn zero_is_a_version_and_one_follows_it() {
        assert_eq!("0".parse::<Version>().expect("0 is a version").next(), Some(Version::FIRST));
    }

    #[test]
    fn negative_numbers_are_no_versions() {
        assert_eq!(Version::new(-1), Err(InvalidVersion("-1".into())));
        assert_eq!(Version::new(0).map(Version::number), Ok(0));
        assert_eq!(Version::try_from(7).map(Version::number), Ok(7));
        assert_eq!(Version::new(i64::MAX).expect("a version").next(), None);
        assert_eq!(serde_json::from_str::<Version>("7").expect("a version").number(), 7);
        assert!(serde_json::from_str::<Version>("-1").is_err());
    }

    #[test]
    fn a_new_aggregate_continues_after_a_removed_one() {
        assert_eq!(Version::after_removed(None), Ok(Version::FIRST));
        assert_eq!(Version::after_removed(Some(7)).map(Version::number), Ok(8));
        assert!(Version::after_removed(Some(i64::MAX)).is_err());
    }

    #[test]
    fn text_that_is_no_version_is_refused() {
        for text in ["", "-0", "-1", "+1", " 1", "01", "00", "1.0", "seven", "٣", "99999999999999999999"] {
            assert_eq!(text.parse::<Version>(), Err(InvalidVersion(text.into())), "{text:?}");
        }
    }
}
