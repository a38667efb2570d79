//! The reason for ending a lock.

use super::text::{Invalid, Problem, check_line};

/// Validates the reason that the holder of a lock will see: one line of at most `max` characters.
///
/// # Errors
/// [`Invalid`] about the field `reason`.
pub fn check_reason(reason: &str, max: usize) -> Result<(), Invalid> {
    check_line(reason, max).map_err(|problem: Problem| Invalid { field: "reason", problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_one_non_blank_line() {
        assert!(check_reason("고객이 전화로 요청", 200).is_ok());
        assert_eq!(check_reason(" ", 200).map_err(|wrong| wrong.problem), Err(Problem::Empty));
        assert_eq!(check_reason("a\0b", 200).map_err(|wrong| wrong.problem), Err(Problem::ControlCharacter));
        let long = "x".repeat(201);
        assert_eq!(check_reason(&long, 200).map_err(|wrong| wrong.problem), Err(Problem::TooLong { max: 200 }));
    }
}
