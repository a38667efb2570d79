//! The violations of accessibility that axe-core finds on a page.

use std::{env, fs};

use serde::Deserialize;
use serde_json::json;

use crate::Person;

/// The variable with the path of the script, set by `cargo xtask test`.
const SCRIPT: &str = "TENURE_AXE";

/// WCAG 2.0, 2.1 and 2.2, levels A and AA, and best practices.
const TAGS: [&str; 7] = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"];

/// The rules among them that are about colours.
const COLOURS: [&str; 2] = ["color-contrast", "link-in-text-block"];

/// The result of axe-core.
#[derive(Deserialize)]
struct Report {
    /// The number of rules that the page meets.
    kept: usize,
    /// Rule, impact, and place: the first element's selector and its HTML.
    broken: Vec<[String; 4]>,
}

impl Person {
    /// The violations on this page on this screen: one line for each rule.
    ///
    /// # Panics
    /// Without axe-core, which `cargo xtask test` fetches.
    pub async fn violations(&self, page: &str) -> Vec<String> {
        self.broken(page, "tag", &TAGS, 10).await
    }

    /// Only violations of the rules about colours: faster, if nothing else has changed.
    ///
    /// # Panics
    /// Without axe-core, which `cargo xtask test` fetches.
    pub async fn violations_of_colour(&self, page: &str) -> Vec<String> {
        self.broken(page, "rule", &COLOURS, 1).await
    }

    /// The violations of these rules, of which the page meets at least some.
    async fn broken(&self, page: &str, what: &str, rules: &[&str], some: usize) -> Vec<String> {
        if !self.finds::<bool>("typeof axe === 'object'").await {
            // The page forbids inline scripts; scripts of DevTools are exempt.
            self.browser_is_told("Runtime.evaluate", json!({ "expression": script() })).await;
        }
        let ask = format!(
            "axe.run(document, {{ runOnly: {{ type: '{what}', values: {} }}, resultTypes: ['violations'] }}).then((found) => ({{
                kept: found.passes.length,
                broken: found.violations.map(({{ id, impact, nodes: [first] }}) =>
                    [id, String(impact), first.target.flat().join(' '), first.html]) }}))",
            json!(rules),
        );
        let Report { kept, broken } = self.finds(&ask).await;
        assert!(kept >= some, "axe-core has looked at next to nothing on {page}");
        let line = |[rule, impact, target, html]: [String; 4]| format!("{page}: {rule} ({impact}): {target}: {html}");
        broken.into_iter().map(line).collect()
    }

    /// Prefers dark or light pages; and always reduced motion.
    pub async fn prefers(&self, scheme: &str) {
        let features = [("prefers-color-scheme", scheme), ("prefers-reduced-motion", "reduce")];
        let features = features.map(|(name, value)| json!({ "name": name, "value": value }));
        self.browser_is_told("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }
}

fn script() -> String {
    let path = env::var_os(SCRIPT).expect(
        "TENURE_AXE is not set: please run `cargo xtask test --only browser`, which fetches axe-core, or set it to the path \
        of axe.min.js",
    );
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("TENURE_AXE: {}: {error}", path.display()))
}
