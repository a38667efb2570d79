//! Asking the holder of a lock for it: what is asked, and what the holder answers. No I/O here.

use std::time::{Duration, SystemTime};

use crate::lease::{LockKey, Owner, is_plain};

/// Somebody asks the holder of a lock for it. It is about one lease, and ends with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferRequest {
    /// What is asked for.
    pub key: LockKey,
    /// The lease that it is about.
    pub generation: i64,
    /// Who asks.
    pub by: Owner,
    /// What they say; may be empty.
    pub note: String,
    /// Since when, by the database's clock.
    pub since: SystemTime,
    /// How long it lasts from now, unless the asker repeats it.
    pub remaining: Duration,
    /// What the holder answered, if anything that still holds.
    pub answer: Option<TransferReply>,
}

impl TransferRequest {
    /// How long a request lasts unless it is repeated: browsers wake the timers of a hidden tab once a minute at best, and
    /// one repetition may be lost on the way.
    pub const TTL: Duration = Duration::from_secs(120);
    /// The longest note or message, in characters: what fits under the name of whoever says it.
    pub const LONGEST_NOTE: usize = 500;
    /// How long the key is kept for whom it was handed over to. They look at the page that asks, which learns of it within
    /// seconds; nobody else is kept out for long by somebody who has gone for coffee.
    pub const RESERVATION: Duration = Duration::from_secs(30);

    /// The text without the space around it, if it fits.
    pub(crate) fn text(text: &str) -> Result<&str, Unfit> {
        let text = text.trim();
        match text.chars().nth(Self::LONGEST_NOTE) {
            Some(_) => Err(Unfit::TooLong),
            None if !is_plain(text) => Err(Unfit::NotPlain),
            None => Ok(text),
        }
    }
}

/// Why a note, a message or a reason cannot be shown to whom it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// It is longer than [`TransferRequest::LONGEST_NOTE`].
    TooLong,
    /// There are control characters in it.
    NotPlain,
}

/// What a holder answers to a request. (The third answer is to hand the lock over.)
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransferReply {
    /// Not now, but in about so long. It holds until that time is over.
    Later(Duration),
    /// No.
    Declined {
        /// What the holder says; may be empty.
        message: String,
    },
}

impl TransferReply {
    /// What is stored of it.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pub(crate) fn stored(later_for: Option<Duration>, declined: Option<String>) -> Option<Self> {
        let declined = declined.map(|message| TransferReply::Declined { message });
        declined.or(later_for.filter(|left| !left.is_zero()).map(TransferReply::Later))
    }

    /// For how long "later" is, and the message of a "no".
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pub(crate) fn parts(&self) -> (Option<Duration>, Option<&str>) {
        match self {
            // Nobody holds a lock for longer.
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
