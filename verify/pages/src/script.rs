//! A person at the forms: chooses one gesture after the other among those that the page allows, and records what happens.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use testkit::Random;
use tokio::time::sleep;

use super::Result;
use super::gesture::Gesture;
use super::history::{Answer, Recorder, What};
use super::marker::{Field, Marker};
use super::page::{Control, Page};
use super::serve::TTL;
use super::visitor::{Visitor, is_gone};

/// How long a person waits for the answer to a save before doing something else.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a page that neither leaves nor says that it is saving is taken for one that is about to.
const PRESSED: Duration = Duration::from_millis(400);
/// How often, in percent, a fault that has not happened yet is chosen where it is possible.
const DUE: u64 = 12;

/// One person.
pub(super) struct Script {
    pub(super) visitor: Visitor,
    pub(super) recorder: Recorder,
    pub(super) random: Random,
    /// The orders that all of them edit.
    pub(super) orders: Vec<String>,
    /// The people who use this browser, one after the other.
    pub(super) people: Vec<&'static str>,
    /// How many texts were typed in this browser.
    pub(super) typed: u32,
    /// What has to happen once in this browser, and has not yet.
    pub(super) due: Vec<Gesture>,
    /// The texts that the person was told are saved.
    pub(super) saved: BTreeSet<Marker>,
    /// What was recorded last as shown, and as stored.
    pub(super) shown: Option<What>,
    pub(super) drafts: Vec<String>,
}

impl Script {
    /// Does one thing after the other until the time is over.
    pub(super) async fn run(&mut self, until: Instant) -> Result<()> {
        while Instant::now() < until {
            sleep(self.random.millis(20, 250)).await;
            let page = match self.looks().await {
                Ok(page) => page,
                Err(_) => {
                    self.recovers().await?;
                    continue;
                }
            };
            let gesture = self.chooses(&page);
            self.records(What::Does(gesture));
            if let Err(error) = self.does(gesture, &page).await
                && is_gone(error.as_ref())
            {
                self.recovers().await?;
            }
        }
        Ok(())
    }

    fn chooses(&mut self, page: &Page) -> Gesture {
        let has_text = page.own(&self.visitor.person).iter().any(|own| !self.saved.contains(own));
        let possible = Gesture::possible(page, has_text, self.visitor.tabs(), self.people.len() > 1);
        let due = self.due.iter().position(|due| possible.iter().any(|(gesture, _)| gesture == due));
        if let Some(at) = due.filter(|_| self.random.chance(DUE)) {
            return self.due.remove(at);
        }
        let mut left = self.random.below(possible.iter().map(|(_, weight)| weight).sum());
        let chosen = possible.iter().find(|(_, weight)| {
            let is_chosen = left < *weight;
            left = left.saturating_sub(*weight);
            is_chosen
        });
        chosen.map_or(Gesture::Reload, |(gesture, _)| *gesture)
    }

