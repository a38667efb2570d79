//! What people do at forms, and which of it is possible on a page.

use super::marker::Field;
use super::page::{Control, Page};

/// Something that a person does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gesture {
    OpenShipping,
    OpenEdit,
    Type(Field),
    Save,
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
    /// Another operator signs in in the same browser, without signing out the first one.
    OtherPerson,
}

impl Gesture {
    /// What is possible on this page, and how often it is chosen.
    pub(super) fn possible(page: &Page, tabs: usize, is_shared: bool) -> Vec<(Gesture, u64)> {
        let has = |control| page.controls.contains(&control);
        let mut possible = vec![
            (Gesture::OpenShipping, if page.form.is_empty() { 20 } else { 2 }),
            (Gesture::OpenEdit, if page.form.is_empty() { 12 } else { 1 }),
            (Gesture::Reload, if page.is_error() { 20 } else { 4 }),
            (Gesture::Back, 3),
            (Gesture::Forward, 2),
            (Gesture::ComeAgain, 2),
            (if tabs == 1 { Gesture::SecondTab } else { Gesture::OtherTab }, 4),
        ];
        if page.is_open() && page.is_writable {
            possible.extend(Field::ALL.map(|field| (Gesture::Type(field), 14)));
            possible.extend([
                (Gesture::Crash, 1),
                (Gesture::Die, 1),
                (Gesture::Sleep, 1),
                (Gesture::SignOut, 1),
                (Gesture::OtherPerson, if is_shared { 2 } else { 0 }),
            ]);
        }
        if has(Control::Save) {
            possible.extend([
                (Gesture::Save, 22),
                (Gesture::SaveTwice, 7),
                (Gesture::SaveOffline, 3),
                (Gesture::SaveAndReload, 3),
                (Gesture::SaveAndClose, 2),
                (Gesture::SaveAndDie, 1),
            ]);
        }
        let weight = |control| match control {
            Control::Save | Control::Edit | Control::See => 0,
            Control::Discard | Control::Leave | Control::Theirs => 2,
            Control::Stop => 4,
            _ => 14,
        };
        possible.extend(page.controls.iter().map(|control| (Gesture::Press(*control), weight(*control))));
        possible
    }
}
