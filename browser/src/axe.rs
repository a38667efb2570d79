//! What axe-core finds on a page that shuts people out, and what only the eye would see otherwise.

use std::{env, fs};

use serde::Deserialize;
use serde_json::json;

use crate::Person;

/// Where `cargo xtask test` says that the script is.
const SCRIPT: &str = "TENURE_AXE";

/// WCAG 2.0, 2.1 and 2.2, levels A and AA, and what is good practice besides.
const TAGS: [&str; 7] = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"];

/// The rules among them that are about colours.
const COLOURS: [&str; 2] = ["color-contrast", "link-in-text-block"];

/// What axe-core says.
#[derive(Deserialize)]
struct Report {
    /// How many rules the page keeps.
    kept: usize,
    /// Rule, impact, and where: the first place's selector and its HTML.
    broken: Vec<[String; 4]>,
}

impl Person {
    /// What shuts people out on this page as it is on this screen: one line for each rule that it breaks.
    ///
    /// # Panics
    /// Without axe-core, which `cargo xtask test` fetches.
    pub async fn violations(&self, page: &str) -> Vec<String> {
        self.broken(page, "tag", &TAGS, 10).await
    }

    /// Of those only what is about colours: quicker, where nothing else has changed.
    ///
    /// # Panics
    /// Without axe-core, which `cargo xtask test` fetches.
    pub async fn violations_of_colour(&self, page: &str) -> Vec<String> {
        self.broken(page, "rule", &COLOURS, 1).await
    }

    /// What breaks these rules, of which the page keeps some at least.
    async fn broken(&self, page: &str, what: &str, rules: &[&str], some: usize) -> Vec<String> {
        if !self.finds::<bool>("typeof axe === 'object'").await {
            // The page forbids scripts in it; what DevTools runs is none of the page's.
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

    /// Likes dark pages better than light ones, or the other way round; and always pages that keep still.
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
