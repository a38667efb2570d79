//! A secret of one browser, from which the tokens of its forms and the lock ids of its leases are derived.
//!
//! It is stored in a cookie that scripts cannot read, and nowhere else: the server stores nothing. So a GET can render the
//! form of a lease that an earlier POST acquired, without the lock id in an address or a session; a form that was opened
//! before its owner signed in again still belongs to them; and reading a page writes nothing.
//!
//! It identifies no person. It must be out of reach of other sites and of scripts: `HttpOnly`, `SameSite=Lax`,
//! and over HTTPS `Secure` with the prefix `__Host-`, so that no other host can plant one.
//!
//! Without HTTPS another host, or a page on another port, can plant a cookie that it knows, and compute with it. So the key of a request
//! is derived from the cookie with a secret of the server: [`BrowserKey::under`]. The secret is the same in all processes and after
//! a restart, otherwise open forms would be refused.

use std::fmt;
use std::str::FromStr;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tenure::LockId;

use crate::csrf::CsrfToken;
use crate::form_id::FormId;

/// The secret of a browser. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct BrowserKey([u8; 32]);

impl BrowserKey {
    /// A new key, from the operating system's random source.
    ///
    /// # Panics
    /// If the operating system provides no randomness.
    pub fn random() -> Self {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        BrowserKey(bytes)
    }

    /// Parses a cookie; `None` if it is invalid.
    pub fn from_cookie(text: &str) -> Option<Self> {
        crate::hex(text).map(BrowserKey)
    }

    /// The key with this cookie on this server: who knows the cookie alone can compute nothing.
    ///
    /// ```
    /// use tenure_web::browser_key::{BrowserKey, ServerSecret};
    ///
    /// let (secret, cookie) = (ServerSecret::random(), BrowserKey::random());
    /// let key = cookie.under(&secret);
    /// assert_eq!(key, cookie.under(&secret));
    /// assert_ne!(key.csrf(Some("kim")), cookie.csrf(Some("kim")));
    /// ```
    #[must_use]
    pub fn under(&self, secret: &ServerSecret) -> BrowserKey {
        BrowserKey(hmac(&secret.0, |mac| {
            mac.update(b"browser key\0");
            mac.update(&self.0);
        }))
    }

    /// Its text, 64 hexadecimal digits, only for the cookie.
    pub fn reveal(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The CSRF token of this browser's forms, for this person or for nobody. Signing in again does not change it, so a form
    /// that was open meanwhile is accepted; another person has another token.
    pub fn csrf(&self, owner_id: Option<&str>) -> CsrfToken {
        let made = self.made("csrf", owner_id.is_some(), owner_id.unwrap_or_default(), &[]);
        CsrfToken::from_session(made.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The lock id of a form that this person opened in this browser: always the same, so that a reload,
    /// Back and a second window find the form's lease.
    pub fn lock_id(&self, owner_id: &str, form: FormId) -> LockId {
        let mut bytes = self.made("lock id", true, owner_id, form.bytes());
        // It begins with the creation time, like every lock id: see `LockId`.
        bytes[..form.time().len()].copy_from_slice(form.time());
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        text.parse().expect("32 bytes in hexadecimal digits are a lock id")
    }

    /// A pseudonym of this browser, valid for this person only, 64 hexadecimal digits, so that an application can recognise
    /// the browsers in which somebody has signed in. It reveals nothing about the key, and differs for every person.
    pub fn known_as(&self, owner_id: &str) -> String {
        self.made("known as", true, owner_id, &[]).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// HMAC-SHA-256 over the purpose, the person (length-prefixed to separate them), and the item.
    fn made(&self, purpose: &str, signed_in: bool, owner_id: &str, which: &[u8]) -> [u8; 32] {
        hmac(&self.0, |mac| {
            mac.update(purpose.as_bytes());
            mac.update(&[0, u8::from(signed_in)]);
            mac.update(&u64::try_from(owner_id.len()).unwrap_or(u64::MAX).to_be_bytes());
            mac.update(owner_id.as_bytes());
            mac.update(which);
        })
    }
}

fn hmac(key: &[u8; 32], text: impl FnOnce(&mut Hmac<Sha256>)) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    text(&mut mac);
    mac.finalize().into_bytes().into()
}

/// The secret of the server, for [`BrowserKey::under`]. `FromStr` reads what [`reveal`](Self::reveal) returns; `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerSecret([u8; 32]);

impl ServerSecret {
    /// A new secret, from the operating system's random source.
    ///
    /// # Panics
    /// If the operating system provides no randomness.
    pub fn random() -> Self {
        ServerSecret(BrowserKey::random().0)
    }

    /// Its text, 64 hexadecimal digits, for where the server keeps it.
    pub fn reveal(&self) -> String {
        BrowserKey(self.0).reveal()
    }
}

impl FromStr for ServerSecret {
    type Err = InvalidSecret;

    fn from_str(text: &str) -> Result<Self, InvalidSecret> {
        crate::hex(text).map(ServerSecret).ok_or(InvalidSecret)
    }
}

impl fmt::Debug for ServerSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerSecret(secret)")
    }
}

/// The text is not a secret of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidSecret;

impl fmt::Display for InvalidSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "this is not a secret of the server: one has 64 hexadecimal digits; delete it, and a new one is made",
        )
    }
}

