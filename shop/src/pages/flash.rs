//! What a page says once, after the redirect that followed a form.

use serde::{Deserialize, Serialize};
use tenure::{Version, VersionToken};
use tower_sessions::Session;

use super::frame::Frame;
use crate::domain::Order;
use crate::texts::{Html, Lang};
use crate::use_cases::SavedBoth;

const KEY: &str = "flash";

/// A message that waits in the session for the next page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Flash {
    /// An order was saved.
    Saved { version: i64 },
    /// An order was saved together with what these people had saved meanwhile; with what the reader had, where it is
    /// nobody.
    SavedBoth { version: i64, with: Vec<String> },
    /// Nothing was different.
    Unchanged { version: i64 },
    /// Shipping has started.
    Shipping { version: i64 },
    /// The order was cancelled.
    Cancelled { version: i64 },
    /// A form was left without saving.
    Left,
    /// A note was saved.
    NoteSaved { version: i64 },
    /// An operator ended somebody's lease.
    Ended { order: String, name: String },
    /// Somebody asked for the edit form by its address.
    PressEdit,
    /// Somebody signed out.
    SignedOut,
}

impl Flash {
    /// An order was saved; or it was not, because nothing was different.
    pub(crate) fn saved(seen: VersionToken<Order>, saved: Version) -> Flash {
        let version = saved.number();
        if seen.version() == saved { Flash::Unchanged { version } } else { Flash::Saved { version } }
    }

    /// An order was saved together with what others had saved.
    pub(crate) fn saved_both(frame: &Frame, saved: SavedBoth) -> Flash {
        let version = saved.version.number();
        if saved.with.is_empty() {
            return Flash::Saved { version };
        }
        let mut with = Vec::new();
        for change in saved.with.iter().rev() {
            let who = match &change.by {
                Some(by) if frame.is_me(by) => continue,
                Some(by) => by.name.clone(),
                None => frame.t.somebody().to_owned(),
            };
            if !with.contains(&who) {
                with.push(who);
            }
        }
        Flash::SavedBoth { version, with }
    }

    /// Leaves it for the next page. A message that cannot be kept is not worth failing for: the page shows the outcome.
    pub(crate) async fn leave(self, session: &Session) {
        if let Err(error) = session.insert(KEY, self).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "a flash message was lost");
        }
    }

    /// Takes the message that waits, if one does.
    pub(super) async fn take(session: &Session) -> Option<Flash> {
        session.remove(KEY).await.ok().flatten()
    }

    /// The forms that were finished with it. Their drafts are of no use any more.
    pub(super) fn finished(&self) -> &'static [&'static str] {
        match self {
            Flash::Saved { .. } | Flash::SavedBoth { .. } | Flash::Unchanged { .. } => &["edit", "shipping"],
            Flash::Left => &["edit"],
            Flash::NoteSaved { .. } => &["note"],
            _ => &[],
        }
    }

    /// In words.
    pub(super) fn text(self, t: Lang) -> Html {
        match self {
            Flash::Saved { version } => t.flash_saved(version),
            Flash::SavedBoth { version, with } if with.is_empty() => t.flash_saved_both_own(version),
            Flash::SavedBoth { version, with } => t.flash_saved_both(version, t.names(&with)),
            Flash::Unchanged { version } => t.flash_unchanged(version),
            Flash::Shipping { version } => t.flash_shipping(version),
            Flash::Cancelled { version } => t.flash_cancelled(version),
            Flash::Left => t.flash_left().into(),
            Flash::NoteSaved { version } => t.flash_note_saved(version),
            Flash::Ended { order, name } => t.flash_ended(order, name),
            Flash::PressEdit => t.flash_press_edit().into(),
            Flash::SignedOut => t.flash_signed_out().into(),
        }
    }
}
