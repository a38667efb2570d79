//! P3: nobody's save overwrites a text of another person that its author had not seen.
//!
//! A person has seen a version if they typed their text on it or on a later one, or were shown a conflict with it. What was merged
//! touches other fields, and overwrites nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::super::evidence::{Evidence, Revision};
use super::super::history::{Event, What};
use super::super::marker::{Field, Marker};
use super::Violation;

pub(super) const NAME: &str = "P3 seen before overwritten";

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let mut found = Vec::new();
    for (order, revisions) in &evidence.revisions {
        // When each text came into the order, and by whose save.
        let mut since: BTreeMap<&Marker, (i64, &str)> = BTreeMap::new();
        for (before, after) in revisions.iter().zip(revisions.iter().skip(1)) {
            for new in after.markers.difference(&before.markers) {
                since.insert(new, (after.version, &after.by));
            }
            // A product that is added overwrites nothing.
            for field in [Field::Message, Field::Street, Field::Note] {
                let Some(old) = before.text_of(field).filter(|old| !after.markers.contains(old)) else { continue };
                let Some((version, by)) = since.get(old).copied() else { continue };
                if by != after.by && !has_seen(&evidence.events, order, before, after, version) {
                    let what = format!(
                        "version {} of {order} by {} overwrote {old}, which {by} had saved as version {version}",
                        after.version, after.by
                    );
                    found.push(Violation { check: NAME, what });
                }
            }
        }
    }
    found
}

/// Whether a form of this person can have made the save, on a version that they had seen.
fn has_seen(events: &[Event], order: &str, before: &Revision, after: &Revision, version: i64) -> bool {
    // Text of others that is back was not typed: the author has taken back their own.
    let is_own = |marker: &&Marker| marker.author == after.by;
    let new: BTreeSet<&Marker> = after.markers.difference(&before.markers).filter(is_own).collect();
    let mut own = events.iter().enumerate().filter(|(_, event)| event.person == after.by);
    own.any(|(at, event)| {
        let What::Sent { markers, order: to, version: on } = &event.what else { return false };
        let is_of_this = to == order && new.iter().all(|marker| markers.contains(*marker));
        let is_late_enough = on.is_none_or(|on| on >= version);
        is_of_this && is_late_enough && new.iter().all(|marker| knew(&events[..at], &after.by, marker, version))
    })
}

/// Whether the text was typed on this version, or shown in a conflict with it.
fn knew(before: &[Event], person: &str, marker: &Marker, version: i64) -> bool {
    before.iter().any(|event| match &event.what {
        What::Typed { marker: typed, version: on, .. } => typed == marker && *on >= version,
        What::Shown { markers, conflict_at: Some(with), .. } => {
            event.person == person && markers.contains(marker) && *with >= version
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    /// Park has saved a message as version 2. Minji's form overwrites it.
    fn minji_saves(story: impl FnOnce(Story, &Marker) -> Story) -> usize {
        let (theirs, own) = (message("park", 1), message("minji", 1));
        let story = story(Story::default(), &own).saves("seed", &[]).saves("park", &[&theirs]);
        check(&story.saves("minji", &[&own]).evidence()).len()
    }

    #[test]
    fn text_typed_on_the_overwritten_version_passes() {
        assert_eq!(minji_saves(|story, own| story.typed(own, 2).sent("minji", &[own], 2)), 0);
    }

    #[test]
    fn conflict_that_was_shown_allows_the_overwrite() {
        let shown = |story: Story, own: &Marker| {
            let refused = story.typed(own, 1).sent("minji", &[own], 1).shown("minji", &[own], Some(2));
            refused.sent("minji", &[own], 2)
        };
        assert_eq!(minji_saves(shown), 0);
    }

    #[test]
    fn save_on_an_older_version_is_found() {
        assert_eq!(minji_saves(|story, own| story.typed(own, 1).sent("minji", &[own], 1)), 1);
    }

    #[test]
    fn old_text_in_a_form_of_a_newer_version_is_found() {
        assert_eq!(minji_saves(|story, own| story.typed(own, 1).sent("minji", &[own], 2)), 1);
    }

    #[test]
    fn conflict_with_an_older_version_does_not_count() {
        let shown =
            |story: Story, own: &Marker| story.typed(own, 1).shown("minji", &[own], Some(1)).sent("minji", &[own], 2);
        assert_eq!(minji_saves(shown), 1);
    }

    #[test]
    fn untouched_stale_field_that_undoes_a_save_is_found() {
        let (theirs, own) = (message("park", 1), street("minji", 1));
        let typed = |version| Story::default().typed(&own, version).sent("minji", &[&own], version);
        let saved =
            |story: Story| story.saves("seed", &[]).saves("park", &[&theirs]).saves("minji", &[&own]).evidence();
        assert_eq!(check(&saved(typed(1))).len(), 1);
        let merged = typed(1).saves("seed", &[]).saves("park", &[&theirs]).saves("minji", &[&theirs, &own]);
        assert_eq!(check(&merged.evidence()), []);
    }

    #[test]
    fn text_of_others_that_is_back_was_not_typed() {
        let (theirs, of_a_third) = (message("park", 1), street("olivia", 1));
        let (first, second) = (message("minji", 1), street("minji", 2));
        let story = Story::default().typed(&first, 3).sent("minji", &[&first], 3).taken_back(&first);
        let story = story.typed(&second, 3).sent("minji", &[&second], 3).saves("seed", &[]).saves("park", &[&theirs]);
        let story = story.saves("olivia", &[&theirs, &of_a_third]).saves("minji", &[&first, &of_a_third]);
        assert_eq!(check(&story.saves("minji", &[&theirs, &second]).evidence()), []);
    }

    #[test]
    fn own_text_may_be_overwritten() {
        let (first, second) = (message("park", 1), message("park", 2));
        let story = Story::default().typed(&first, 1).sent("park", &[&first], 1).typed(&second, 1);
        let story = story.sent("park", &[&second], 1).saves("seed", &[]).saves("park", &[&first]);
        assert_eq!(check(&story.saves("park", &[&second]).evidence()), []);
    }
}
