//! Notifications between processes. A notification only triggers a poll and carries no event
//! itself. So a lost notification loses nothing; the poll happens a little later.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::lease::LockKey;
use crate::storage::Backend;

/// Notifications within this time are sent together: on PostgreSQL every one takes a lock that all of them need.
const PAUSE: Duration = Duration::from_millis(20);
/// How long nothing is sent after there was no listener. A new listener polls again after [`SETTLED`].
const QUIET: Duration = Duration::from_secs(1);
/// The time after which a new listener has received everything since it began.
pub(super) const SETTLED: Duration = Duration::from_millis(1_500);
/// The maximum number of keys in one notification: beyond that "everything" is shorter. (A notification has at most 8,000 bytes.)
const MOST_KEYS: usize = 400;

/// The short form of a key in notifications. Two keys with the same short form are polled together, which is harmless.
pub(super) fn mark(key: &LockKey) -> u64 {
    let mut hash = Sha256::new();
    hash.update(key.kind());
    hash.update([0]);
    hash.update(key.id());
    let hash: [u8; 32] = hash.finalize().into();
    hash.into_iter().take(8).fold(0, |mark, byte| mark << 8 | u64::from(byte))
}

/// Sends notifications to other processes.
#[derive(Debug)]
pub(super) struct Announcer {
    backend: Arc<dyn Backend>,
    /// The sender, so that its own notifications are ignored.
    process: i64,
    state: Mutex<Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    marks: Vec<u64>,
    under_way: bool,
    quiet_until: Option<Instant>,
}

impl Announcer {
    pub(super) fn new(backend: Arc<dyn Backend>, process: i64) -> Self {
        Announcer { backend, process, state: Mutex::default() }
    }

    /// Schedules a notification of a key, without waiting.
    pub(super) fn tell(self: &Arc<Self>, key: &LockKey) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.quiet_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        if state.marks.len() <= MOST_KEYS {
            state.marks.push(mark(key));
        }
        if let (false, Ok(runtime)) = (state.under_way, Handle::try_current()) {
            state.under_way = true;
            runtime.spawn(Sending(Arc::clone(self)).way());
        }
    }

    fn next(&self) -> Option<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut marks = std::mem::take(&mut state.marks);
        marks.sort_unstable();
        marks.dedup();
        (!marks.is_empty()).then(|| text(self.process, &marks))
    }

    fn nobody_listens(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.marks.clear();
        state.quiet_until = Some(Instant::now() + QUIET);
    }
}

/// Sending is in progress. After any end, the next one can begin.
struct Sending(Arc<Announcer>);

impl Sending {
    async fn way(self) {
        while let Some(text) = self.0.next() {
            match self.0.backend.announce(&text).await {
                Ok(true) => tokio::time::sleep(PAUSE).await,
                Ok(false) => self.0.nobody_listens(),
                Err(error) => {
                    tracing::debug!(%error, "other processes were not notified; they will find out by polling");
                    self.0.nobody_listens();
                }
            }
        }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).under_way = false;
    }
}

/// `process:mark,mark,…`, or `process:*` for more than fits.
fn text(process: i64, marks: &[u64]) -> String {
    let mut text = format!("{process:x}:");
    if marks.len() > MOST_KEYS {
        text.push('*');
        return text;
    }
    for (at, mark) in marks.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(text, "{comma}{mark:x}");
    }
    text
}

/// The content of a notification.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Notification {
    /// The process's own, already handled.
    Nothing,
    Keys(Vec<u64>),
    Everything,
}

/// Parses a notification. An unknown format of another release triggers a poll of everything.
pub(super) fn parse(text: &str, process: i64) -> Notification {
    match text.split_once(':') {
        Some((by, _)) if by == format!("{process:x}") => Notification::Nothing,
        Some((_, marks)) => {
            let marks: Result<Vec<u64>, _> = marks.split(',').map(|mark| u64::from_str_radix(mark, 16)).collect();
            marks.map_or(Notification::Everything, Notification::Keys)
        }
        None => Notification::Everything,
    }
}

/// What holds for any notification, for the unit tests and for the fuzz target: what is read is sent again as the same.
#[cfg(any(test, fuzzing))]
pub(crate) fn any_notification(received: &str) {
    if let Notification::Keys(marks) = parse(received, 7) {
        let sent = text(8, &marks);
        let expected = if marks.len() > MOST_KEYS { Notification::Everything } else { Notification::Keys(marks) };
        assert_eq!(parse(&sent, 7), expected);
        assert_eq!(parse(&sent, 8), Notification::Nothing);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_notification_is_understood_or_polls_everything(received in "(-?[0-9a-f]{1,4}:)?([0-9a-fA-F+*]{1,18},?){0,5}|.*") {
            any_notification(&received);
        }
    }

    #[test]
    fn notification_reaches_others_and_not_its_sender() {
        let marks = [mark(&LockKey::new("Order", "1")), mark(&LockKey::new("Order", "2"))];
        let from_seven = text(-7, &marks);
        assert_eq!(parse(&from_seven, 8), Notification::Keys(marks.to_vec()));
        assert_eq!(parse(&from_seven, -7), Notification::Nothing);
        assert_ne!(mark(&LockKey::new("Order", "1")), mark(&LockKey::new("Order1", "")));
    }

    #[test]
    fn more_keys_than_fit_are_everything() {
        let marks: Vec<u64> = (0..=MOST_KEYS as u64).map(|at| u64::MAX - at).collect();
        assert_eq!(parse(&text(7, &marks), 8), Notification::Everything);
        assert!(text(7, &marks[1..]).len() < 8_000);
        assert_eq!(parse("what a later release says", 8), Notification::Everything);
    }
}
