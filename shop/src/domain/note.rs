//! What operators write about an order, for each other.

use tenure::Aggregate;

use super::OrderNo;
use super::text::{Invalid, check_paragraphs, with_plain_line_breaks};

/// The operators' internal note on an order.
///
/// An aggregate of its own, so that writing a note never stands in the way of whoever changes the order. Two operators
/// may write at the same time; both are told, and the version decides whose text is compared with whose.
#[derive(Debug, Clone, PartialEq, Eq, Aggregate)]
#[aggregate(table = "order_note", revisions = 50)]
pub struct Note {
    #[aggregate(id)]
    order_no: OrderNo,
    text: String,
}

impl Note {
    /// The most characters of a note.
    pub const MAX: usize = 4000;

    /// A note on an order; an empty one says nothing yet.
    ///
    /// # Errors
    /// [`Invalid`] when the text is too long, or contains control characters other than line breaks and tabs.
    pub fn new(order_no: OrderNo, text: &str) -> Result<Note, Invalid> {
        Ok(Note { order_no, text: checked(text)? })
    }

    /// The order it is about.
    pub fn order_no(&self) -> &OrderNo {
        &self.order_no
    }

    /// What it says.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Replaces what it says.
    ///
    /// # Errors
    /// As for [`new`](Self::new); the note stays as it was.
    pub fn rewrite(&mut self, text: &str) -> Result<(), Invalid> {
        self.text = checked(text)?;
        Ok(())
    }
}

/// The text as it is kept: spaces and empty lines are the writer's business.
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
