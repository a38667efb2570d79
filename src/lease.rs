//! Offline locks: what is locked, by whom, until when, and why a lock is gone. No I/O here.
//!
//! A lease is held by whoever knows its [`LockId`]. The id is a secret of one tab of one person, made by the client and
//! stored only as a hash; everybody else sees the [`Holder`] and the generation, a number that rises with every change
//! of hands and never falls (the fencing number).

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::aggregate::Aggregate;

/// What is locked: an aggregate's type and id. Both are compared byte by byte, in any script and length up to the limits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockKey {
    kind: String,
    id: String,
}

impl LockKey {
    /// The longest type, in bytes.
    pub const MAX_TYPE_BYTES: usize = 255;
    /// The longest id, in bytes: 255 characters of any script fit.
    pub const MAX_ID_BYTES: usize = 1_024;

    /// The key of the aggregate with this type and id. Limits are checked when it is used, see
    /// [`LockError::InvalidKey`](crate::LockError::InvalidKey).
    pub fn new(kind: impl Into<String>, id: impl Into<String>) -> Self {
        LockKey { kind: kind.into(), id: id.into() }
    }

    /// The key of an aggregate that is mapped: its name and the text of its id.
    pub fn of<A: Aggregate>(id: &A::Id) -> Self {
        LockKey::new(A::mapping().name.as_str(), id.to_string())
    }

    /// The aggregate's type, as in `Order`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The aggregate's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What is wrong with it, if anything.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        if self.kind.is_empty() || self.id.is_empty() {
            return Some("type and id must not be empty");
        }
        if self.kind.len() > Self::MAX_TYPE_BYTES || self.id.len() > Self::MAX_ID_BYTES {
            return Some("the type may have 255 bytes and the id 1,024");
        }
        (self.kind.contains('\0') || self.id.contains('\0')).then_some("type and id must not contain a NUL character")
    }
}

/// For messages: `Order 1234`.
impl fmt::Display for LockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.id)
    }
}

/// The secret that holds a lease: 32 random bytes, one per acquisition, made by the client.
///
/// Because the client makes it, a try that is repeated after a lost answer gets the same lease. It is a bearer secret:
/// put it into a hidden form field or a request body, never into a URL or a log. `Debug` does not show it and there is
/// no `Display`; [`reveal`](LockId::reveal) is the one way to its text.
#[derive(Clone, PartialEq, Eq)]
pub struct LockId([u8; 32]);

impl LockId {
    /// A new one, from the operating system's random source.
    ///
    /// # Panics
    /// When the operating system has no randomness to give; there is nothing safe to go on with.
    pub fn random() -> Self {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        LockId(bytes)
    }

    /// Its text, 64 hexadecimal digits, for the hidden field `lid`.
    pub fn reveal(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What is stored: the SHA-256 of it. Whoever reads the table cannot act as the holder.
    pub(crate) fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }
}

impl fmt::Debug for LockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LockId(secret)")
    }
}

impl FromStr for LockId {
    type Err = InvalidLockId;

    fn from_str(text: &str) -> Result<Self, InvalidLockId> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(InvalidLockId);
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| InvalidLockId)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| InvalidLockId)?;
        }
        Ok(LockId(bytes))
    }
}

/// Not the text of a lock id. The text itself is not repeated: it may be somebody's secret, mistyped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a lock id: a lock id has 64 hexadecimal digits; open the form again to get a lock")]
pub struct InvalidLockId;

/// The person (or job) a lock belongs to, or who made a change: an id that the application knows, and a name to show.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The application's id: a login, an account number.
    pub id: String,
    /// What other people are shown.
    pub name: String,
}

impl Owner {
    /// The owner with this id, shown by this name.
    pub fn new(id: impl Into<String>, name: impl Into<String>) -> Self {
        Owner { id: id.into(), name: name.into() }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A lock that is held: what `try_lock` gives and the other operations confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub(crate) id: LockId,
    pub(crate) holder: Holder,
}

impl Lease {
    /// The secret that holds it.
    pub fn id(&self) -> &LockId {
        &self.id
    }
}

/// A lease shows everything that the others see of its holder.
impl std::ops::Deref for Lease {
    type Target = Holder;

    fn deref(&self) -> &Holder {
        &self.holder
    }
}

/// Who holds a lock, as everybody may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// What is locked.
    pub key: LockKey,
    /// Who holds it.
    pub owner: Owner,
    /// Which change of hands this is: the fencing number.
    pub generation: i64,
    /// Since when, by the database's clock.
    pub since: SystemTime,
    /// The last sign of life, by the database's clock.
    pub last_active: SystemTime,
    /// How long it lasts from now without another sign of life. Count down from this; never compare `since` with a
    /// clock of your own.
    pub remaining: Duration,
}

