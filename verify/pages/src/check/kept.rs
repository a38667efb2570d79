//! P2: what a person typed is saved, on the page of a kept form, or offered back, unless they gave it up.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::evidence::Evidence;
use super::super::history::{Event, What};
use super::super::marker::Marker;
use super::Violation;

pub(super) const NAME: &str = "P2 typed is kept";

/// A draft is stored with each key. Whether the browser has it when the tab crashes in the same moment is not promised.
const STORED: Duration = Duration::from_millis(1_000);

/// What became of a typed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Fate {
    Saved,
    /// Still in a tab, offered by a form, or on the page of a kept form.
    Offered,
    /// The person gave it up.
    Withdrawn,
    /// It is gone with its browser, whose processes were killed: browsers write drafts to the disk with a delay.
    GoneWithBrowser,
    /// It is gone with its tab, which crashed in the moment in which it was typed.
    GoneWithTab,
    /// The script of its page could not be loaded, so the form was a plain one, without drafts.
    GoneWithoutScript,
    Lost,
}

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let sent = |marker: &Marker| {
        let mut events = evidence.events.iter();
        events.any(|event| matches!(&event.what, What::Sent { markers, .. } if markers.contains(marker)))
    };
    let lost = fates(evidence).into_iter().filter(|(_, fate)| *fate == Fate::Lost);
    let violation = |(marker, _): (&Marker, Fate)| {
        let how = if sent(marker) { "typed and sent" } else { "typed" };
        Violation { check: NAME, what: format!("{marker} was {how}, and is neither saved nor offered") }
    };
    lost.map(violation).collect()
}

/// What became of each typed text.
pub(in super::super) fn fates(evidence: &Evidence) -> BTreeMap<&Marker, Fate> {
    let saved = evidence.saved();
    let mut fates = BTreeMap::new();
    for (at, event) in evidence.events.iter().enumerate() {
        let What::Typed { marker, .. } = &event.what else { continue };
        let fate = if saved.contains(marker) { Fate::Saved } else { afterwards(event, marker, &evidence.events[at..]) };
        fates.insert(marker, fate);
    }
    fates
}

/// What became of a text that is not saved, by what happened after it was typed.
fn afterwards(typed: &Event, marker: &Marker, later: &[Event]) -> Fate {
    let has = |is: &dyn Fn(&Event) -> bool| later.iter().any(is);
    let here = |event: &Event| event.browser == typed.browser;
    if has(&|event| matches!(&event.what, What::Offered { markers, .. } if markers.contains(marker))) {
        Fate::Offered
    } else if has(&|event| matches!(&event.what, What::Withdrawn { markers } if markers.contains(marker))) {
        Fate::Withdrawn
    } else if has(&|event| here(event) && event.what == What::Killed) {
        Fate::GoneWithBrowser
    } else if has(&|event| here(event) && event.what == What::Crashed && event.at < typed.at + STORED) {
        Fate::GoneWithTab
    } else if matches!(typed.what, What::Typed { has_script: false, .. }) {
        Fate::GoneWithoutScript
    } else {
        Fate::Lost
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    fn fate(story: Story, marker: &Marker) -> (Fate, usize) {
        let evidence = story.evidence();
        (fates(&evidence)[marker], check(&evidence).len())
    }

    #[test]
    fn saved_offered_and_withdrawn_text_passes() {
        let own = message("park", 1);
        let typed = || Story::default().typed(&own, 1);
        assert_eq!(fate(typed().saves("park", &[&own]), &own), (Fate::Saved, 0));
        assert_eq!(fate(typed().offered(&own), &own), (Fate::Offered, 0));
        assert_eq!(fate(typed().withdrawn(&own), &own), (Fate::Withdrawn, 0));
    }

    #[test]
    fn text_that_is_nowhere_is_found() {
        let own = message("park", 1);
        assert_eq!(fate(Story::default().typed(&own, 1), &own), (Fate::Lost, 1));
        let sent = Story::default().typed(&own, 1).sent("park", &[&own], 1);
        let found = check(&sent.evidence());
        assert!(found[0].what.contains("typed and sent"), "{found:?}");
    }

    #[test]
    fn text_that_was_only_shown_once_is_found() {
        let own = message("park", 1);
        let story = Story::default().typed(&own, 1).shown("park", &[&own], Some(2));
        assert_eq!(fate(story, &own), (Fate::Lost, 1));
    }

    #[test]
    fn form_without_its_script_has_no_draft() {
        let own = message("park", 1);
        let typed = || Story::default().typed_without_script(&own, 1);
        assert_eq!(fate(typed(), &own), (Fate::GoneWithoutScript, 0));
        assert_eq!(fate(typed().saves("park", &[&own]), &own), (Fate::Saved, 0));
    }

    #[test]
    fn killed_browser_excuses_what_was_typed_before() {
        let (before, after) = (message("park", 1), message("park", 2));
        let story = Story::default().typed(&before, 1).ends(What::Killed, 9_000).typed(&after, 1).evidence();
        assert_eq!(fates(&story)[&before], Fate::GoneWithBrowser);
        assert_eq!(fates(&story)[&after], Fate::Lost);
    }

    #[test]
    fn crashed_tab_excuses_only_what_was_just_typed() {
        let own = message("park", 1);
        let typed = || Story::default().typed(&own, 1);
        assert_eq!(fate(typed().ends(What::Crashed, 200), &own), (Fate::GoneWithTab, 0));
        assert_eq!(fate(typed().ends(What::Crashed, 1_500), &own), (Fate::Lost, 1));
    }
}
