//! What an open form needs to go on, when what it was rendered with does not do any more.
//!
//! A page keeps the typed text and takes these values into its hidden fields; it never loads itself again for them. They are in
//! answers to the page's own requests only, as the member `fresh`:
//!
//! | answer | when | the page takes |
//! |---|---|---|
//! | the problem `csrf-failed` (403) | the browser's cookies were deleted, and the same person has signed in again | `csrf`, and sends again. `lid` stays while its lease is alive: a lock id is bound to its owner, not to the browser's key |
//! | [`Sent`](crate::sent::Sent) with `done` | more was typed while the save was in flight | `form_id`, `lid`, and the `version` beside `fresh`: the rest is the next change |
//! | [`HeartbeatResponse`](crate::beat::HeartbeatResponse) without a lease | the form's own lease has ended for good, or another tab has the same form | `form_id` and `lid`, and acquires again |
//!
//! Another site cannot read them: there is no cross-origin answer, and a request that a browser marks as one is refused before. They are
//! given only to the person for whom the form was rendered (`person`).

use std::fmt;

use serde::Serialize;

use crate::browser_key::BrowserKey;
use crate::csrf::CsrfToken;
use crate::form_id::FormId;

/// A new identity for an open form. `Debug` shows no secrets.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Fresh {
    csrf: String,
    form_id: String,
    lid: String,
}

impl Fresh {
    /// A new form of this person in this browser, with the token of its session.
    pub fn new(csrf: &CsrfToken, key: &BrowserKey, owner_id: &str) -> Self {
        let form = FormId::random();
        Fresh { csrf: csrf.to_string(), form_id: form.to_string(), lid: key.lock_id(owner_id, form).reveal() }
    }
}

impl fmt::Debug for Fresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fresh").field("form_id", &self.form_id).finish_non_exhaustive()
    }
}
