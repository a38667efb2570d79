//! Signing in with a password, with rate limits.

use std::net::IpAddr;
use std::time::Duration;

use argon2::Argon2;
use argon2::password_hash::PasswordVerifier;
use argon2::password_hash::phc::PasswordHash;
use tenure::Loaded;

use super::sessions::NewSession;
use super::{Refusal, Shop};
use crate::domain::{Member, MemberId};
use crate::gate::{Guess, TooBusy};
use crate::storage;

/// The hash of an unused password: checking it takes as long as checking a member's.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$dGVudXJlLW5vYm9keQ$8hWb4lQ4c8VJ1JpGm0e8g1nq2x0m6n3Fq5s1xJ0o7dE";

/// How much of a name is logged.
const LOGGED: usize = 80;

/// How long a browser in which a member has signed in is known, in seconds: a hundred days.
pub(super) const BROWSER_KNOWN_FOR: i64 = 100 * 86_400;

/// A sign-in request.
#[derive(Debug, Clone, Copy)]
pub struct Knock<'a> {
    /// The sign-in name that was typed.
    pub login: &'a str,
    /// The password that was typed.
    pub password: &'a str,
    /// The client's address, if known.
    pub address: Option<IpAddr>,
    /// The browser's pseudonym for this member: see
    /// [`BrowserKey::known_as`](tenure_web::browser_key::BrowserKey::known_as).
    pub browser: &'a str,
    /// The user agent of the browser.
    pub agent: &'a str,
}

/// The result of a sign-in.
#[derive(Debug)]
pub enum SignIn {
    /// The member is signed in.
    Done(NewSession),
    /// Wrong name or password. It does not reveal whether the member exists.
    Wrong,
    /// Too many guesses: the next one is accepted after this time.
    TooMany(Duration),
    /// The server is busy. Nothing was checked.
    Busy,
}

/// The result of checking a password.
pub(super) enum Checked {
    Right,
    Wrong,
    TooMany(Duration),
    Busy,
}

impl Shop {
    /// Signs in. The duration and the response do not depend on whether the member exists.
    pub async fn sign_in(&self, knock: Knock<'_>) -> Result<SignIn, Refusal> {
        let account: String = knock.login.chars().take(LOGGED).collect();
        let address = knock.address.map(tracing::field::display);
        let since = self.clock.seconds() - BROWSER_KNOWN_FOR;
        let (member, is_known) = match MemberId::new(knock.login) {
            Ok(id) => (
                self.members.get(&id).await?.map(Loaded::into_inner),
                storage::knows_browser(&self.db, &account, knock.browser, since).await?,
            ),
            // An invalid name is not sent to the database: PostgreSQL has no text with NUL in it.
            Err(_) => (None, false),
        };
        // The password of the demo is no secret.
        let member = member.filter(|member| self.has_demo || !member.is_demo());
        let guess = Guess { account: &account, address: knock.address, known: is_known.then_some(knock.browser) };
        let hash = member.as_ref().map_or(NOBODY, Member::password_hash);
        match (self.check_password_of(&guess, hash, knock.password).await, member) {
            (Checked::Right, Some(member)) => {
                let session = self.begin_session(member, knock.browser, knock.agent).await?;
                tracing::info!(account = ?account, address, "signed in");
                Ok(SignIn::Done(session))
            }
            (Checked::Right | Checked::Wrong, _) => {
                tracing::warn!(account = ?account, address, "sign-in refused: the name and the password do not match");
                Ok(SignIn::Wrong)
            }
            (Checked::TooMany(wait), _) => {
                let wait_s = wait.as_secs();
                tracing::warn!(account = ?account, address, wait_s, "sign-in refused: too many guesses");
                Ok(SignIn::TooMany(wait))
            }
            (Checked::Busy, _) => {
                tracing::warn!(account = ?account, address, "sign-in refused: too many at the same time");
                Ok(SignIn::Busy)
            }
        }
    }

    /// Compares a password with a hash, if the rate limit admits a guess. A right one does not count.
    pub(super) async fn check_password_of(&self, guess: &Guess<'_>, hash: &str, password: &str) -> Checked {
        if let Err(wait) = self.gate.admit(guess, self.clock.now()) {
            return Checked::TooMany(wait);
        }
        let (hash, password) = (hash.to_owned(), password.to_owned());
        let is_right = self.gate.hashing.run(move || {
            let hash = PasswordHash::new(&hash);
            hash.is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
        });
        match is_right.await {
            Ok(true) => {
                self.gate.forgive(guess);
                Checked::Right
            }
            Ok(false) => Checked::Wrong,
            Err(TooBusy) => {
                self.gate.forgive(guess);
                Checked::Busy
            }
        }
    }
}
