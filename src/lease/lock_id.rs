//! The secret that holds a lease.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::LockKey;

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

    /// The lock id of one member of a set that this secret holds. It tells nothing of the secret, nor of the other members.
    pub(crate) fn of_member(&self, key: &LockKey) -> LockId {
        let kind_bytes = u64::try_from(key.kind().len()).unwrap_or(u64::MAX).to_be_bytes();
        let member = Sha256::new().chain_update(b"tenure: member of a set of leases").chain_update(self.0);
        LockId(member.chain_update(kind_bytes).chain_update(key.kind()).chain_update(key.id()).finalize().into())
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
}