    pub(super) async fn does(&mut self, gesture: Gesture, page: &Page) -> Result<()> {
        match gesture {
            Gesture::OpenShipping => self.opens("shipping").await,
            Gesture::OpenEdit => self.opens("edit").await,
            Gesture::Type(field) => self.types(field, page).await,
            Gesture::Look => {
                sleep(Duration::from_secs(1)).await;
                Ok(())
            }
            Gesture::TakeBack(field) => {
                self.types_over(field, page);
                self.visitor.takes_back(field).await
            }
            Gesture::Mistake => self.types(Field::Phone, page).await,
            Gesture::Mend => {
                self.types_over(Field::Phone, page);
                self.visitor.types(Field::Phone, "010-0000-1001").await
            }
            Gesture::Remove | Gesture::KeepAll => self.visitor.removes(gesture == Gesture::Remove).await,
            Gesture::Choose(side) => self.visitor.chooses(side).await,
            Gesture::SaveUnheard => {
                self.visitor.loses_the_next_answer().await?;
                self.sends(page);
                self.visitor.presses(Control::Save).await?;
                self.waits_for_the_answer(page).await
            }
            Gesture::Save => {
                self.sends(page);
                self.visitor.presses(Control::Save).await?;
                self.waits_for_the_answer(page).await
            }
            Gesture::SaveTwice => {
                self.sends(page);
                self.visitor.presses_twice(Control::Save).await?;
                self.waits_for_the_answer(page).await
            }
            Gesture::SaveOffline => {
                self.visitor.is_online(false).await?;
                self.sends(page);
                let pressed = self.visitor.presses(Control::Save).await;
                sleep(self.random.millis(300, 2_000)).await;
                self.visitor.is_online(true).await?;
                pressed?;
                self.waits_for_the_answer(page).await
            }
            Gesture::SaveAndReload => {
                self.sends(page);
                self.visitor.presses(Control::Save).await?;
                sleep(self.random.millis(0, 200)).await;
                self.visitor.reloads().await
            }
            Gesture::SaveAndClose => {
                self.sends(page);
                self.visitor.presses(Control::Save).await?;
                sleep(self.random.millis(0, 100)).await;
                self.visitor.closes_this_tab().await?;
                self.opens("shipping").await
            }
            Gesture::SaveAndDie => {
                self.sends(page);
                self.visitor.presses(Control::Save).await?;
                sleep(self.random.millis(0, 60)).await;
                self.dies().await
            }
            Gesture::Press(control) => self.presses(control, page).await,
            Gesture::Reload => self.visitor.reloads().await,
            Gesture::Language => self.visitor.switches_the_language().await,
            Gesture::Back => self.visitor.goes_back().await,
            Gesture::Forward => self.visitor.goes_forward().await,
            Gesture::ComeAgain => {
                self.visitor.closes_this_tab().await?;
                self.opens("shipping").await
            }
            Gesture::SecondTab => {
                self.visitor.opens_a_tab().await?;
                self.opens("shipping").await
            }
            Gesture::OtherTab => self.visitor.goes_to_the_other_tab().await,
            Gesture::Sleep => self.visitor.sleeps(TTL + self.random.millis(300, 1_500)).await,
            Gesture::Crash => {
                self.records(What::Crashed);
                self.visitor.crashes().await?;
                self.opens("shipping").await
            }
            Gesture::Die => self.dies().await,
            Gesture::SignOut => {
                // Signing out deletes all drafts of this browser, also those of other people.
                let markers = self.recorder.typed_in(self.visitor.browser);
                self.records(What::Withdrawn { markers });
                self.visitor.signs_out().await?;
                let person = self.visitor.person.clone();
                self.signs_in(&person).await
            }
            Gesture::OtherPerson => {
                self.gives_way().await?;
                self.opens_form_of(page.order(), &page.form).await
            }
        }
    }

    /// Opens one of the orders in one of the forms.
    async fn opens(&mut self, form: &str) -> Result<()> {
        let order = self.random.one_of(&self.orders).clone();
        self.opens_form_of(&order, form).await
    }

    pub(super) async fn opens_form_of(&self, order: &str, form: &str) -> Result<()> {
        if form == "shipping" {
            return self.visitor.goes_to(&format!("/orders/{order}/shipping")).await;
        }
        self.visitor.goes_to(&format!("/orders/{order}")).await?;
        self.visitor.presses(if form == "note" { Control::Note } else { Control::Edit }).await
    }

    async fn types(&mut self, field: Field, page: &Page) -> Result<()> {
        self.types_over(field, page);
        self.typed += 1;
        let number = 1_000 * self.visitor.browser as u32 + self.typed;
        let marker = Marker { field, author: self.visitor.person.clone(), number };
        self.visitor.types(field, &marker.to_string()).await?;
        let page = self.looks_once_the_script_ran().await?;
        // The page may have been left meanwhile, by a save that is answered.
        if let Some(version) = page.version.filter(|_| page.fields.contains(&marker.to_string())) {
            let (order, form, has_script) = (page.order().to_owned(), page.form.clone(), !page.mode.is_empty());
            self.records(What::Typed { marker, order, form, version, has_script });
        }
        self.notes(&page);
        Ok(())
    }

