//! P1: what a person was told is saved is in the order's history.

use super::super::evidence::Evidence;
use super::super::history::{Answer, What};
use super::Violation;

pub(super) const NAME: &str = "P1 told is saved";

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let mut found = Vec::new();
    for event in &evidence.events {
        let What::Told { answer: answer @ (Answer::Saved | Answer::AlreadySaved), markers, order } = &event.what else {
            continue;
        };
        let saved = evidence.saved_in(order);
        for marker in markers.iter().filter(|marker| !saved.contains(marker)) {
            let what = format!(
                "{} was told {answer:?} at {:.1} s, and {marker} is in no version of {order}",
                event.person,
                event.at.as_secs_f64()
            );
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
    fn acknowledged_text_in_the_history_passes() {
        let own = message("park", 1);
        let story = Story::default().typed(&own, 1).saves("seed", &[]).saves("park", &[&own]);
        assert_eq!(check(&story.sent("park", &[&own], 1).told("park", Answer::Saved, &[&own]).evidence()), []);
    }

    #[test]
    fn acknowledged_text_that_is_not_there_is_found() {
        let own = message("park", 1);
        for answer in [Answer::Saved, Answer::AlreadySaved] {
            let story = Story::default().typed(&own, 1).saves("seed", &[]).sent("park", &[&own], 1);
            assert_eq!(check(&story.told("park", answer, &[&own]).evidence()).len(), 1);
        }
    }

    #[test]
    fn text_whose_save_was_not_acknowledged_may_be_missing() {
        let own = message("park", 1);
        let story = Story::default().typed(&own, 1).saves("seed", &[]).sent("park", &[&own], 1);
        assert_eq!(check(&story.told("park", Answer::None, &[&own]).evidence()), []);
    }
}
