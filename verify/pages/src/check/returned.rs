//! P6: a text that its person typed over is not sent from the same form again, unless the person put it back, or it was saved meanwhile.

use super::super::evidence::Evidence;
use super::super::gesture::Gesture;
use super::super::history::{Event, What};
use super::super::marker::Marker;
use super::super::page::Control;
use super::Violation;

pub(super) const NAME: &str = "P6 typed over stays so";

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let mut found = Vec::new();
    for (at, event) in evidence.events.iter().enumerate() {
        let What::TakenBack { markers } = &event.what else { continue };
        let later = evidence.events[at + 1..].iter().filter(|later| later.browser == event.browser);
        let later: Vec<_> = later.take_while(|later| !is_other_text(later)).collect();
        for marker in markers {
            // Typed over once more, it is judged from there on.
            let until = later
                .iter()
                .position(|later| matches!(&later.what, What::TakenBack { markers } if markers.contains(marker)));
            let mut later = later[..until.unwrap_or(later.len())].iter();
            if later.any(|later| sends(evidence, later, marker)) {
                let (who, at) = (&event.person, event.at.as_secs_f64());
                found.push(Violation {
                    check: NAME,
                    what: format!("{who} typed over {marker} at {at:.1} s, and it was sent afterwards"),
                });
            }
        }
    }
    found
}

/// Whether it is sent as text of the person. A form on a version that has it sends it as the order's.
fn sends(evidence: &Evidence, event: &Event, marker: &Marker) -> bool {
    let What::Sent { markers, order, version } = &event.what else { return false };
    let mut revisions = evidence.revisions.get(order).into_iter().flatten();
    let since = revisions.find(|revision| revision.markers.contains(marker)).map(|revision| revision.version);
    markers.contains(marker) && since.is_none_or(|since| version.is_none_or(|version| version < since))
}

/// From here on another page may have the text: one of before, another tab, or a draft that the person puts back.
fn is_other_text(event: &Event) -> bool {
    let What::Does(gesture) = &event.what else { return matches!(event.what, What::Killed) };
    matches!(
        gesture,
        Gesture::Back
            | Gesture::Forward
            | Gesture::OtherTab
            | Gesture::OtherPerson
            | Gesture::Crash
            | Gesture::Press(
                Control::Restore
                    | Control::PutBack
                    | Control::Again
                    | Control::EditFirst
                    | Control::Retry
                    | Control::Move
                    | Control::See
            )
    )
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    #[test]
    fn text_that_returns_by_itself_is_found() {
        let own = message("park", 1);
        let story = || Story::default().typed(&own, 1).taken_back(&own);
        assert_eq!(check(&story().does("park", Gesture::Reload).sent("park", &[], 1).evidence()), []);
        assert_eq!(check(&story().does("park", Gesture::Reload).sent("park", &[&own], 1).evidence()).len(), 1);
    }

    #[test]
    fn text_that_was_saved_meanwhile_is_the_orders() {
        let own = message("park", 1);
        let story = Story::default().typed(&own, 1).sent("park", &[&own], 1).taken_back(&own);
        let story = story.saves("seed", &[]).saves("park", &[&own]).does("park", Gesture::Reload);
        assert_eq!(check(&story.sent("park", &[&own], 2).evidence()), []);
    }

    #[test]
    fn text_that_its_person_put_back_passes() {
        let own = message("park", 1);
        let story = Story::default().typed(&own, 1).taken_back(&own).does("park", Gesture::Press(Control::Restore));
        assert_eq!(check(&story.sent("park", &[&own], 1).evidence()), []);
    }
}
