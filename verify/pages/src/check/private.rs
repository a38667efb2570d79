//! P4: nobody sees a text of another person that was not sent, or never saved.

use std::collections::BTreeMap;

use super::super::evidence::Evidence;
use super::super::history::What;
use super::super::marker::Marker;
use super::Violation;

pub(super) const NAME: &str = "P4 unsaved is private";

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let saved = evidence.saved();
    let mut sent: BTreeMap<&Marker, ()> = BTreeMap::new();
    let mut found = Vec::new();
    for event in &evidence.events {
        match &event.what {
            What::Sent { markers, .. } => sent.extend(markers.iter().map(|marker| (marker, ()))),
            What::Shown { markers, address, .. } => {
                let others = markers.iter().filter(|marker| marker.author != event.person);
                for marker in others.filter(|marker| !saved.contains(marker) || !sent.contains_key(marker)) {
                    let (who, at) = (&event.person, event.at.as_secs_f64());
                    let what = format!("{who} saw {marker}, which was not saved, on {address} at {at:.1} s");
                    found.push(Violation { check: NAME, what });
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    #[test]
    fn own_unsaved_text_and_saved_text_of_others_pass() {
        let own = message("park", 1);
        let story = Story::default().typed(&own, 1).shown("park", &[&own], None).sent("park", &[&own], 1);
        let story = story.saves("seed", &[]).saves("park", &[&own]).shown("minji", &[&own], None);
        assert_eq!(check(&story.evidence()), []);
    }

    #[test]
    fn unsaved_text_of_another_person_is_found() {
        let own = message("park", 1);
        let story = Story::default().typed(&own, 1).sent("park", &[&own], 1).shown("minji", &[&own], None);
        assert_eq!(check(&story.evidence()).len(), 1);
    }

    #[test]
    fn text_seen_before_it_was_sent_is_found() {
        let own = message("park", 1);
        let story = Story::default().typed(&own, 1).shown("minji", &[&own], None).sent("park", &[&own], 1);
        assert_eq!(check(&story.saves("park", &[&own]).evidence()).len(), 1);
    }
}
