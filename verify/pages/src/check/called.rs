//! P7: what the page of an order calls unsaved is unsaved.
//!
//! A browser whose processes are killed may come back with the storage of before it sent a text: Chromium writes to the disk with a delay, and
//! not more often than it likes. It was seen to come back with drafts that were gone for 36 s.

use std::time::Duration;

use super::super::evidence::Evidence;
use super::super::history::{Event, What};
use super::super::marker::Marker;
use super::Violation;

/// The oldest storage with which a killed browser may come back.
const WRITTEN: Duration = Duration::from_secs(60);

pub(super) const NAME: &str = "P7 called unsaved is so";

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let mut found = Vec::new();
    for event in &evidence.events {
        let What::CalledUnsaved { markers, order, is_refused } = &event.what else { continue };
        let saved = evidence.saved_in_all_of(order);
        let is_wrong =
            |marker: &&Marker| saved.contains(*marker) && !is_forgotten(&evidence.events, event.browser, marker);
        let wrong: Vec<_> = markers.iter().filter(is_wrong).collect();
        // What is offered as a whole may have some that is saved already, and other text that is not.
        if wrong.is_empty() || wrong.len() < markers.len() {
            continue;
        }
        let from = if *is_refused { "the page of refused text" } else { "the order's page" };
        found.push(Violation {
            check: NAME,
            what: format!("{}: {from} of {order} calls {wrong:?} unsaved", event.person),
        });
    }
    found
}

/// Whether it was sent by this browser before that was killed, and perhaps not written that it was.
fn is_forgotten(events: &[Event], browser: usize, marker: &Marker) -> bool {
    let here = events.iter().filter(|event| event.browser == browser);
    here.clone().filter(|event| event.what == What::Killed).any(|killed| {
        let sends = |event: &&Event| matches!(&event.what, What::Sent { markers, .. } if markers.contains(marker));
        here.clone().filter(sends).any(|sent| sent.at <= killed.at && killed.at - sent.at < WRITTEN)
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    #[test]
    fn unsaved_text_may_be_called_so() {
        let (own, saved) = (message("park", 1), street("park", 2));
        let story = || Story::default().typed(&own, 1).typed(&saved, 1).saves("park", &[&saved]);
        assert_eq!(check(&story().called_unsaved(&[&own], false).evidence()), []);
        for is_refused in [false, true] {
            assert_eq!(check(&story().called_unsaved(&[&own, &saved], is_refused).evidence()), []);
        }
    }

    #[test]
    fn saved_text_that_is_called_unsaved_is_found() {
        let own = message("park", 1);
        let story = || Story::default().typed(&own, 1).saves("park", &[&own]);
        for is_refused in [false, true] {
            assert_eq!(check(&story().called_unsaved(&[&own], is_refused).evidence()).len(), 1);
        }
    }
}
