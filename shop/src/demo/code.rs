//! The lines of Rust that do what a step shows, taken from the sources of this program.

use super::story::{Act, Way};

/// Lines of a source: its path, and a function of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lines {
    pub(crate) file: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! source {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../", $path)))
    };
}

type Source = (&'static str, &'static str);

const CHANGE: Source = source!("shop/src/use_cases/change_order.rs");
const STOCK: Source = source!("shop/src/use_cases/stock.rs");
const BOTH: Source = source!("shop/src/use_cases/save_both.rs");
const FORM: Source = source!("shop/src/use_cases/standing.rs");
const NAIVE: Source = source!("shop/src/demo/storage/naive.rs");
const TAKE: Source = source!("src/lease/engine/take.rs");
const ROW: Source = source!("src/lease/engine/row.rs");

/// The lines behind a step. `stock`: in the story of the last piece.
pub(crate) fn lines(act: Act, way: Way, stock: bool) -> Vec<Lines> {
    let functions: &[(Source, &str)] = match (act, way) {
        (Act::Save(..), Way::With) => &[(CHANGE, "pub async fn change_shipping(")],
        (Act::SaveBoth(_), _) => &[(BOTH, "pub async fn save_both(")],
        (Act::Ship(_) | Act::Pack, Way::With) if stock => &[(STOCK, "pub(super) async fn take_stock(")],
        (Act::Ship(_) | Act::Pack, Way::With) => &[(CHANGE, "pub async fn start_shipping(")],
        (Act::Begin(_), Way::With) => &[(FORM, "pub async fn order_form("), (TAKE, "pub(super) fn take(")],
        (Act::Beats(..), _) => &[(ROW, "pub(super) fn keep("), (ROW, "fn keep_until(")],
        (Act::Minutes(_), Way::With) => &[(ROW, "pub(crate) fn alive(")],
        (Act::Save(..), Way::Without) => &[
            (NAIVE, "pub(in crate::demo) async fn change_shipping("),
            (NAIVE, "async fn save("),
            (NAIVE, "const UPDATE"),
        ],
        (Act::Ship(_) | Act::Pack, Way::Without) => {
            &[(NAIVE, "pub(in crate::demo) async fn start_shipping("), (NAIVE, "const UPDATE")]
        }
        _ => &[],
    };
    functions.iter().filter_map(|((file, text), begin)| Some(Lines { file, text: item(text, begin)? })).collect()
}

/// The item that begins so, up to the line that ends it.
fn item(text: &'static str, begin: &str) -> Option<&'static str> {
    let at = text.find(begin)?;
    let start = text[..at].rfind('\n').map_or(0, |line| line + 1);
    let indent = &text[start..at];
    let end = if begin.starts_with("const") { ";\n".to_owned() } else { format!("\n{indent}}}\n") };
    let length = text[start..].find(&end)? + end.len() - 1;
    Some(&text[start..start + length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::story::STORIES;

    #[test]
    fn every_save_and_ship_of_every_story_has_its_lines() {
        for story in &STORIES {
            for way in [Way::Without, Way::With] {
                for act in story.steps(way) {
                    let found = lines(*act, way, false).len() + lines(*act, way, true).len();
                    let needed =
                        matches!(act, Act::Save(..) | Act::Ship(_) | Act::Pack | Act::SaveBoth(_) | Act::Beats(..));
                    assert!(found > 0 || !needed, "{}: {act:?}", story.key);
                }
            }
        }
        let lines = lines(Act::Begin(crate::demo::story::Side::Left), Way::With, false);
        assert!(lines.len() == 2 && lines.iter().all(|lines| lines.text.trim_end().ends_with('}')), "{lines:?}");
    }
}
