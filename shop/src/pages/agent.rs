//! The `User-Agent` of a browser in familiar names.

use crate::texts::{Html, Lang};

/// Patterns and names; the first match counts, because most browsers also claim to be others.
const BROWSERS: [(&str, &str); 8] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Whale/", "Whale"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];
const SYSTEMS: [(&str, &str); 7] = [
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

/// How much of an unknown one is shown.
const LONGEST: usize = 60;

/// The browser and the system.
pub(super) fn named(t: Lang, agent: &str) -> Html {
    let of =
        |marks: &[(&str, &'static str)]| marks.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name);
    match (of(&BROWSERS), of(&SYSTEMS)) {
        (Some(browser), Some(system)) => t.browser_on(browser, system),
        (Some(only), None) | (None, Some(only)) => Html::text(only),
        (None, None) if agent.trim().is_empty() => t.unknown_browser().into(),
        (None, None) => Html::text(agent.chars().take(LONGEST).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_have_their_common_names() {
        let named = |agent: &str| named(Lang::En, agent).to_string();
        let chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 \
                      Safari/537.36";
        assert_eq!(named(chrome), "Chrome on Windows");
        assert_eq!(named(&format!("{chrome} Edg/142.0")), "Edge on Windows");
        let safari = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 Version/18.6 Mobile/15E148 \
                      Safari/604.1";
        assert_eq!(named(safari), "Safari on iPhone");
        assert_eq!(named("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"), "Firefox on Linux");
        assert_eq!(named("<script>curl/8"), "&lt;script&gt;curl/8");
        assert_eq!(named(""), "A browser that does not say which");
    }
}
