//! Validation of typed texts.

/// The reason that a typed value is invalid. The variant is the code by which the pages choose their own text,
/// in Korean and in English; the text here is for logs and programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Empty, or only white space, although it is required.
    #[error("is empty; fill it in")]
    Empty,
    /// Too many characters.
    #[error("is longer than {max} characters; shorten it")]
    TooLong {
        /// The maximum number of characters.
        max: usize,
    },
    /// A control character: a tab in a name, a NUL.
    #[error("contains a control character; remove it, or type the text instead of pasting it")]
    ControlCharacter,
    /// Not a phone number.
    #[error("is not a phone number; write 7 to 15 digits, as in 010-0000-1234 or +44 20 7946 0000")]
    NotAPhoneNumber,
    /// Not a postal code.
    #[error("is not a postal code; write it as in 06236, SW1A 1AA or 94103")]
    NotAPostalCode,
    /// A negative price.
    #[error("is below zero; write 0 or more")]
    Negative,
    /// Not a number of pieces.
    #[error("is not a number from 1 to {max}; write how many pieces there are")]
    OutOfRange {
        /// The maximum.
        max: u32,
    },
}

/// A refused value, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {problem}")]
pub struct Invalid {
    /// The path of the field, as in `receiver.name`, so that a form can show the problem at the field.
    pub field: &'static str,
    /// The problem.
    pub problem: Problem,
}

/// The maximum length of a person's name.
pub(super) const NAME_MAX: usize = 100;

/// Validates a required text on one line.
pub(super) fn check_line(text: &str, max: usize) -> Result<(), Problem> {
    if text.trim().is_empty() {
        return Err(Problem::Empty);
    }
    check_optional_line(text, max)
}

/// Validates an optional text on one line.
pub(super) fn check_optional_line(text: &str, max: usize) -> Result<(), Problem> {
    check(text, max, is_unprintable)
}

/// Control characters, other line separators, and characters that change the direction of the surrounding text: in a list of
/// texts of several people they could show one line as another. tenure refuses the same in reasons and names.
fn is_unprintable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Validates an optional text of any number of lines.
pub(super) fn check_paragraphs(text: &str, max: usize) -> Result<(), Problem> {
    check(text, max, |c| c.is_control() && c != '\n' && c != '\t')
}

/// The text with every line break as `\n`. Browsers always send `\r\n`; without normalization,
/// an untouched form would be a change.
pub(super) fn with_plain_line_breaks(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Characters are counted, not bytes: 255 are 255 in Hangul as well.
fn check(text: &str, max: usize, is_refused: fn(char) -> bool) -> Result<(), Problem> {
    if text.chars().count() > max {
        return Err(Problem::TooLong { max });
    }
    match text.contains(is_refused) {
        true => Err(Problem::ControlCharacter),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_may_be_in_any_script() {
        for text in ["서울", "日本", "O'Brien \"the\" 100%", "👩‍👧‍👦", " _ "] {
            assert_eq!(check_line(text, 10 + text.len()), Ok(()), "{text}");
        }
    }

    #[test]
    fn characters_are_counted_and_not_bytes() {
        assert_eq!(check_line(&"가".repeat(255), 255), Ok(()));
        assert_eq!(check_line(&"가".repeat(256), 255), Err(Problem::TooLong { max: 255 }));
    }

    #[test]
    fn white_space_alone_is_refused() {
        for text in ["", "   ", "\u{3000}\u{a0}", "\t\n"] {
            assert_eq!(check_line(text, 255), Err(Problem::Empty), "{text:?}");
        }
    }

    #[test]
    fn a_line_break_is_fine_in_paragraphs_and_nowhere_else() {
        assert_eq!(check_paragraphs("one\n\ttwo", 255), Ok(()));
        assert_eq!(check_line("one\ntwo", 255), Err(Problem::ControlCharacter));
        assert_eq!(check_optional_line("one\ntwo", 255), Err(Problem::ControlCharacter));
        assert_eq!(check_paragraphs("one\0two", 255), Err(Problem::ControlCharacter));
    }

    #[test]
    fn a_line_is_one_line_in_one_direction() {
        for text in ["one\u{2028}two", "\u{202e}owt", "\u{2066}one"] {
            assert_eq!(check_line(text, 255), Err(Problem::ControlCharacter), "{text:?}");
        }
        assert_eq!(check_line("خليج\u{200f}", 255), Ok(()));
    }

    #[test]
    fn text_round_trips_through_a_browser() {
        assert_eq!(with_plain_line_breaks("one\r\ntwo\rthree\nfour"), "one\ntwo\nthree\nfour");
    }

    #[test]
    fn message_names_the_field_and_the_fix() {
        let invalid = Invalid { field: "receiver.name", problem: Problem::TooLong { max: 100 } };
        assert_eq!(invalid.to_string(), "`receiver.name` is longer than 100 characters; shorten it");
    }
}
