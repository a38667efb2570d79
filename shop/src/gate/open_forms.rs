//! The leases that each session has acquired or kept alive, beside the database: so that signing out releases them at once.
//!
//! The lock ids are secrets, and the database has only their digests. Each heartbeat names its own again, so a process that was
//! started later knows them within a minute; until then a lease ends with its time to live.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tenure::LockId;

/// The maximum number of sessions: those that end without a sign-out are forgotten when it is reached. The leases of others end with their
/// time to live.
const MOST: usize = 10_000;
/// The maximum number of leases of a session: more than a person has open. The oldest are forgotten first.
const MOST_OF_ONE: usize = 50;

/// When a session last named a lease, in seconds since 1970, and its lock ids; by the id of the session.
#[derive(Debug, Default)]
pub(crate) struct OpenForms(Mutex<HashMap<String, (i64, Vec<LockId>)>>);

impl OpenForms {
    /// Records that this session has the lease. Forgets sessions that last named one before `idle_since`.
    pub(crate) fn note(&self, session: &str, id: &LockId, now: i64, idle_since: i64) {
        let mut open = self.lock();
        if open.len() >= MOST && !open.contains_key(session) {
            open.retain(|_, (at, _)| *at > idle_since);
            if open.len() >= MOST {
                return;
            }
        }
        let (at, ids) = open.entry(session.to_owned()).or_default();
        *at = now;
        ids.retain(|known| known != id);
        if ids.len() >= MOST_OF_ONE {
            ids.remove(0);
        }
        ids.push(id.clone());
    }

    /// The leases of a session that has ended, which is then forgotten.
    pub(crate) fn take(&self, session: &str) -> Vec<LockId> {
        self.lock().remove(session).map(|(_, ids)| ids).unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, (i64, Vec<LockId>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_its_latest_leases_until_it_ends() {
        let (forms, ids) = (OpenForms::default(), std::array::from_fn::<_, 60, _>(|_| LockId::random()));
        for id in ids.iter().chain(&ids[58..]) {
            forms.note("a", id, 1_000, 10);
        }
        assert_eq!(forms.take("b"), []);
        assert_eq!(forms.take("a"), ids[10..]);
        assert_eq!(forms.take("a"), []);
    }

    #[test]
    fn its_size_has_a_bound() {
        let forms = OpenForms::default();
        for session in 0..MOST + 10 {
            forms.note(&session.to_string(), &LockId::random(), 1_000, 10);
        }
        assert_eq!(forms.lock().len(), MOST);
        forms.note("later", &LockId::random(), 2_000, 1_000);
        assert_eq!(forms.take("later").len(), 1, "sessions that ended without a sign-out make room");
    }
}