/// The lock id that was shown holds nothing (any more): [`Why`] tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoLock {
    /// What it was a lock of, if that is known.
    pub key: Option<LockKey>,
    /// Why it holds nothing.
    pub why: Why,
    /// Who holds the lock now, if anybody does.
    pub held_now: Option<Holder>,
}

impl Why {
    /// What the history says: how a lease ended, and who had to do with it.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pub(crate) fn recorded(how: &str, at: SystemTime, by: Option<Owner>, reason: Option<String>) -> Self {
        match (how, by, reason) {
            ("released", ..) => Why::Released { at },
            ("broken", Some(by), Some(reason)) => Why::Broken { by, at, reason },
            ("taken over", Some(by), Some(reason)) => Why::TakenOver { by, at, reason },
            ("handed over", Some(to), _) => Why::HandedOver { to, at },
            _ => Why::Expired { at },
        }
    }
}

/// Why a lock id holds nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// Nobody ever got a lock with this id, or it ended so long ago that it was swept.
    Unknown,
    /// No sign of life came in time.
    Expired {
        /// When it ran out.
        at: SystemTime,
    },
    /// It was held for as long as it may be at all, and ran out: it cannot be resumed.
    LimitReached {
        /// Until when it could have been kept alive.
        at: SystemTime,
    },
    /// It was given back.
    Released {
        /// When.
        at: SystemTime,
    },
    /// Somebody with the right to do so ended it.
    Broken {
        /// Who.
        by: Owner,
        /// When.
        at: SystemTime,
        /// The reason given.
        reason: String,
    },
    /// Somebody with the right to do so took it over: it is theirs now.
    TakenOver {
        /// Who.
        by: Owner,
        /// When.
        at: SystemTime,
        /// The reason given.
        reason: String,
    },
    /// Its holder handed it over to somebody who had asked for it.
    HandedOver {
        /// To whom.
        to: Owner,
        /// When.
        at: SystemTime,
    },
    /// It is a lock of somebody else: a lock id is necessary, but not sufficient.
    NotYours,
    /// It is a lock of another aggregate than the one that is being saved.
    OtherAggregate,
}

impl fmt::Display for NoLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "the lock on {key} is not held: ")?,
            None => f.write_str("no lock is held: ")?,
        }
        match &self.why {
            Why::Unknown => f.write_str("nobody has a lock with this id")?,
            Why::Expired { .. } => f.write_str("it expired because no sign of life came in time")?,
            Why::LimitReached { .. } => f.write_str("it was held for as long as it may be")?,
            Why::Released { .. } => f.write_str("it was released")?,
            Why::Broken { by, reason, .. } => write!(f, "{by} ended it ({reason})")?,
            Why::TakenOver { by, reason, .. } => write!(f, "{by} took it over ({reason})")?,
            Why::HandedOver { to, .. } => write!(f, "it was handed over to {to}")?,
            Why::NotYours => f.write_str("the lock id belongs to somebody else")?,
            Why::OtherAggregate => f.write_str("the lock id belongs to another aggregate")?,
        }
        match &self.held_now {
            Some(holder) => write!(f, "; {} holds it now, wait or ask", holder.owner),
            None => f.write_str("; lock it again, and compare versions before you save"),
        }
    }
}

impl std::error::Error for NoLock {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_id_survives_the_form_and_never_shows_itself() {
        let id = LockId::random();
        assert_eq!(id.reveal().parse(), Ok(id.clone()));
        assert_eq!(format!("{id:?}"), "LockId(secret)");
    }

    #[test]
    fn what_is_not_64_hexadecimal_digits_is_no_lock_id() {
        for text in ["", "abc", &"g".repeat(64), &"a".repeat(63), &"가".repeat(22), &format!("+{}", "a".repeat(63))] {
            assert_eq!(text.parse::<LockId>(), Err(InvalidLockId), "{text:?}");
        }
    }

    #[test]
    fn keys_of_any_script_are_good_and_empty_or_gigantic_ones_are_not() {
        assert_eq!(LockKey::new("주문", "가".repeat(255)).problem(), None);
        assert_eq!(LockKey::new("Order", "💐'; drop table \"x\" -- %_").problem(), None);
        for bad in [LockKey::new("", "1"), LockKey::new("Order", ""), LockKey::new("Order", "a".repeat(1_025))] {
            assert!(bad.problem().is_some(), "{bad:?}");
        }
    }
}
