//! Texts that are typed once only, so that they are recognized wherever they appear.

use std::collections::BTreeSet;
use std::fmt;

/// A field of an order that people type into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Field {
    Message,
    Street,
    /// The name of a new product, which only operators add, in the form of the whole order.
    Product,
    /// The text of the note, which only operators see.
    Note,
    /// The telephone number: any text in it is a mistake.
    Phone,
}

impl Field {
    pub(super) const ALL: [Field; 5] = [Field::Message, Field::Street, Field::Product, Field::Note, Field::Phone];

    fn letter(self) -> &'static str {
        match self {
            Field::Message => "m",
            Field::Street => "s",
            Field::Product => "p",
            Field::Note => "n",
            Field::Phone => "t",
        }
    }

    /// Where it is typed.
    pub(super) fn css(self) -> &'static str {
        match self {
            Field::Message => "textarea[name=message]",
            Field::Street => "input[name='address.line1'][type=text]",
            Field::Product => "input[name=new-product]",
            Field::Note => "#note textarea[name=text]",
            Field::Phone => "input[name='receiver.phone'][type=tel]",
        }
    }
}

/// A typed text: which field it is for, who typed it, and a number of its own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Marker {
    pub(super) field: Field,
    pub(super) author: String,
    pub(super) number: u32,
}

impl Marker {
    /// All markers in a text.
    pub(super) fn all_in(text: &str) -> BTreeSet<Marker> {
        text.split('~').filter_map(Marker::read).collect()
    }

    fn read(text: &str) -> Option<Marker> {
        let mut parts = text.split('-');
        let letter = parts.next()?;
        let field = Field::ALL.into_iter().find(|field| field.letter() == letter)?;
        let (author, number) = (parts.next()?.to_owned(), parts.next()?);
        let is_whole = parts.next().is_none() && number.len() == 4;
        is_whole.then_some(Marker { field, author, number: number.parse().ok()? })
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "~{}-{}-{:04}~", self.field.letter(), self.author, self.number)
    }
}

/// Short, for histories.
impl fmt::Debug for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_found_in_any_text() {
        let (one, other) = (
            Marker { field: Field::Message, author: "park".into(), number: 7 },
            Marker { field: Field::Street, author: "minji".into(), number: 12 },
        );
        let page = format!("Your change\n{one}\tnow: {other}{one} ~m-park-00~ ~x-park-0001~");
        assert_eq!(Marker::all_in(&page), [one, other].into());
        assert_eq!(
            Marker::all_in("~m-park-0007"),
            [Marker { field: Field::Message, author: "park".into(), number: 7 }].into()
        );
    }

    #[test]
    fn half_a_marker_is_none() {
        assert_eq!(Marker::all_in("~m-park-000"), BTreeSet::new());
    }
}
