//! The language of a visitor.

use std::str::FromStr;

/// A supported language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lang {
    /// English.
    En,
    /// Korean.
    Ko,
}

impl Lang {
    /// The cookie that remembers the choice.
    pub(crate) const COOKIE: &'static str = "lang";

    /// The language of the page, by priority: the query, the cookie, the browser's preference, English.
    pub(crate) fn negotiate(query: Option<&str>, cookie: Option<&str>, accept: Option<&str>) -> Lang {
        let chosen = query.and_then(|code| code.parse().ok()).or_else(|| cookie.and_then(|code| code.parse().ok()));
        chosen.or_else(|| accept.and_then(preferred)).unwrap_or(Lang::En)
    }

    /// Its code, for `lang` attributes, the query and the cookie.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Lang::En => "en",
            Lang::Ko => "ko",
        }
    }

    /// The target of the language switch.
    pub(crate) fn other(self) -> Lang {
        match self {
            Lang::En => Lang::Ko,
            Lang::Ko => Lang::En,
        }
    }

    /// Its own name for itself.
    pub(crate) fn own_name(self) -> &'static str {
        match self {
            Lang::En => "English",
            Lang::Ko => "한국어",
        }
    }
}

/// Parses a tag such as `ko`, `ko-KR` or `en_US`.
impl FromStr for Lang {
    type Err = ();

    fn from_str(tag: &str) -> Result<Lang, ()> {
        let primary = tag.split(['-', '_']).next().unwrap_or_default();
        match primary.trim().to_ascii_lowercase().as_str() {
            "en" => Ok(Lang::En),
            "ko" => Ok(Lang::Ko),
            _ => Err(()),
        }
    }
}

/// The supported language that `Accept-Language` prefers; the first of equal ones.
fn preferred(accept: &str) -> Option<Lang> {
    let mut best: Option<(f32, Lang)> = None;
    for range in accept.split(',') {
        let (tag, parameters) = range.split_once(';').unwrap_or((range, ""));
        let Ok(lang) = tag.parse::<Lang>() else { continue };
        let quality = parameters.trim().strip_prefix("q=").map_or(1.0, |q| q.trim().parse().unwrap_or(0.0));
        if quality > best.map_or(0.0, |(quality, _)| quality) {
            best = Some((quality, lang));
        }
    }
    best.map(|(_, lang)| lang)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_precedence_is_choice_then_cookie_then_browser() {
        let all = Lang::negotiate(Some("en"), Some("ko"), Some("ko"));
        assert_eq!(all, Lang::En);
        assert_eq!(Lang::negotiate(None, Some("ko"), Some("en")), Lang::Ko);
        assert_eq!(Lang::negotiate(Some("xx"), Some("yy"), Some("ko-KR")), Lang::Ko);
        assert_eq!(Lang::negotiate(None, None, None), Lang::En);
    }

    #[test]
    fn accept_language_selects_the_language() {
        let of = |accept| Lang::negotiate(None, None, Some(accept));
        assert_eq!(of("ko-KR,ko;q=0.9,en-US;q=0.8,en;q=0.7"), Lang::Ko);
        assert_eq!(of("en;q=0.4, ko;q=0.8"), Lang::Ko);
        assert_eq!(of("de-DE, en;q=0.5"), Lang::En);
        assert_eq!(of("ko;q=0, en;q=0.1"), Lang::En);
        assert_eq!(of("ko;q=x"), Lang::En);
        assert_eq!(of("ja, *;q=0.5"), Lang::En);
        assert_eq!(of("KO"), Lang::Ko);
    }
}
