//! The message of a page after a redirect, shown once. It is in a cookie, so that reading a page writes nothing.

use axum::http::request::Parts;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tenure::{Version, VersionToken};

use super::frame::Frame;
use super::see;
use crate::cookies::{self, Cookie};
use crate::domain::Order;
use crate::texts::{Html, Lang};
use crate::use_cases::SavedBoth;

const COOKIE: &str = "shop-flash";

/// Seconds. A redirect is followed at once; a later page should not repeat an old message.
const MAX_AGE: u32 = 60;

/// A message that waits for the next page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Flash {
    /// An order was saved.
    Saved,
    /// An order was saved together with the saves of these people; together with the reader's own other save, if the list is
    /// empty.
    SavedBoth { with: Vec<String> },
    /// The save changed nothing.
    Unchanged,
    /// Somebody saved the same before.
    SavedElsewhere,
    /// Shipping has started.
    Shipping,
    /// The order was cancelled.
    Cancelled,
    /// A form was left without saving.
    Left,
    /// A form was left, and its save had arrived before.
    LeftSaved,
    /// Refused text was dropped.
    Dropped,
    /// A note was saved.
    NoteSaved,
    /// An operator ended a lease.
    Ended { order: String, name: String },
    /// A person opened the edit form by its address.
    PressEdit,
    /// Pieces of these products arrived, and of some more.
    Received { list: Vec<(String, u32)>, more: usize },
    /// The person signed out.
    SignedOut,
    /// The person signed out everywhere.
    SignedOutEverywhere,
    /// A session was ended.
    SessionEnded,
    /// A password was changed.
    PasswordChanged,
}

impl Flash {
    /// An order was saved, or nothing was different.
    pub(crate) fn saved(seen: VersionToken<Order>, saved: Version) -> Flash {
        if seen.version() == saved { Flash::Unchanged } else { Flash::Saved }
    }

    /// An order was saved together with the saves of others.
    pub(crate) fn saved_both(frame: &Frame, saved: SavedBoth) -> Flash {
        if saved.with.is_empty() {
            return Flash::Saved;
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
        Flash::SavedBoth { with }
    }

    /// Pieces of these products arrived. As many are named as a cookie can hold: 4 KiB, of which a byte of a name takes three.
    pub(crate) fn received(mut list: Vec<(String, u32)>) -> Flash {
        let mut room = 1_000_usize;
        let fits = |(product, _): &&(String, u32)| {
            let rest = room.checked_sub(product.len() + 10);
            room = rest.unwrap_or_default();
            rest.is_some()
        };
        let named = list.iter().take_while(fits).count();
        let more = list.split_off(named).len();
        Flash::Received { list, more }
    }

    /// Adds it to the response, for the page where this leads to: a person with several tabs sees it on no other, and a form that stays
    /// open after a save does not show it when it is loaded again.
    pub(crate) fn leave(&self, response: &mut Response, to: &str) {
        let to = to.split(['?', '#']).next().unwrap_or_default();
        let text = serde_json::to_string(self).unwrap_or_default();
        let text = serde_urlencoded::to_string([("said", text.as_str()), ("to", to)]).unwrap_or_default();
        cookies::leave(response, Cookie { name: COOKIE, value: text, max_age: MAX_AGE });
    }

    /// Redirects there, with the message.
    pub(super) fn at(&self, to: &str) -> Response {
        let mut response = see(to);
        self.leave(&mut response, to);
        response
    }

    /// The message for this page, if one is pending.
    pub(super) fn waiting(parts: &Parts) -> Option<Flash> {
        let waiting = cookies::read(&parts.headers, &parts.extensions, COOKIE)?;
        let pairs: Vec<(String, String)> = serde_urlencoded::from_str(waiting).ok()?;
        let [(_, said), (_, to)] = pairs.as_slice() else { return None };
        (to == parts.uri.path()).then(|| serde_json::from_str(said).ok()).flatten()
    }

    /// The message was shown.
    pub(super) fn forget(response: &mut Response) {
        cookies::take_away(response, COOKIE);
    }

    /// Its text.
    pub(super) fn text(self, t: Lang) -> Html {
        match self {
            Flash::Saved => t.flash_saved().into(),
            Flash::SavedBoth { with } if with.is_empty() => t.flash_saved_both_own().into(),
            Flash::SavedBoth { with } => t.flash_saved_both(t.names(&with)),
            Flash::Unchanged => t.flash_unchanged().into(),
            Flash::SavedElsewhere => t.flash_saved_elsewhere().into(),
            Flash::Shipping => t.flash_shipping().into(),
            Flash::Cancelled => t.flash_cancelled().into(),
            Flash::Left => t.flash_left().into(),
            Flash::LeftSaved => t.flash_left_saved().into(),
            Flash::Dropped => t.unsaved_discarded().into(),
            Flash::NoteSaved => t.flash_note_saved().into(),
            Flash::Ended { order, name } => t.flash_ended(order, name),
            Flash::PressEdit => t.flash_press_edit().into(),
            Flash::Received { list, more: 0 } => t.flash_received(t.delivery(&list)),
            Flash::Received { list, more } => t.flash_received_more(t.delivery(&list), more),
            Flash::SignedOut => t.flash_signed_out().into(),
            Flash::SignedOutEverywhere => t.flash_signed_out_everywhere().into(),
            Flash::SessionEnded => t.flash_session_ended().into(),
            Flash::PasswordChanged => t.flash_password_changed().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use axum::http::header::{COOKIE, SET_COOKIE};
    use axum::response::IntoResponse;

    use super::*;
    use crate::cookies::Https;

    fn asking(path: &str, with: &str) -> Parts {
        Request::get(path).header(COOKIE, with).body(()).expect("a request").into_parts().0
    }

    #[test]
    fn flash_message_of_any_script_is_shown_where_the_redirect_leads_to() {
        let said = Flash::SavedBoth { with: vec!["김민지; \"Kim\" = <b>".into()] };
        let mut response = ().into_response();
        said.leave(&mut response, "/orders/%ED%95%9C?a=b#c");
        cookies::write(&mut response, Https(false));
        let sent =
            response.headers()[SET_COOKIE].to_str().expect("a cookie").split(';').next().expect("its value").to_owned();
        assert_eq!(Flash::waiting(&asking("/orders/%ED%95%9C?x=y", &sent)), Some(said));
        assert_eq!(Flash::waiting(&asking("/orders", &sent)), None);
        assert_eq!(Flash::waiting(&asking("/", "shop-flash=said=no&to=/")), None);
    }

    #[test]
    fn long_delivery_fits_into_the_cookie() {
        let said = Flash::received((0..50).map(|at| (format!("보성 우전 녹차 {at}"), 10_000)).collect());
        let Flash::Received { list, more } = &said else { panic!("{said:?}") };
        assert_eq!(list.len() + more, 50);
        let mut response = ().into_response();
        said.leave(&mut response, "/stock");
        cookies::write(&mut response, Https(false));
        assert!((2_000..4_000).contains(&response.headers()[SET_COOKIE].len()), "{:?}", response.headers());
        assert!(matches!(Flash::received(vec![("가".repeat(200), 1)]), Flash::Received { more: 0, .. }));
    }
}
