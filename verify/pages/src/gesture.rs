//! What people do at forms, and which of it is possible on a page.

use super::marker::Field;
use super::page::{Control, Page};

/// Something that a person does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gesture {
    /// Waits a second.
    Look,
    OpenShipping,
    OpenEdit,
    Type(Field),
    /// Types what the field had before.
    TakeBack(Field),
    /// Types what no telephone number is, or one again.
    Mistake,
    Mend,
    /// Marks a product as removed; or none any more.
    Remove,
    KeepAll,
    /// Chooses one side of a comparison for each field that is still open.
    Choose(Side),
    Save,
    /// Presses Save, which arrives; its answer does not.
    SaveUnheard,
    /// Presses Save twice.
    SaveTwice,
    /// Presses Save while the browser has no connection, which comes back later.
    SaveOffline,
    /// Presses Save, and does not wait for the answer.
    SaveAndReload,
    SaveAndClose,
    /// Presses Save, and all processes of the browser are killed.
    SaveAndDie,
    Press(Control),
    Reload,
    /// Loads the page again in the other language.
    Language,
    Back,
    Forward,
    /// Closes the tab and opens the form in another one.
    ComeAgain,
    SecondTab,
    OtherTab,
    /// The machine sleeps until the lease has expired.
    Sleep,
    /// A tab crashes, like one that runs out of memory.
    Crash,
    /// All processes of the browser are killed, and it is started again with the same profile.
    Die,
    SignOut,
    /// Another operator signs in in the same browser, without signing out the first one, and opens the same form.
    OtherPerson,
}

/// The side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Mine,
    Theirs,
}

impl Gesture {
    /// The faults of a browser or its machine: each happens once, and then by chance.
    pub(super) const FAULTS: [Gesture; 5] =
        [Gesture::Crash, Gesture::Sleep, Gesture::SaveAndDie, Gesture::SaveOffline, Gesture::Die];

    /// What leads on from this page to a save of its text.
    pub(super) fn to_save(page: &Page) -> Gesture {
        let ways = [Control::Check, Control::Save, Control::Again, Control::EditFirst, Control::Move, Control::Retry];
        let way = ways.into_iter().find(|way| page.controls.contains(way));
        match way {
            _ if page.choices > 0 => Gesture::Choose(Side::Mine),
            _ if page.is_wrong() => Gesture::Mend,
            // Somebody may have removed the others.
            _ if page.removed > 0 => Gesture::KeepAll,
            Some(Control::Save) => Gesture::Save,
            Some(way) => Gesture::Press(way),
            None => Gesture::Look,
        }
    }

    /// What is possible on this page, and how often it is chosen. `has_text`: the page has text of the person that is not saved.
    pub(super) fn possible(page: &Page, has_text: bool, tabs: usize, is_shared: bool) -> Vec<(Gesture, u64)> {
        let has = |control| page.controls.contains(&control);
        let mut possible = vec![
            (Gesture::OpenShipping, if page.form.is_empty() { 20 } else { 2 }),
            (Gesture::OpenEdit, if page.form.is_empty() { 12 } else { 1 }),
            (Gesture::Reload, if page.is_error() { 20 } else { 4 }),
            (Gesture::Language, if page.is_error() { 0 } else { 3 }),
            (Gesture::Back, 3),
            (Gesture::Forward, 2),
            (Gesture::ComeAgain, 2),
            (if tabs == 1 { Gesture::SecondTab } else { Gesture::OtherTab }, 4),
        ];
        if page.is_open() && page.is_writable {
            let weight = if has_text { 7 } else { 40 };
            let fields = || page.present.iter().filter(|field| **field != Field::Phone);
            possible.extend(fields().map(|field| (Gesture::Type(*field), weight)));
            possible.extend([(Gesture::Crash, 1), (Gesture::Die, 1), (Gesture::Sleep, 1), (Gesture::SignOut, 1)]);
            // A person whose text is not saved yet goes away from the browser that they share.
            if has_text && is_shared {
                possible.push((Gesture::OtherPerson, 4));
            }
        }
        if page.is_open() && page.is_writable {
            if page.present.contains(&Field::Phone) {
                possible.push(if page.is_wrong() { (Gesture::Mend, 40) } else { (Gesture::Mistake, 3) });
            }
            if has_text {
                let fields = page.present.iter().filter(|field| **field != Field::Phone);
                possible.extend(fields.map(|field| (Gesture::TakeBack(*field), 4)));
            }
        }
        if page.removed > 0 {
            possible.push((Gesture::KeepAll, 6));
        } else if page.lines > 1 {
            possible.push((Gesture::Remove, 6));
        }
        if page.choices > 0 {
            possible.extend([(Gesture::Choose(Side::Mine), 40), (Gesture::Choose(Side::Theirs), 20)]);
        }
        if has(Control::Save) {
            possible.push((Gesture::Save, if has_text { 36 } else { 2 }));
        }
        if has(Control::Save) && has_text {
            possible.extend([
                (Gesture::SaveTwice, 10),
                (Gesture::SaveUnheard, 8),
                (Gesture::SaveOffline, 4),
                (Gesture::SaveAndReload, 4),
                (Gesture::SaveAndClose, 3),
                (Gesture::SaveAndDie, 1),
            ]);
        }
        let weight = |control| match control {
            Control::Save | Control::Edit | Control::See => 0,
            Control::Note => 8,
            Control::Discard | Control::DropSent | Control::Leave => 2,
            Control::Stop => 4,
            _ => 14,
        };
        possible.extend(page.controls.iter().map(|control| (Gesture::Press(*control), weight(*control))));
        possible
    }
}
