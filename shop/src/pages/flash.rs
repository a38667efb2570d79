//! What a page says once, after the redirect that followed a form. It waits in a cookie: reading a page writes nothing.

use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tenure::{Version, VersionToken};

use super::frame::Frame;
use crate::domain::Order;
use crate::session::cookie;
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
    /// An order was saved together with what these people had saved meanwhile; with what the reader had, where it is
    /// nobody.
    SavedBoth { with: Vec<String> },
    /// Nothing was different.
    Unchanged,
    /// Shipping has started.
    Shipping,
    /// The order was cancelled.
    Cancelled,
    /// A form was left without saving.
    Left,
    /// A note was saved.
    NoteSaved,
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
        if seen.version() == saved { Flash::Unchanged } else { Flash::Saved }
    }

    /// An order was saved together with what others had saved.
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

    /// Leaves it for the next page.
    pub(crate) fn leave(&self, response: &mut Response) {
        let text = serde_json::to_string(self).unwrap_or_default();
        let text = serde_urlencoded::to_string([("said", text)]).unwrap_or_default();
        set(response, &text, MAX_AGE);
    }

    /// The message that waits, if one does.
    pub(super) fn waiting(headers: &HeaderMap) -> Option<Flash> {
        let pairs: Vec<(String, String)> = serde_urlencoded::from_str(cookie(headers, COOKIE)?).ok()?;
        serde_json::from_str(&pairs.first()?.1).ok()
    }

    /// It was said.
    pub(super) fn forget(response: &mut Response) {
        set(response, "", 0);
    }

    /// In words.
    pub(super) fn text(self, t: Lang) -> Html {
        match self {
            Flash::Saved => t.flash_saved().into(),
            Flash::SavedBoth { with } if with.is_empty() => t.flash_saved_both_own().into(),
            Flash::SavedBoth { with } => t.flash_saved_both(t.names(&with)),
            Flash::Unchanged => t.flash_unchanged().into(),
            Flash::Shipping => t.flash_shipping().into(),
            Flash::Cancelled => t.flash_cancelled().into(),
            Flash::Left => t.flash_left().into(),
            Flash::NoteSaved => t.flash_note_saved().into(),
            Flash::Ended { order, name } => t.flash_ended(order, name),
            Flash::PressEdit => t.flash_press_edit().into(),
            Flash::SignedOut => t.flash_signed_out().into(),
        }
    }
}

fn set(response: &mut Response, value: &str, max_age: u32) {
    let cookie = format!("{COOKIE}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax");
    response.headers_mut().extend(HeaderValue::try_from(cookie).map(|cookie| (SET_COOKIE, cookie)));
}

#[cfg(test)]
mod tests {
    use axum::http::header::COOKIE;
    use axum::response::IntoResponse;

    use super::*;

    #[test]
    fn a_message_in_any_script_comes_back_from_the_cookie() {
        let said = Flash::SavedBoth { with: vec!["김민지; \"Kim\" = <b>".into()] };
        let mut response = ().into_response();
        said.leave(&mut response);
        let sent =
            response.headers()[SET_COOKIE].to_str().expect("a cookie").split(';').next().expect("its value").to_owned();
        let headers = HeaderMap::from_iter([(COOKIE, sent.parse().expect("text"))]);
        assert_eq!(Flash::waiting(&headers), Some(said));
        assert_eq!(
            Flash::waiting(&HeaderMap::from_iter([(COOKIE, HeaderValue::from_static("shop-flash=said=no"))])),
            None
        );
    }
}
