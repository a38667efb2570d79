//! What a person sees: the state of a page, its texts, and what can be pressed.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use super::evidence::note_of;
use super::marker::{Field, Marker};

/// What can be pressed on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Control {
    Save,
    /// Changes the typed text first, on the version that the conflict page shows.
    EditFirst,
    /// Opens the form again, with the text of a lost one.
    Again,
    /// Takes the form over from one's own other tab.
    Move,
    /// Requests the lock again, or sends the kept form again.
    Retry,
    /// Puts a draft into the form.
    Restore,
    Discard,
    /// Puts text into the form that the shop keeps, or drops it.
    PutBack,
    DropSent,
    /// Asks now what became of a save without an answer; gives it up.
    Check,
    Stop,
    /// Leaves without saving.
    Leave,
    /// Opens the whole order for editing.
    Edit,
    /// Opens the note.
    Note,
    See,
}

impl Control {
    const ALL: [(Control, &'static str); 15] = [
        (Control::Save, "[data-tenure-action=save]"),
        (Control::EditFirst, "#conflict button[name=edit-first]"),
        (Control::Again, "[data-tenure-action=again], #again button.main:not([formaction])"),
        (
            Control::Move,
            "[data-tenure-action=move], form[action$='/edit/move-here'] button, button[formaction$='/edit/move-here']",
        ),
        (Control::Retry, "[data-tenure-action=retry], main .buttons > form:not([action$='/edit/move-here']) button"),
        (Control::Restore, "[data-tenure-draft-restore]"),
        (Control::Discard, "[data-tenure-draft-discard]"),
        (Control::PutBack, "[data-tenure-sent] .buttons button:first-child"),
        (Control::DropSent, "[data-tenure-sent-discard]"),
        (Control::Check, "[data-tenure-check]"),
        (Control::Stop, "[data-tenure-stop]"),
        (Control::Leave, "button[form=leave]"),
        (Control::Edit, "form[action$='/edit'] button.wide"),
        (Control::Note, "form[action$='/note/edit']:not([data-tenure-sent]) button"),
        (Control::See, "[data-tenure-action=see]"),
    ];

    pub(super) fn css(self) -> &'static str {
        Self::ALL.iter().find(|(control, _)| *control == self).map_or("", |(_, css)| css)
    }
}

/// A page, as far as its person sees it.
#[derive(Debug, Clone, Default)]
pub(super) struct Page {
    /// Another number for each loaded page.
    pub(super) loaded: f64,
    pub(super) path: String,
    pub(super) address: String,
    /// The state of the page: `OE-1`. Empty on an error page of the browser.
    pub(super) state: String,
    /// `shipping`, `edit`, `conflict`, or empty.
    pub(super) form: String,
    /// The state of the form's lease: `held`, `saving`.
    pub(super) mode: String,
    /// Whether everything has arrived, or failed to: then its script has run, or never will.
    pub(super) is_complete: bool,
    pub(super) version: Option<i64>,
    pub(super) is_writable: bool,
    /// The fields that it has.
    pub(super) present: Vec<Field>,
    /// Whether it is about the note of the order.
    pub(super) is_note: bool,
    /// The lines of the order in the form, and how many of them are to be removed.
    pub(super) lines: usize,
    pub(super) removed: usize,
    /// How many choices of a comparison are open.
    pub(super) choices: usize,
    /// What a comparison would send of the person's own text.
    pub(super) mine: String,
    /// What the page calls unsaved, and the address of refused text that it names.
    pub(super) unsaved: String,
    pub(super) refused: String,
    /// The message after a redirect.
    pub(super) flash: String,
    /// The texts of the fields, those that are not the order's, and all that is visible.
    pub(super) fields: Vec<String>,
    pub(super) changed: Vec<String>,
    pub(super) text: String,
    /// The drafts in this browser, in short.
    pub(super) drafts: Vec<String>,
    pub(super) controls: BTreeSet<Control>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    loaded: f64,
    path: String,
    address: String,
    state: String,
    form: String,
    mode: String,
    complete: bool,
    version: String,
    present: Vec<usize>,
    writable: bool,
    is_note: bool,
    lines: usize,
    removed: usize,
    choices: f64,
    mine: String,
    unsaved: String,
    refused: String,
    flash: String,
    fields: Vec<String>,
    changed: Vec<String>,
    text: String,
    drafts: Vec<String>,
    controls: Vec<usize>,
}

