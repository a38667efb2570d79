//! One input of a form: label, hint, typed value, and mistake.

use std::fmt;

use askama::Template;
use askama::filters::HtmlSafe;

use super::icon::Icon;
use crate::texts::{Html, Lang};

/// A mistake in the typed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// The id of the input, for the link in the summary.
    pub(crate) id: String,
    /// The label of the field, if it concerns one field.
    pub(crate) label: Option<Html>,
    /// The problem.
    pub(crate) text: Html,
}

impl Mistake {
    /// A mistake in one field.
    pub(crate) fn new(id: impl Into<String>, label: impl Into<Html>, text: impl Into<Html>) -> Mistake {
        Mistake { id: id.into(), label: Some(label.into()), text: text.into() }
    }

    /// A mistake that concerns the form and not one field.
    pub(crate) fn general(id: &str, text: impl Into<Html>) -> Mistake {
        Mistake { id: id.into(), label: None, text: text.into() }
    }

    /// Its text in the summary, away from its field.
    pub(crate) fn summary(&self, t: &Lang) -> Html {
        self.label.as_ref().map_or_else(|| self.text.clone(), |label| t.labelled(label, &self.text))
    }
}

/// An input with its label, its hint and its mistake.
#[derive(Debug, Clone, Template)]
#[template(path = "part/input.html")]
pub(crate) struct Input {
    id: String,
    name: String,
    label: Html,
    value: String,
    mistake: Option<Html>,
    hint: &'static str,
    optional: &'static str,
    kind: Kind,
    autocomplete: &'static str,
    readonly: bool,
    /// Whether the page begins here.
    focused: bool,
    /// The aggregate's value, if it differs from the input's.
    base: Option<String>,
    /// The maximum number of characters, and the texts about it, if they are counted while somebody types.
    count: Option<Count>,
}

/// A counter of characters, which the script fills. The field takes more: a text that is too long is shortened, not cut.
#[derive(Debug, Clone)]
pub(crate) struct Count {
    most: usize,
    of: &'static str,
    over: &'static str,
}

impl HtmlSafe for Input {}

/// The kind of an input: it selects the keyboard of a phone, and the width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A line of text.
    Text,
    /// A phone number.
    Phone,
    /// A short code.
    Code,
    /// A whole number.
    Number,
    /// Several lines.
    Lines,
    /// Many lines.
    Page,
    /// A password.
    Password,
}

impl Input {
    /// An input with a typed value and its mistake.
    pub(crate) fn new(name: &str, label: impl Into<Html>, value: &str, kind: Kind, mistakes: &[Mistake]) -> Input {
        Input::with_id(name.to_owned(), name, label, value, kind, mistakes)
    }

    /// An input whose name repeats on the page.
    pub(crate) fn with_id(
        id: String,
        name: &str,
        label: impl Into<Html>,
        value: &str,
        kind: Kind,
        mistakes: &[Mistake],
    ) -> Input {
        let mistake = mistakes.iter().find(|mistake| mistake.id == id).map(|mistake| mistake.text.clone());
        let (name, value) = (name.to_owned(), value.to_owned());
        Input {
            id,
            name,
            label: label.into(),
            value,
            mistake,
            hint: "",
            optional: "",
            kind,
            autocomplete: "off",
            readonly: false,
            focused: false,
            base: None,
            count: None,
        }
    }

    /// Whether it has the focus when the page is opened.
    pub(crate) fn focused(self, focused: bool) -> Input {
        Input { focused, ..self }
    }

    /// Adds a hint under its label.
    pub(crate) fn hint(self, hint: &'static str) -> Input {
        Input { hint, ..self }
    }

    /// Sets the `autocomplete` attribute.
    pub(crate) fn autocomplete(self, autocomplete: &'static str) -> Input {
        Input { autocomplete, ..self }
    }

    /// Sets the aggregate's value: a different value is typed text.
    pub(crate) fn base(self, base: &str) -> Input {
        Input { base: (self.value != base).then(|| base.to_owned()), ..self }
    }

    /// Counts its characters while somebody types.
    pub(crate) fn counted(self, t: Lang, most: usize) -> Input {
        Input { count: Some(Count { most, of: t.count_of(), over: t.count_over() }), ..self }
    }

    fn is(&self, kind: Kind) -> bool {
        self.kind == kind
    }

    /// The ids of the texts that describe it.
    fn described_by(&self) -> String {
        let hint = (!self.hint.is_empty()).then(|| format!("{}-hint", self.id));
        let mistake = self.mistake.is_some().then(|| format!("{}-mistake", self.id));
        hint.into_iter().chain(mistake).collect::<Vec<_>>().join(" ")
    }

    /// Marks it as optional.
    pub(crate) fn optional(self, optional: &'static str) -> Input {
        Input { optional, ..self }
    }

    /// Makes it read-only.
    pub(crate) fn readonly(self, readonly: bool) -> Input {
        Input { readonly, ..self }
    }
}

impl Kind {
    fn input_type(self) -> &'static str {
        match self {
            Kind::Password => "password",
            Kind::Phone => "tel",
            _ => "text",
        }
    }
}

/// Its name in the style sheet.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Text | Kind::Lines | Kind::Page => "text",
            Kind::Phone => "phone",
            Kind::Code => "code",
            Kind::Number => "number",
            Kind::Password => "password",
        })
    }
}
