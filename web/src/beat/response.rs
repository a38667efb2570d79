//! The response to a heartbeat.

use serde::Serialize;
use tenure::Owner;

use crate::verdict::Verdict;

/// The state of a form, for its page's script. The server provides the texts; the script only displays them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeartbeatResponse {
    /// `held`, `free`, `moved`: it is editable. `refused`, `lost`, `saved`: it is read-only, for reading and copying.
    pub mode: &'static str,
    /// The state of the page, in the application's own list of states; empty for none.
    pub state: String,
    /// The message. Empty if there is none.
    pub said: String,
    /// The possible next actions: the names of the visible buttons.
    pub actions: Vec<&'static str>,
    /// The time until the form's own lease expires, in milliseconds, if it has one. A duration, because browsers' clocks are
    /// wrong.
    pub expires_in_ms: Option<u64>,
    /// The generation of the person's own lease elsewhere, for `instead_of`.
    pub generation: Option<i64>,
    /// The signed-in person.
    pub person: String,
    /// The address to go to when the form is finished.
    pub next: Option<String>,
}

impl HeartbeatResponse {
    /// The verdict, without a text.
    pub fn new<F>(me: &Owner, verdict: &Verdict<F>) -> Self {
        let lease = match verdict {
            Verdict::Editing { lease, .. } | Verdict::Outdated { lease: Some(lease), .. } => Some(lease),
            _ => None,
        };
        let generation = match verdict {
            Verdict::Elsewhere { holder, .. } => Some(holder.generation),
            _ => None,
        };
        HeartbeatResponse {
            mode: verdict.mode(),
            state: String::new(),
            said: String::new(),
            actions: Vec::new(),
            expires_in_ms: lease.map(|lease| u64::try_from(lease.remaining.as_millis()).unwrap_or(u64::MAX)),
            generation,
            person: me.id.clone(),
            next: None,
        }
    }

    /// Sets the message.
    pub fn said(self, said: impl Into<String>) -> Self {
        HeartbeatResponse { said: said.into(), ..self }
    }

    /// Sets the state from the application's list.
    pub fn state(self, state: impl Into<String>) -> Self {
        HeartbeatResponse { state: state.into(), ..self }
    }

    /// Sets the visible buttons.
    pub fn actions(self, actions: impl IntoIterator<Item = &'static str>) -> Self {
        HeartbeatResponse { actions: actions.into_iter().collect(), ..self }
    }

    /// The form is finished; sets the address to go to.
    pub fn next(self, next: impl Into<String>) -> Self {
        HeartbeatResponse { next: Some(next.into()), ..self }
    }
}
