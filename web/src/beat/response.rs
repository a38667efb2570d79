//! The response to a heartbeat.

use std::time::Duration;

use serde::Serialize;
use tenure::{LockPolicy, Owner};

use crate::verdict::Verdict;

/// The state of a form, for its page's script. The server provides the texts; the script only displays them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeartbeatResponse {
    /// `held`, `free`, `moved`: it can be saved. `refused`, `lost`, `saved`: what is typed is kept, and the page says why it cannot be
    /// saved.
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
    /// The time until the form's own lease ends although heartbeats arrive, in milliseconds: at the idle limit of the policy, without
    /// further input of the person. `None` without a lease, or without such a limit. The page asks before, and sends a heartbeat with
    /// the first input: then it is the whole limit again.
    pub idle_in_ms: Option<u64>,
    /// The generation of the person's own lease elsewhere, for `instead_of`.
    pub generation: Option<i64>,
    /// The signed-in person.
    pub person: String,
    /// The address to go to when the form is finished.
    pub next: Option<String>,
    /// The time since the person's last input, of the form's own lease.
    #[serde(skip)]
    idle: Option<Duration>,
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
            expires_in_ms: lease.map(|lease| millis(lease.remaining)),
            idle_in_ms: None,
            generation,
            person: me.id.clone(),
            next: None,
            idle: lease.map(|lease| lease.idle),
        }
    }

    /// Sets the time until the idle limit of this policy ends the lease, so that the page can ask before.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tenure::{Owner, LockPolicy};
    /// # use tenure_web::{beat::HeartbeatResponse, verdict::Verdict};
    /// # fn told(me: &Owner, verdict: &Verdict<()>) -> Result<HeartbeatResponse, Box<dyn std::error::Error>> {
    /// let notes = LockPolicy::exclusive().idle_limit(Duration::from_secs(15 * 60))?;
    /// Ok(HeartbeatResponse::new(me, verdict).under(&notes))
    /// # }
    /// ```
    pub fn under(self, policy: &LockPolicy) -> Self {
        let limit = policy.longest_idle();
        let left = limit.zip(self.idle).map(|(limit, idle)| millis(limit.saturating_sub(idle)));
        HeartbeatResponse { idle_in_ms: left, ..self }
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

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