    fn types_over(&self, field: Field, page: &Page) {
        let markers: BTreeSet<Marker> =
            page.own(&self.visitor.person).into_iter().filter(|own| own.field == field).collect();
        if !markers.is_empty() {
            let changed = Marker::all_in(&page.changed.join("\n"));
            self.records(What::TakenBack { markers: markers.intersection(&changed).cloned().collect() });
            self.records(What::Withdrawn { markers });
        }
    }

    /// The page once its script has run, or could not be loaded; or as it is when the person loses patience.
    async fn looks_once_the_script_ran(&mut self) -> Result<Page> {
        let began = Instant::now();
        loop {
            let page = self.visitor.looks().await?;
            if page.is_complete || !page.mode.is_empty() || began.elapsed() > PATIENCE {
                return Ok(page);
            }
            sleep(Duration::from_millis(60)).await;
        }
    }

    async fn presses(&mut self, control: Control, page: &Page) -> Result<()> {
        // On a page about a kept form, this sends it again.
        let sends = control == Control::Retry && page.form.is_empty();
        match control {
            Control::Leave => {
                self.records(What::Withdrawn { markers: page.own(&self.visitor.person) });
            }
            // The text that is in the form now stays; the restored one is given up.
            Control::Discard => {
                let markers = self.recorder.typed_in(self.visitor.browser);
                self.records(What::Withdrawn { markers });
            }
            // It may have been typed in another browser.
            Control::DropSent => {
                let markers = self.recorder.typed_by(&self.visitor.person);
                self.records(What::Withdrawn { markers });
            }
            _ if sends => self.sends(page),
            _ => {}
        }
        self.visitor.presses(control).await?;
        if sends || matches!(control, Control::Check | Control::Stop) {
            return self.waits_for_the_answer(page).await;
        }
        Ok(())
    }

    fn sends(&mut self, page: &Page) {
        // What is typed while a save has no answer is sent with the next one.
        if page.mode == "saving" {
            return;
        }
        let markers = page.own(&self.visitor.person);
        // On a comparison, the others are those for which the other side is chosen.
        let given_up: BTreeSet<Marker> =
            page.shown().difference(&markers).filter(|own| own.author == self.visitor.person).cloned().collect();
        if page.form == "conflict" && !given_up.is_empty() {
            self.records(What::Withdrawn { markers: given_up });
        }
        let version = page.version.filter(|_| !page.form.is_empty());
        self.records(What::Sent { markers, order: page.about(), version });
    }

    /// Until the page is left, says something, or the person loses patience.
    async fn waits_for_the_answer(&mut self, before: &Page) -> Result<()> {
        let began = Instant::now();
        let answer = loop {
            sleep(Duration::from_millis(60)).await;
            let page = self.looks().await.unwrap_or_default();
            let is_here = page.loaded == before.loaded;
            match () {
                () if began.elapsed() > PATIENCE => break Answer::None,
                () if page.is_error() => {}
                () if !is_here => break answer_of(&page),
                () if page.controls.contains(&Control::Check) => break Answer::None,
                () if page.mode != "saving" && page.mode != "leaving" && began.elapsed() > PRESSED => {
                    break Answer::Refused;
                }
                () => {}
            }
        };
        // What was typed since it was sent is not what the answer is about.
        let sent = self.recorder.sent_last(self.visitor.browser);
        let markers: BTreeSet<Marker> = before.own(&self.visitor.person).intersection(&sent).cloned().collect();
        let order = before.about();
        if answer == Answer::Saved {
            self.saved.extend(markers.iter().cloned());
        }
        self.records(What::Told { answer, markers, order });
        Ok(())
    }

    async fn dies(&mut self) -> Result<()> {
        self.records(What::Killed);
        self.visitor.dies()?;
        self.comes_back_to_life().await
    }

    async fn comes_back_to_life(&mut self) -> Result<()> {
        self.visitor.comes_back_to_life().await?;
        let person = self.visitor.person.clone();
        self.signs_in(&person).await?;
        self.opens("shipping").await
    }

    /// Another person uses the browser.
    async fn gives_way(&mut self) -> Result<()> {
        self.visitor.closes_other_tabs().await?;
        let others: Vec<_> = self.people.iter().filter(|person| **person != self.visitor.person).copied().collect();
        let next = *self.random.one_of(&others);
        self.signs_in(next).await
    }