impl Page {
    /// The script that looks at a page, and its arguments.
    pub(super) fn script() -> (&'static str, Vec<Value>) {
        let selectors = Control::ALL.map(|(_, css)| css);
        let fields = Field::ALL.map(Field::css);
        (include_str!("page.js"), vec![json!(selectors), json!(fields)])
    }

    /// What the script found.
    pub(super) fn read(found: Value) -> serde_json::Result<Page> {
        let found: Found = serde_json::from_value(found)?;
        // `v7.5f2b…`
        let version = found.version.strip_prefix('v').and_then(|rest| rest.split('.').next()?.parse().ok());
        // A note that does not exist yet.
        let version = version.or((found.version == "none").then_some(0));
        Ok(Page {
            loaded: found.loaded,
            path: found.path,
            address: found.address,
            state: found.state,
            form: found.form,
            mode: found.mode,
            is_complete: found.complete,
            version,
            is_writable: found.writable,
            present: found.present.into_iter().map(|at| Field::ALL[at]).collect(),
            is_note: found.is_note,
            lines: found.lines,
            removed: found.removed,
            choices: found.choices as usize,
            mine: found.mine,
            unsaved: found.unsaved,
            refused: found.refused,
            flash: found.flash,
            fields: found.fields,
            changed: found.changed,
            text: found.text,
            drafts: found.drafts,
            controls: found.controls.into_iter().map(|at| Control::ALL[at].0).collect(),
        })
    }

    /// Whether the browser shows its own page, because nothing came.
    pub(super) fn is_error(&self) -> bool {
        self.state.is_empty()
    }

    /// Whether a field has a mistake.
    pub(super) fn is_wrong(&self) -> bool {
        Marker::all_in(&self.fields.join("\n")).iter().any(|marker| marker.field == Field::Phone)
    }

    /// Whether it is a form with fields.
    pub(super) fn is_open(&self) -> bool {
        !self.fields.is_empty()
    }

    /// The number of the order that it is about.
    pub(super) fn order(&self) -> &str {
        self.path.strip_prefix("/orders/").and_then(|rest| rest.split('/').next()).unwrap_or_default()
    }

    /// The order, or its note: what a form on this page saves.
    pub(super) fn about(&self) -> String {
        if self.is_note { note_of(self.order()) } else { self.order().to_owned() }
    }

    /// The markers on it.
    pub(super) fn shown(&self) -> BTreeSet<Marker> {
        Marker::all_in(&self.text)
    }

    /// This person's markers that its form would send: those in the fields, or on a page about kept text, all of them.
    pub(super) fn own(&self, person: &str) -> BTreeSet<Marker> {
        let all = match () {
            () if self.is_open() => Marker::all_in(&self.fields.join("\n")),
            () if self.form == "conflict" => Marker::all_in(&self.mine),
            () => self.shown(),
        };
        all.into_iter().filter(|marker| marker.author == person).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_read_from_what_the_script_finds() {
        let found = json!({ "loaded": 1.5, "path": "/orders/17/kept/9", "address": "/orders/17/kept/9", "state": "CP-2",
            "form": "conflict", "mode": "free", "complete": true, "version": "v12.0a", "writable": false, "present": [],
            "isNote": false, "lines": 0, "removed": 0, "choices": 1, "mine": "~m-park-0001~", "unsaved": "", "refused": "", "flash": "", "fields": [],
            "changed": [],
            "text": "yours ~m-park-0001~ theirs ~m-minji-0002~", "drafts": [], "controls": [0, 1] });
        let page = Page::read(found).expect("it is whole");
        assert_eq!((page.order(), page.version, page.is_open()), ("17", Some(12), false));
        assert_eq!(page.controls, [Control::Save, Control::EditFirst].into());
        assert_eq!((page.shown().len(), page.own("park").len()), (2, 1));
    }

    #[test]
    fn page_of_the_browser_itself_is_an_error_page() {
        assert!(Page::default().is_error());
    }
}
