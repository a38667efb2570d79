//! Transfer requests to the holder of a lock, and the holder's reply. No I/O here.

use std::time::{Duration, SystemTime};

use serde::{Serialize, Serializer};

use crate::clock::millis;
use crate::lease::{LockKey, Owner, is_plain};

/// A request to the holder of a lock to transfer it. It is about one lease, and ends with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TransferRequest {
    /// The key of the lock.
    pub key: LockKey,
    /// The generation of the lease.
    pub generation: i64,
    /// The requester.
    pub by: Owner,
    /// The requester's note; may be empty.
    pub note: String,
    /// When it was made, by the database's clock.
    #[serde(rename = "since_ms", serialize_with = "crate::clock::ms::instant")]
    pub since: SystemTime,
    /// The time until it expires, unless the requester repeats it.
    #[serde(rename = "remaining_ms", serialize_with = "crate::clock::ms::duration")]
    pub remaining: Duration,
    /// The holder's reply, if there is a valid one.
    pub answer: Option<TransferReply>,
}

impl TransferRequest {
    /// The time to live of a request unless it is repeated: browsers wake the timers of a hidden tab once a minute at best, and
    /// one repetition may be lost.
    pub const TTL: Duration = Duration::from_secs(120);
    /// The maximum length of a note or message, in characters: it is displayed under its author's name.
    pub const LONGEST_NOTE: usize = 500;
    /// How long a key stays reserved for the recipient of a hand-over. The recipient's page polls and learns of it within
    /// seconds; a recipient who has left blocks others only for this time.
    pub const RESERVATION: Duration = Duration::from_secs(30);

    /// The trimmed text, if it is valid.
    pub(crate) fn text(text: &str) -> Result<&str, Unfit> {
        let text = text.trim();
        match text.chars().nth(Self::LONGEST_NOTE) {
            Some(_) => Err(Unfit::TooLong),
            None if !is_plain(text) => Err(Unfit::NotPlain),
            None => Ok(text),
        }
    }
}

/// Why a note, a message or a reason cannot be displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// It is longer than [`TransferRequest::LONGEST_NOTE`].
    TooLong,
    /// It contains control characters.
    NotPlain,
}

/// A holder's reply to a request. (The third reply is to hand the lock over.) serde writes `{"later":{"within_ms":300000}}` or
/// `{"declined":{"message":"…"}}`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransferReply {
    /// Not now, but in about this time. The reply is valid until then.
    Later(Duration),
    /// No.
    Declined {
        /// The holder's message; may be empty.
        message: String,
    },
}

impl Serialize for TransferReply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "kebab-case")]
        enum Written<'a> {
            Later { within_ms: i64 },
            Declined { message: &'a str },
        }
        let written = match self {
            TransferReply::Later(within) => Written::Later { within_ms: millis(*within) },
            TransferReply::Declined { message } => Written::Declined { message },
        };
        written.serialize(serializer)
    }
}

impl TransferReply {
    /// The stored form.
    pub(crate) fn stored(later_for: Option<Duration>, declined: Option<String>) -> Option<Self> {
        let declined = declined.map(|message| TransferReply::Declined { message });
        declined.or(later_for.filter(|left| !left.is_zero()).map(TransferReply::Later))
    }

    /// The duration of a "later", and the message of a "no".
    pub(crate) fn parts(&self) -> (Option<Duration>, Option<&str>) {
        match self {
            // No lock is held for longer.
            TransferReply::Later(within) => (Some((*within).min(Duration::from_secs(30 * 24 * 3600))), None),
            TransferReply::Declined { message } => (None, Some(message)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_has_500_characters_of_any_script() {
        assert_eq!(TransferRequest::text("  please  "), Ok("please"));
        assert_eq!(TransferRequest::text(&"가".repeat(500)).map(|note| note.chars().count()), Ok(500));
        assert_eq!(TransferRequest::text(&"a".repeat(501)), Err(Unfit::TooLong));
        assert_eq!(TransferRequest::text("please\r\n\u{1b}[2J"), Err(Unfit::NotPlain));
    }
}
