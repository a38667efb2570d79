//! After a round, when everything is whole again: where each text that is not saved is offered to its author.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::Result;
use super::check::{Fate, fates};
use super::evidence::Evidence;
use super::gesture::Gesture;
use super::history::{Place, What};
use super::marker::{Field, Marker};
use super::page::{Control, Page};
use super::script::Script;

/// The most drafts that are restored into one form, one after the other.
const DRAFTS: usize = 12;
/// How long the form of an order may be held by another person whose page was left.
const HELD: Duration = Duration::from_secs(20);
/// How long somebody tries to save what is on the page.
const FINISHED: Duration = Duration::from_secs(20);
/// How long a page may call text unsaved that was sent while its page was left.
const SETTLED: Duration = Duration::from_secs(20);

/// A form in which texts were typed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Form {
    author: String,
    order: String,
    form: String,
}

impl Script {
    /// Looks into all open tabs, and leaves them, so that nothing more is sent.
    pub(super) async fn leaves_all_tabs(&mut self) -> Result<()> {
        for tab in 0..self.visitor.tabs() {
            // A tab that does not answer offers nothing.
            if self.visitor.goes_to_tab(tab).await.is_err() {
                continue;
            }
            if let Ok(page) = self.looks().await {
                self.is_offered(&page, Place::Tab);
            }
            self.visitor.goes_away().await?;
        }
        Ok(())
    }

    /// Saves the text of the page that is open, by what that offers, and leaves a form without any; `is_last`: nobody else has a form open any
    /// more.
    pub(super) async fn finishes(&mut self, is_last: bool) -> Result<()> {
        let Ok(mut page) = self.looks().await else { return Ok(()) };
        let text = if page.form == "conflict" { page.mine.clone() } else { page.changed.join("\n") };
        // A mistake is mended.
        let is_own = |own: &Marker| own.author == self.visitor.person && own.field != Field::Phone;
        let mut left: BTreeSet<Marker> = Marker::all_in(&text).into_iter().filter(is_own).collect();
        let end = Instant::now() + FINISHED;
        while !left.is_empty() && Instant::now() < end {
            let gesture = Gesture::to_save(&page);
            self.records(What::Does(gesture));
            // What cannot be pressed any more is looked at again.
            let _ = self.does(gesture, &page).await;
            sleep(Duration::from_millis(300)).await;
            page = self.looks().await.unwrap_or_default();
            left.retain(|own| !self.saved.contains(own));
        }
        if is_last && !left.is_empty() {
            let (address, state) = (page.address.clone(), format!("{} {}: {}", page.state, page.mode, page.text));
            self.records(What::GaveUp { markers: left, address, state });
        } else if left.is_empty() && page.is_open() {
            self.is_offered(&page, Place::Tab);
            self.visitor.goes_away().await?;
        }
        Ok(())
    }

    /// Opens the forms in which texts of unknown fate were typed in this browser, as their authors, and then the pages of kept forms.
    pub(super) async fn looks_for(&mut self, evidence: &Evidence) -> Result<()> {
        let mut wanted = self.unknown(evidence);
        let mut forms: BTreeMap<Form, BTreeSet<Marker>> = BTreeMap::new();
        for event in evidence.events.iter().filter(|event| event.browser == self.visitor.browser) {
            let What::Typed { marker, order, form, .. } = &event.what else { continue };
            if wanted.contains(marker) {
                let form = Form { author: event.person.clone(), order: order.clone(), form: form.clone() };
                forms.entry(form).or_default().insert(marker.clone());
            }
        }
        for (form, markers) in &forms {
            self.becomes(&form.author).await?;
            self.restores_drafts(form, markers).await?;
        }
        for marker in self.offered() {
            wanted.remove(&marker);
        }
        self.opens_kept_pages(evidence, &wanted).await?;
        for person in self.people.clone() {
            self.becomes(person).await?;
            for order in self.orders.clone() {
                self.reads_what_is_called_unsaved(&order, evidence).await?;
            }
        }
        Ok(())
    }

    /// What the page of an order calls unsaved, once it has had the time to ask what became of what was sent.
    async fn reads_what_is_called_unsaved(&mut self, order: &str, evidence: &Evidence) -> Result<()> {
        let saved = evidence.saved_in_all_of(order);
        self.visitor.goes_to(&format!("/orders/{order}")).await?;
        let is_settled = |page: &Page| Marker::all_in(&page.unsaved).iter().all(|marker| !saved.contains(marker));
        let page = self.looks_until_in(SETTLED, is_settled).await;
        let called = |markers, is_refused| What::CalledUnsaved { markers, order: order.to_owned(), is_refused };
        self.records(called(Marker::all_in(&page.unsaved), false));
        if !page.refused.is_empty() {
            self.visitor.goes_to(&page.refused).await?;
            let page = self.looks().await?;
            // What is not the order's.
            let own =
                if page.is_open() { Marker::all_in(&page.changed.join("\n")) } else { page.own(&self.visitor.person) };
            self.records(called(own, true));
        }
        Ok(())
    }

