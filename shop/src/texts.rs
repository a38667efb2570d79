//! All texts of pages, in Korean and in English.
//!
//! A text is a method of `Lang`, so a page with a text that is missing in one language does not compile. A
//! text without parameters is a `&'static str`, which the template escapes. A text with parameters is `Html`: its
//! parameters are escaped one by one, and a time among them becomes a `<time>` element.
//!
//! Korean particles depend on the last sound of the word before them. If that word is a name or a number, a fixed
//! noun follows it ("{name} 님이", "{no}번 주문을"), so that the particle is right for every name.

mod account;
mod conflicts;
mod console;
mod editing;
mod frame;
mod labels;
mod language;
mod live;
mod marked;
mod markup;
mod moment;
mod orders;
mod problems;
mod refusals;
mod standing;
mod stock;
mod words;

pub(crate) use labels::{field_label, line_of, shown};
pub(crate) use language::Lang;
pub(crate) use marked::marked;
pub(crate) use markup::{Html, Part};
pub(crate) use moment::{When, left};

/// Defines texts as methods of [`Lang`]: the English one, then the Korean one.
macro_rules! texts {
    ($($name:ident $(($($arg:ident),+))?: $en:literal, $ko:literal;)*) => {
        impl $crate::texts::Lang {
            $($crate::texts::texts!(@one $name $(($($arg),+))?, $en, $ko);)*
        }
    };
    (@one $name:ident, $en:literal, $ko:literal) => {
        pub(crate) fn $name(self) -> &'static str {
            match self {
                Self::En => $en,
                Self::Ko => $ko,
            }
        }
    };
    (@one $name:ident ($($arg:ident),+), $en:literal, $ko:literal) => {
        pub(crate) fn $name(self, $($arg: impl $crate::texts::markup::Part),+) -> $crate::texts::Html {
            $(let $arg = $arg.html();)+
            $crate::texts::Html::trusted(match self {
                Self::En => format!($en),
                Self::Ko => format!($ko),
            })
        }
    };
}
use texts;
