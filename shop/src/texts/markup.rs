//! HTML texts, and how values are inserted.

use std::fmt::{self, Display, Write};

use askama::filters::HtmlSafe;
use tenure::{Owner, Version};

use crate::domain::{MemberId, Money, OrderNo};

/// A piece of HTML that templates do not escape again: all foreign parts were escaped when they were inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    /// Takes the text as it is. Only for texts that consist of escaped parts.
    pub(crate) fn trusted(html: String) -> Html {
        Html(html)
    }

    /// A text from anywhere, escaped.
    pub(crate) fn text(text: impl Display) -> Html {
        let mut escaped = String::new();
        for c in text.to_string().chars() {
            match c {
                '&' => escaped.push_str("&amp;"),
                '<' => escaped.push_str("&lt;"),
                '>' => escaped.push_str("&gt;"),
                '"' => escaped.push_str("&quot;"),
                '\'' => escaped.push_str("&#39;"),
                c => escaped.push(c),
            }
        }
        Html(escaped)
    }
}

impl Html {
    /// A remark in a less prominent style.
    pub(crate) fn dim(text: &str) -> Html {
        Html(format!(r#"<span class="dim">{}</span>"#, Html::text(text)))
    }

    /// A typed value, escaped already, line by line.
    pub(super) fn typed_html(escaped: &str) -> Html {
        Html(format!(r#"<span class="typed">{escaped}</span>"#))
    }

    /// A typed value, line by line.
    pub(crate) fn typed(text: &str) -> Html {
        Html(format!(r#"<span class="typed">{}</span>"#, Html::text(text)))
    }
}

impl Html {
    /// The text without markup, for plain text.
    pub(crate) fn plain(&self) -> String {
        let mut plain = String::new();
        let mut rest = self.0.as_str();
        // Escaped parts contain no `<`, so each one begins a tag of ours.
        while let Some((text, tag)) = rest.split_once('<') {
            plain.push_str(text);
            rest = tag.split_once('>').map_or("", |(_, after)| after);
        }
        plain.push_str(rest);
        let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
        entities.into_iter().fold(plain, |text, (entity, sign)| text.replace(entity, sign))
    }
}

impl Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Html {}

impl From<&str> for Html {
    fn from(text: &str) -> Html {
        Html::text(text)
    }
}

/// A parameter of a text.
pub(crate) trait Part {
    /// As HTML.
    fn html(&self) -> Html;
}

impl Part for Html {
    fn html(&self) -> Html {
        self.clone()
    }
}

impl<T: Part + ?Sized> Part for &T {
    fn html(&self) -> Html {
        (**self).html()
    }
}

/// Names are isolated, so that a name in another script than the text around it stays in one piece.
impl Part for Owner {
    fn html(&self) -> Html {
        let mut html = String::from("<bdi>");
        // Writing to a string cannot fail.
        let _ = write!(html, "{}</bdi>", Html::text(&self.name));
        Html(html)
    }
}

macro_rules! escaped_parts {
    ($($part:ty),*) => {$(
        impl Part for $part {
            fn html(&self) -> Html {
                Html::text(self)
            }
        }
    )*};
}

escaped_parts!(str, String, i64, u32, u64, usize, Version, OrderNo, MemberId, Money);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_never_becomes_markup() {
        let owner = Owner::new("x", "<b>\"O'Brien\" & Co</b>");
        assert_eq!(owner.html().to_string(), "<bdi>&lt;b&gt;&quot;O&#39;Brien&quot; &amp; Co&lt;/b&gt;</bdi>");
        assert_eq!("<".html().html().to_string(), "&lt;");
        assert_eq!(owner.html().plain(), owner.name);
        assert_eq!(Html::text("&lt; <i>").plain(), "&lt; <i>");
    }
}
