//! The secret that holds a lease.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use crate::aggregate::value::{from_hex, hex};

/// Number of leading bytes with the creation time, in milliseconds since 1970.
const TIME: usize = 6;

/// The secret that holds a lease: the creation time (as in a UUID of version 7), then 26 random bytes. The client creates one per
/// acquisition.
///
/// Because the client creates it, a request that is repeated after a lost response gets the same lease. It is a bearer secret:
/// put it into a hidden form field or a request body, never into a URL or a log. `Debug` does not show it and there is
/// no `Display`; only [`reveal`](LockId::reveal) returns its text.
#[derive(Clone, PartialEq, Eq)]
pub struct LockId([u8; 32]);

impl LockId {
    /// A new lock id, from the operating system's random source. It contains this host's time, which decides nothing: it only
    /// keeps lock ids that are created one after the other adjacent in the database's indexes.
    ///
    /// # Panics
    /// If the operating system provides no randomness, because no lock id would be safe then.
    pub fn random() -> Self {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        bytes[..TIME].copy_from_slice(&u64::try_from(since.as_millis()).unwrap_or(u64::MAX).to_be_bytes()[8 - TIME..]);
        LockId(bytes)
    }

    /// Its text, 64 hexadecimal digits, for the hidden field `lid`.
    pub fn reveal(&self) -> String {
        hex(&self.0)
    }

    /// The stored form: its SHA-256, prefixed with the creation time. A reader of the table cannot act as the holder. In a random
    /// order, each release would touch another page of the history's index.
    pub(crate) fn hash(&self) -> [u8; 32] {
        let mut hash: [u8; 32] = Sha256::digest(self.0).into();
        hash[..TIME].copy_from_slice(&self.0[..TIME]);
        hash
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
        from_hex(text).and_then(|bytes| bytes.try_into().ok()).map(LockId).ok_or(InvalidLockId)
    }
}

/// The text is not a lock id. The error does not repeat it: it may be a mistyped secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a lock id: a lock id has 64 hexadecimal digits; open the form again to get a lock")]
pub struct InvalidLockId;

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
    fn stored_lock_id_hashes_sort_by_creation_time() {
        let (older, newer) = (LockId([7; 32]), LockId([8; 32]));
        assert!(older.hash() < newer.hash());
        assert_eq!(older.hash()[..6], [7; 6]);
        assert_eq!(older.hash()[6..], Sha256::digest([7; 32])[6..]);
    }

    #[test]
    fn two_lock_ids_of_one_moment_have_26_bytes_that_differ() {
        let (one, other) = (LockId::random(), LockId::random());
        assert_ne!(one.0[6..], other.0[6..]);
        let now = SystemTime::UNIX_EPOCH.elapsed().expect("it is after 1970").as_millis();
        let made = one.0[..6].iter().fold(0, |made, byte| made << 8 | u128::from(*byte));
        assert!(made <= now && now - made < 60_000, "{made} at {now}");
    }

    #[test]
    fn lock_id_requires_64_hexadecimal_digits() {
        for text in ["", "abc", &"g".repeat(64), &"a".repeat(63), &"가".repeat(22), &format!("+{}", "a".repeat(63))] {
            assert_eq!(text.parse::<LockId>(), Err(InvalidLockId), "{text:?}");
        }
    }
}
