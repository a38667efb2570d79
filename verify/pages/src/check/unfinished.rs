//! P8: the text of a page can be saved by what the page offers, once nobody else does anything.

use super::super::evidence::Evidence;
use super::super::history::What;
use super::Violation;

pub(super) const NAME: &str = "P8 a page leads on";

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let mut found = Vec::new();
    let saved = evidence.saved();
    for event in &evidence.events {
        let What::GaveUp { markers, address, state } = &event.what else { continue };
        let left: Vec<_> = markers.iter().filter(|marker| !saved.contains(marker)).collect();
        if !left.is_empty() {
            let state = state.lines().next().unwrap_or_default();
            let what = format!("{} could not save {left:?}, and was left on {address}, {state}", event.person);
            found.push(Violation { check: NAME, what });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    #[test]
    fn text_that_cannot_be_saved_is_found() {
        let own = message("park", 1);
        let story = || Story::default().typed(&own, 1).gave_up(&own);
        assert_eq!(check(&story().evidence()).len(), 1);
        assert_eq!(check(&story().saves("park", &[&own]).evidence()), []);
    }
}