    /// The texts of this browser that are not known to be saved, offered or given up.
    fn unknown(&self, evidence: &Evidence) -> BTreeSet<Marker> {
        let fates = fates(evidence);
        let is_unknown = |fate: &Fate| !matches!(fate, Fate::Saved | Fate::Offered | Fate::Withdrawn);
        let own = self.recorder.typed_in(self.visitor.browser);
        own.into_iter().filter(|marker| fates.get(marker).is_some_and(is_unknown)).collect()
    }

    fn offered(&self) -> BTreeSet<Marker> {
        let offered = self.recorder.events().into_iter().filter_map(|event| match event.what {
            What::Offered { markers, .. } => Some(markers),
            _ => None,
        });
        offered.flatten().collect()
    }

    async fn becomes(&mut self, person: &str) -> Result<()> {
        if self.visitor.person != person {
            self.signs_in(person).await?;
        }
        Ok(())
    }

    /// Puts one draft after the other into the form, and then one refused text after the other, until all of these texts were there, or none is
    /// offered any more.
    async fn restores_drafts(&mut self, form: &Form, markers: &BTreeSet<Marker>) -> Result<()> {
        for _ in 0..DRAFTS {
            let Some(mut page) = self.opens_form(form).await? else { return Ok(()) };
            self.is_offered(&page, Place::Draft);
            let is_last = !page.controls.contains(&Control::Restore);
            if !is_last {
                self.visitor.presses(Control::Restore).await?;
                page = self.sees_more_than(&page).await;
                self.is_offered(&page, Place::Draft);
            }
            // So that the next one is offered.
            self.visitor.forgets_the_draft().await?;
            self.visitor.goes_away().await?;
            if markers.is_subset(&self.offered()) || (is_last && !self.puts_back(form).await?) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Puts the refused text into the form that is offered, and drops it, so that the next one is offered. Returns whether there was any.
    async fn puts_back(&mut self, form: &Form) -> Result<bool> {
        for control in [Control::PutBack, Control::DropSent] {
            let Some(page) = self.opens_form(form).await? else { return Ok(false) };
            if !page.controls.contains(&control) {
                return Ok(false);
            }
            self.visitor.presses(control).await?;
            let page = self.sees_more_than(&page).await;
            self.is_offered(&page, Place::KeptPage);
            self.visitor.goes_away().await?;
        }
        Ok(true)
    }

    /// The form, with the offer of a draft if there is one; none if it cannot be opened.
    async fn opens_form(&mut self, form: &Form) -> Result<Option<Page>> {
        let end = Instant::now() + HELD;
        loop {
            self.opens_form_of(&form.order, &form.form).await?;
            let page = self.looks().await?;
            if page.is_open() {
                // The script has run when it says how the form stands.
                return Ok(Some(self.looks_until(|page| !page.mode.is_empty()).await));
            }
            if Instant::now() > end {
                return Ok(None);
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    /// The page once it shows other texts than before.
    async fn sees_more_than(&mut self, before: &Page) -> Page {
        let texts = before.shown();
        self.looks_until(|page| !page.is_error() && page.shown() != texts).await
    }

    /// The page as soon as it is as expected, or after three seconds.
    async fn looks_until(&mut self, is_expected: impl Fn(&Page) -> bool) -> Page {
        self.looks_until_in(Duration::from_secs(3), is_expected).await
    }

    async fn looks_until_in(&mut self, time: Duration, is_expected: impl Fn(&Page) -> bool) -> Page {
        let end = Instant::now() + time;
        loop {
            let page = self.looks().await.unwrap_or_default();
            if is_expected(&page) || Instant::now() > end {
                return page;
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Opens the pages of refused forms on which these texts were shown, as in the browser's history.
    async fn opens_kept_pages(&mut self, evidence: &Evidence, wanted: &BTreeSet<Marker>) -> Result<()> {
        let mut left = wanted.clone();
        for event in evidence.events.iter().rev() {
            let What::Shown { markers, address, .. } = &event.what else { continue };
            let is_kept = address.contains("kept");
            let own = markers.iter().filter(|marker| marker.author == event.person).any(|marker| left.contains(marker));
            if !is_kept || !own {
                continue;
            }
            self.becomes(&event.person).await?;
            self.visitor.goes_to(address).await?;
            let page = self.looks().await?;
            self.is_offered(&page, Place::KeptPage);
            for marker in page.shown() {
                left.remove(&marker);
            }
        }
        Ok(())
    }

    fn is_offered(&self, page: &Page, place: Place) {
        let (address, state) = (page.address.clone(), format!("{} {}", page.state, page.mode));
        self.records(What::Looked { address, state, has_draft: page.controls.contains(&Control::Restore) });
        let own = page.shown().into_iter().filter(|marker| marker.author == self.visitor.person);
        let markers: BTreeSet<Marker> = own.collect();
        if !markers.is_empty() {
            self.records(What::Offered { markers, place });
        }
    }
}
