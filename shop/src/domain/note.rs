//! The operators' internal note on an order.

use tenure::Aggregate;

use super::OrderNo;
use super::text::{Invalid, check_paragraphs, with_plain_line_breaks};

/// The operators' internal note on an order.
///
/// It is a separate aggregate, so that writing a note never blocks a change of the order. Two operators
/// may write at the same time; both see each other, and the version decides whose text has to be compared.
#[derive(Debug, Clone, PartialEq, Eq, Aggregate)]
#[aggregate(table = "order_note", revisions = 50)]
pub struct Note {
    #[aggregate(id)]
    order_no: OrderNo,
    text: String,
}

impl Note {
    /// The maximum length of a note, in characters.
    pub const MAX: usize = 4000;

    /// A note on an order; an empty one is allowed.
    ///
    /// # Errors
    /// [`Invalid`] if the text is too long, or contains control characters other than line breaks and tabs.
    pub fn new(order_no: OrderNo, text: &str) -> Result<Note, Invalid> {
        Ok(Note { order_no, text: checked(text)? })
    }

    /// The order of the note.
    pub fn order_no(&self) -> &OrderNo {
        &self.order_no
    }

    /// The text of the note.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Replaces the text.
    ///
    /// # Errors
    /// As for [`new`](Self::new); the note is unchanged.
    pub fn rewrite(&mut self, text: &str) -> Result<(), Invalid> {
        self.text = checked(text)?;
        Ok(())
    }
}

/// The stored text: spaces and empty lines are kept as written.
fn checked(text: &str) -> Result<String, Invalid> {
    let text = with_plain_line_breaks(text);
    match check_paragraphs(&text, Note::MAX) {
        Ok(()) => Ok(text),
        Err(problem) => Err(Invalid { field: "text", problem }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Problem;

    fn note(text: &str) -> Result<Note, Invalid> {
        Note::new(OrderNo::new("2026-000001").expect("a number"), text)
    }

    #[test]
    fn a_note_may_be_empty_and_may_have_many_lines() {
        assert_eq!(note("").expect("a note").text(), "");
        assert_eq!(note("  - 통화함\r\n  - 내일 발송").expect("a note").text(), "  - 통화함\n  - 내일 발송");
    }

    #[test]
    fn a_note_has_at_most_4000_characters() {
        assert_eq!(note(&"메".repeat(4000)).expect("a note").text().chars().count(), 4000);
        assert_eq!(note(&"메".repeat(4001)), Err(Invalid { field: "text", problem: Problem::TooLong { max: 4000 } }));
    }

    #[test]
    fn line_breaks_as_browsers_send_them_count_once() {
        assert_eq!(note(&"\r\n".repeat(4000)).expect("a note").text().len(), 4000);
    }

    #[test]
    fn a_note_that_cannot_be_rewritten_stays_as_it_was() {
        let mut note = note("before").expect("a note");
        let refused = note.rewrite("a\0b").expect_err("a control character");
        assert_eq!((refused.problem, note.text()), (Problem::ControlCharacter, "before"));
        assert_eq!(note.rewrite("after"), Ok(()));
        assert_eq!(note.text(), "after");
    }
}
