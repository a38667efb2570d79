//! Texts that people read: plain lines, and their escaped form in messages. No I/O here.

use std::fmt;

/// Whether a character is forbidden in a name, a key or a reason: control characters (including line breaks and escape
/// sequences), Unicode line and paragraph separators, and characters that change the direction of the surrounding text.
/// They could forge lines of a log, or show one name as another. (Direction marks that affect only their neighbours are
/// allowed: they are part of names in Hebrew and Arabic.)
fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a text is one plain line.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.chars().any(is_unprintable)
}

/// The problem of any other text.
pub(crate) const NOT_PLAIN: &str = "it contains a control character, such as a line break";

/// The maximum length of the reason of a takeover or a break, in characters: it is displayed under its author's name.
pub const LONGEST_REASON: usize = 500;

/// Why the reason of a takeover or a break cannot be displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidReason {
    /// The holder must get a reason.
    #[error("give a reason: the holder is going to read it")]
    Empty,
    /// It is longer than [`LONGEST_REASON`].
    #[error("the reason is too long; write at most {} characters", LONGEST_REASON)]
    TooLong,
    /// It contains control characters.
    #[error("the reason has line breaks or other control characters; write it in one line")]
    NotPlain,
}

/// The trimmed reason, if it is valid.
pub(crate) fn checked_reason(text: &str) -> Result<&str, InvalidReason> {
    let text = text.trim();
    match text.chars().nth(LONGEST_REASON) {
        Some(_) => Err(InvalidReason::TooLong),
        None if text.is_empty() => Err(InvalidReason::Empty),
        None if !is_plain(text) => Err(InvalidReason::NotPlain),
        None => Ok(text),
    }
}

/// A text for messages and logs: non-printable characters are escaped, `\u{a}`.
pub(crate) struct Printable<'t>(pub(crate) &'t str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match is_unprintable(character) {
            true => write!(f, "{}", character.escape_unicode()),
            false => write!(f, "{character}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_1_to_500_characters_of_any_script() {
        assert_eq!(checked_reason("  the shift is over  "), Ok("the shift is over"));
        assert_eq!(checked_reason(&"가".repeat(500)).map(|reason| reason.chars().count()), Ok(500));
        assert_eq!(checked_reason(&"a".repeat(501)), Err(InvalidReason::TooLong));
        assert_eq!(checked_reason("why\r\n\u{1b}[2J"), Err(InvalidReason::NotPlain));
        assert_eq!(checked_reason("  "), Err(InvalidReason::Empty));
    }

    #[test]
    fn a_plain_text_is_one_line_in_one_direction_of_any_script() {
        for plain in
            ["", "Order 17", "주문 💐", "خليج\u{200f}", "👩\u{200d}🚒", "🏴\u{e0067}\u{e0062}\u{e007f}", "a\u{a0}b"]
        {
            assert!(is_plain(plain), "{plain:?}");
            assert_eq!(Printable(plain).to_string(), plain);
        }
        for bad in [
            "\0",
            "a\nb",
            "a\r",
            "\t",
            "\u{1b}[31m",
            "\u{7f}",
            "\u{85}",
            "\u{9b}",
            "\u{2028}",
            "\u{202e}txt",
            "\u{2066}",
        ] {
            assert!(!is_plain(bad), "{bad:?}");
            assert!(is_plain(&Printable(bad).to_string()));
        }
    }
}
