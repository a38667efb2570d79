//! The answer to a heartbeat.

use serde::Serialize;
use tenure::Owner;

use crate::verdict::Verdict;

/// Where a form stands, for its page's script. The page has the words; the script only shows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    /// `held`, `free`, `moved`: it can be typed on. `refused`, `lost`, `saved`: to be read and copied.
    pub mode: &'static str,
    /// The state of the page, in the application's own list of states; empty for none.
    pub state: String,
    /// In words. Empty where there is nothing to say.
    pub said: String,
    /// What can be done next: the names of the buttons that are shown.
    pub actions: Vec<&'static str>,
    /// How long the form's own lease lasts from now, in milliseconds, if it has one. A duration, because the clocks of browsers are
    /// wrong.
    pub expires_in_ms: Option<u64>,
    /// The generation of the person's own lease elsewhere, for `instead_of`.
    pub generation: Option<i64>,
    /// Who is signed in.
    pub person: String,
    /// Where to go, once there is nothing left to do here.
    pub next: Option<String>,
}

impl Told {
    /// The verdict, without words.
    pub fn new<F>(me: &Owner, verdict: &Verdict<F>) -> Self {
        let lease = match verdict {
            Verdict::Editing { lease, .. } | Verdict::Outdated { lease: Some(lease), .. } => Some(lease),
            _ => None,
        };
        let generation = match verdict {
            Verdict::Elsewhere { holder, .. } => Some(holder.generation),
            _ => None,
        };
        Told {
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

    /// In these words.
    pub fn said(self, said: impl Into<String>) -> Self {
        Told { said: said.into(), ..self }
    }

    /// In that state of the application's list.
    pub fn state(self, state: impl Into<String>) -> Self {
        Told { state: state.into(), ..self }
    }

    /// With these buttons.
    pub fn actions(self, actions: impl IntoIterator<Item = &'static str>) -> Self {
        Told { actions: actions.into_iter().collect(), ..self }
    }

    /// There is nothing left to do here; go on there.
    pub fn next(self, next: impl Into<String>) -> Self {
        Told { next: Some(next.into()), ..self }
    }
}
