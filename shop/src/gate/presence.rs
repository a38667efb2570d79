//! The last use of sessions, beside the database: so that the row of a session is written once a minute
//! and not at every request, and a session continues while the database cannot be written.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The maximum number of sessions: a megabyte. Sessions beyond it are known only by their rows.
const MOST: usize = 10_000;

/// Seconds since 1970, by the id of the session.
#[derive(Debug, Default)]
pub(crate) struct Presence(Mutex<HashMap<String, i64>>);

impl Presence {
    /// The last use, by its row and by this process.
    pub(crate) fn last(&self, id: &str, row: i64) -> i64 {
        self.lock().get(id).map_or(row, |seen| row.max(*seen))
    }

    /// Records a use. Forgets sessions that were last used before `idle_since`.
    pub(crate) fn note(&self, id: &str, now: i64, idle_since: i64) {
        let mut seen = self.lock();
        if seen.len() >= MOST && !seen.contains_key(id) {
            seen.retain(|_, at| *at > idle_since);
            if seen.len() >= MOST {
                return;
            }
        }
        seen.insert(id.to_owned(), now);
    }

    /// The session has ended.
    pub(crate) fn forget(&self, id: &str) {
        self.lock().remove(id);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presence_in_memory_counts_beside_the_row() {
        let presence = Presence::default();
        assert_eq!(presence.last("a", 7), 7);
        presence.note("a", 9, 0);
        assert_eq!((presence.last("a", 7), presence.last("a", 11)), (9, 11));
        presence.forget("a");
        assert_eq!(presence.last("a", 7), 7);
    }

    #[test]
    fn its_size_has_a_bound() {
        let presence = Presence::default();
        for id in 0..MOST + 500 {
            presence.note(&id.to_string(), 1_000, 10);
        }
        assert_eq!(presence.lock().len(), MOST);
        presence.note("later", 2_000, 1_000);
        assert_eq!(presence.lock().len(), 1);
    }
}
