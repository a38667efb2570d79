//! A person's sign: an initial in a colour of their own. It is never alone: their name stands beside it, for eyes or for screen readers.

use std::fmt;

use askama::filters::HtmlSafe;
use tenure::Owner;

use crate::texts::Html;

/// The number of colours in the style sheet.
const COLOURS: u32 = 8;

/// The sign of a person. The same person has the same colour on every page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Face<'a>(pub(crate) &'a Owner);

impl Face<'_> {
    fn colour(&self) -> u32 {
        // FNV-1a: the same in every process and release.
        let fold = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        self.0.id.bytes().fold(0x811c_9dc5, fold) % COLOURS
    }

    /// The first letter or digit of the name, in any script.
    fn initial(&self) -> String {
        let first = self.0.name.chars().find(|c| c.is_alphanumeric());
        first.map_or_else(|| "·".to_owned(), |c| c.to_uppercase().collect())
    }
}

impl fmt::Display for Face<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (colour, name, initial) = (self.colour(), Html::text(&self.0.name), Html::text(self.initial()));
        write!(f, r#"<span class="face face-{colour}" title="{name}" aria-hidden="true">{initial}</span>"#)
    }
}

impl HtmlSafe for Face<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn face(name: &str) -> String {
        Face(&Owner::new("park", name)).to_string()
    }

    #[test]
    fn the_initial_is_of_any_script_and_the_colour_of_the_person() {
        assert_eq!(face("박서연"), r#"<span class="face face-1" title="박서연" aria-hidden="true">박</span>"#);
        for (name, initial) in [("olivia", ">O<"), ("(Ann)", ">A<"), ("ßen", ">SS<"), ("ありさ", ">あ<"), ("…", ">·<")]
        {
            assert!(face(name).contains(initial), "{}", face(name));
        }
        assert!(face("<b>").contains("title=\"&lt;b&gt;\"") && face("<b>").contains(">B<"));
    }
}