    /// Signs in, also if the server has to start first.
    pub(super) async fn signs_in(&mut self, person: &str) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            match self.visitor.signs_in(person).await {
                Err(error) if is_gone(error.as_ref()) || Instant::now() > end => return Err(error),
                Err(_) => sleep(Duration::from_millis(200)).await,
                Ok(()) => return Ok(()),
            }
        }
    }

    /// A browser that does not answer: another tab goes on, or it is killed and started again.
    pub(super) async fn recovers(&mut self) -> Result<()> {
        for tab in 0..self.visitor.tabs() {
            if self.visitor.goes_to_tab(tab).await.is_ok() && self.visitor.looks().await.is_ok() {
                return Ok(());
            }
        }
        self.records(What::Killed);
        // It may have ended by itself.
        let _ = self.visitor.dies();
        self.comes_back_to_life().await
    }

    /// Looks at the page, and records which texts it shows.
    pub(super) async fn looks(&mut self) -> Result<Page> {
        let page = self.visitor.looks().await?;
        self.notes(&page);
        Ok(page)
    }

    fn notes(&mut self, page: &Page) {
        let (markers, address) = (page.shown(), page.address.clone());
        let conflict_at = page.version.filter(|_| page.state.starts_with("CP"));
        let shown = What::Shown { markers, conflict_at, address };
        let is_new = self.shown.as_ref() != Some(&shown);
        if is_new && !page.shown().is_empty() {
            self.records(shown.clone());
        }
        self.shown = Some(shown);
        if !page.is_error() && self.drafts != page.drafts {
            self.drafts.clone_from(&page.drafts);
            self.records(What::Drafts(page.drafts.clone()));
        }
    }

    pub(super) fn records(&self, what: What) {
        self.recorder.add(&self.visitor.person, self.visitor.browser, what);
    }
}

/// What the page after a save says of it.
fn answer_of(page: &Page) -> Answer {
    let is_order = page.path == format!("/orders/{}", page.order());
    match page.state.as_str() {
        _ if is_order && ["Saved", "저장했습니다"].iter().any(|said| page.flash.contains(said)) => Answer::Saved,
        _ if is_order && ["Nothing was different", "바뀐 내용이 없어"].iter().any(|said| page.flash.contains(said)) => {
            Answer::Unchanged
        }
        _ if is_order => Answer::None,
        // The page of a kept form compares the text; the page of a form does not.
        "OE-20" if page.path.contains("/kept/") => Answer::AlreadySaved,
        "LP-6" => Answer::Kept,
        state if state.starts_with("CP") => Answer::Conflict,
        state if state.starts_with("LP") => Answer::Locked,
        "OE-7" | "OE-8" | "OE-9" | "OE-11" | "OE-12" | "OE-14" | "OE-29" => Answer::LeaseLost,
        _ => Answer::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, state: &str, flash: &str) -> Page {
        Page { path: path.into(), state: state.into(), flash: flash.into(), ..Page::default() }
    }

    #[test]
    fn page_after_a_save_says_what_became_of_it() {
        for (path, state, flash, expected) in [
            ("/orders/17", "OV-1", "Saved.", Answer::Saved),
            ("/orders/17", "OV-1", "Saved, with your changes and those of Kim.", Answer::Saved),
            ("/orders/17", "OV-1", "Nothing was different, so nothing was saved.", Answer::Unchanged),
            ("/orders/17", "OV-1", "", Answer::None),
            ("/orders/17/kept/9", "OE-20", "", Answer::AlreadySaved),
            ("/orders/17/edit/9", "OE-20", "", Answer::Refused),
            ("/orders/17/kept/9", "CP-2", "", Answer::Conflict),
            ("/orders/17/kept/9", "LP-1", "", Answer::Locked),
            ("/orders/17/kept/9", "OE-8", "", Answer::LeaseLost),
            ("/orders/17/kept/9", "OE-29", "", Answer::LeaseLost),
            ("/orders/17/kept/9", "LP-6", "", Answer::Kept),
        ] {
            assert_eq!(answer_of(&page(path, state, flash)), expected, "{path} {state} {flash}");
        }
    }
}
