//! The change of a row: the text of a file that is deleted or replaced.

use std::ops::Range;

use crate::guarantees::tables::{Piece, words};

/// The kinds of changes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Each of these alone makes a test fail.
    Mutants(Vec<Mutant>),
    /// Several lines implement it, and none of them alone.
    Several,
    /// A description for a person: `by hand: …`.
    ByHand,
}

/// Edits that are made together.
pub(super) type Mutant = Vec<Edit>;

/// The replacement of one text in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    /// The path from the root of the project.
    pub(super) file: String,
    /// The text, which must occur exactly once. White space in it matches any white space.
    pub(super) old: String,
    /// The replacement; empty to delete it.
    pub(super) new: String,
}

/// Reads the last cell of a row: `` `file`: `old` → `new` and `old`; `old` ``. Without a file it is the one before, and `home`
/// at first. An edit without an arrow deletes. Edits with `and` between them are made together; a semicolon begins the next
/// mutant.
///
/// # Errors
/// The part that could not be parsed.
pub(super) fn parse(cell: &[Piece], home: Option<&str>) -> Result<Change, String> {
    let start = words(&cell[..cell.len().min(1)]);
    if start.starts_with("by hand:") {
        return Ok(Change::ByHand);
    }
    if start.starts_with('-') {
        return Ok(Change::Several);
    }
    let mut file = home.map(str::to_owned);
    let mut mutants = vec![Mutant::new()];
    let mut rest = cell;
    loop {
        let mut old = code(&mut rest)?;
        if sign(&mut rest, ":") {
            file = Some(old);
            old = code(&mut rest)?;
        }
        let new = if sign(&mut rest, "→") { code(&mut rest)? } else { String::new() };
        let file = file.clone().ok_or_else(|| format!("no file for `{old}`"))?;
        mutants.last_mut().expect("one at least").push(Edit { file, old, new });
        if rest.is_empty() {
            return Ok(Change::Mutants(mutants));
        } else if sign(&mut rest, ";") {
            mutants.push(Mutant::new());
        } else if !sign(&mut rest, "and") {
            return Err(format!("`{}` is no sign", words(&rest[..1])));
        }
    }
}

/// Takes the next code span.
fn code(rest: &mut &[Piece]) -> Result<String, String> {
    let (first, after) = rest.split_first().ok_or("a text is missing at the end")?;
    let code =
        first.code().ok_or_else(|| format!("a text is missing before `{}`", words(std::slice::from_ref(first))))?;
    *rest = after;
    Ok(code.to_owned())
}

/// Takes the next sign, if it is this one.
fn sign(rest: &mut &[Piece], sign: &str) -> bool {
    let is = matches!(rest.first(), Some(Piece::Text(text)) if text.trim() == sign);
    if is {
        *rest = &rest[1..];
    }
    is
}

impl Edit {
    /// The text after this edit.
    ///
    /// # Errors
    /// The number of occurrences of the old text, if that is not one.
    pub(super) fn apply(&self, text: &str) -> Result<String, String> {
        match &places(text, &self.old)[..] {
            [place] => Ok([&text[..place.start], &self.new, &text[place.end..]].concat()),
            places => Err(format!("{}: `{}` is there {} times", self.file, self.old, places.len())),
        }
    }
}

/// The places of these words, with any white space between them.
fn places(text: &str, old: &str) -> Vec<Range<usize>> {
    let mut words = old.split_whitespace();
    let Some(first) = words.next() else { return Vec::new() };
    let end = |start: usize| {
        words.clone().try_fold(start + first.len(), |end, word| {
            let rest = text[end..].trim_start();
            let is_apart = rest.len() < text.len() - end;
            (is_apart && rest.starts_with(word)).then(|| text.len() - rest.len() + word.len())
        })
    };
    text.match_indices(first).filter_map(|(start, _)| Some(start..end(start)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guarantees::tables::tables;

    fn change(cell: &str) -> Result<Change, String> {
        let found = tables(&format!("| a |\n|---|\n| {cell} |\n"));
        parse(&found[0].rows[0][0], Some("home.rs"))
    }

    fn edit(file: &str, old: &str, new: &str) -> Edit {
        Edit { file: file.to_owned(), old: old.to_owned(), new: new.to_owned() }
    }

    #[test]
    fn edits_are_read_with_their_file_and_text() {
        let expected = vec![
            vec![edit("home.rs", "a and b", "")],
            vec![edit("x.rs", "a", "b"), edit("x.rs", "c", ""), edit("y.rs", "d", "e")],
        ];
        let read = change("`a and b`; `x.rs`: `a` → `b` and `c` and `y.rs`: `d` → `e`");
        assert_eq!(read, Ok(Change::Mutants(expected)));
    }

    #[test]
    fn words_for_a_person_say_so_at_their_start() {
        assert_eq!(change("by hand: stop the `server`"), Ok(Change::ByHand));
        assert_eq!(change("- (the database refuses it)"), Ok(Change::Several));
        assert!(change("stop the `server`").is_err());
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for cell in ["", "`a` → ", "`a` or `b`", "`a`:", "`a`; ", "in `a`: `b`"] {
            assert!(change(cell).is_err(), "{cell}");
        }
        let found = tables("| a |\n|---|\n| `a` |\n");
        assert!(parse(&found[0].rows[0][0], None).is_err());
    }

    #[test]
    fn white_space_stands_for_any_white_space() {
        let text = "select a\n    from b where ab";
        assert_eq!(edit("", "a from b", "c").apply(text).as_deref(), Ok("select c where ab"));
        assert_eq!(edit("", "where", "").apply(text).as_deref(), Ok("select a\n    from b  ab"));
    }

    #[test]
    fn a_text_has_to_be_there_exactly_once() {
        assert!(edit("", "a", "").apply("a a").is_err());
        assert!(edit("", "b", "").apply("a a").is_err());
        assert!(edit("", "a b", "").apply("ab").is_err());
        assert!(edit("", "", "x").apply("a").is_err());
    }
}