impl std::error::Error for InvalidSecret {}

impl fmt::Debug for BrowserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrowserKey(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_person_form_and_browser_has_a_lock_id_of_its_own() {
        let (key, form) = (BrowserKey::random(), FormId::random());
        let id = key.lock_id("kim", form);
        assert_eq!(BrowserKey::from_cookie(&key.reveal()).expect("a key").lock_id("kim", form), id);
        assert_ne!(key.lock_id("lee", form), id);
        assert_ne!(key.lock_id("kim", FormId::random()), id);
        assert_ne!(BrowserKey::random().lock_id("kim", form), id);
    }

    #[test]
    fn secret_of_the_server_changes_all_that_a_cookie_gives() {
        let (secret, cookie, form) = (ServerSecret::random(), BrowserKey::random(), FormId::random());
        let key = cookie.under(&secret);
        assert_eq!(secret.reveal().parse::<ServerSecret>().map(|read| cookie.under(&read)), Ok(key.clone()));
        assert_ne!(cookie.under(&ServerSecret::random()), key);
        assert_ne!(key.csrf(Some("kim")), cookie.csrf(Some("kim")));
        assert_ne!(key.lock_id("kim", form), cookie.lock_id("kim", form));
        assert_eq!("no secret".parse::<ServerSecret>(), Err(InvalidSecret));
    }

    #[test]
    fn a_lock_id_begins_with_the_time_of_its_form() {
        let form = FormId::random();
        let id = BrowserKey::random().lock_id("kim", form).reveal();
        assert_eq!(id[..12], form.to_string()[..12]);
        assert_ne!(id[12..32], form.to_string()[12..]);
    }

    #[test]
    fn a_browser_has_another_name_for_each_person() {
        let key = BrowserKey::random();
        assert_eq!(key.known_as("kim"), key.known_as("kim"));
        assert_ne!(key.known_as("kim"), key.known_as("lee"));
        assert_ne!(key.known_as("kim"), BrowserKey::random().known_as("kim"));
        assert_ne!(key.known_as("kim"), key.csrf(Some("kim")).to_string());
    }

    #[test]
    fn signing_in_changes_the_token_and_signing_in_again_does_not() {
        let key = BrowserKey::random();
        assert_eq!(key.csrf(Some("kim")), key.csrf(Some("kim")));
        assert_ne!(key.csrf(Some("kim")), key.csrf(None));
        assert_ne!(key.csrf(Some("")), key.csrf(None));
        assert_ne!(key.csrf(Some("kim")), BrowserKey::random().csrf(Some("kim")));
        assert_eq!(BrowserKey::from_cookie("no key"), None);
    }
}
