//! Signing in: with a password, as often as guessing allows.

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

/// The hash of a password nobody has: checking it takes as long as checking a member's.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$dGVudXJlLW5vYm9keQ$8hWb4lQ4c8VJ1JpGm0e8g1nq2x0m6n3Fq5s1xJ0o7dE";

/// How much of a name stands in the log.
const LOGGED: usize = 80;

/// For so long a browser is known in which a member has signed in, in seconds: a hundred days.
pub(super) const BROWSER_KNOWN_FOR: i64 = 100 * 86_400;

/// Somebody who asks to be let in.
#[derive(Debug, Clone, Copy)]
pub struct Knock<'a> {
    /// The sign-in name that was typed.
    pub login: &'a str,
    /// The password that was typed.
    pub password: &'a str,
    /// Where from, if that is known.
    pub address: Option<IpAddr>,
    /// The name that the browser has for this member: see
    /// [`BrowserKey::known_as`](tenure_web::browser_key::BrowserKey::known_as).
    pub browser: &'a str,
    /// What the browser says of itself.
    pub agent: &'a str,
}

/// What became of it.
#[derive(Debug)]
pub enum SignIn {
    /// They are in.
    Done(NewSession),
    /// The name and the password do not belong together. Whether there is such a member, nobody learns.
    Wrong,
    /// Too many guesses: the next one is looked at after this time.
    TooMany(Duration),
    /// Too much is going on. Nothing was looked at.
    Busy,
}

/// What became of checking a password.
pub(super) enum Checked {
    Right,
    Wrong,
    TooMany(Duration),
    Busy,
}

impl Shop {
    /// Signs in. It takes as long, and answers the same, whether or not there is such a member.
    pub async fn sign_in(&self, knock: Knock<'_>) -> Result<SignIn, Refusal> {
        let account: String = knock.login.chars().take(LOGGED).collect();
        let address = knock.address.map(tracing::field::display);
        let since = self.clock.seconds() - BROWSER_KNOWN_FOR;
        let (member, is_known) = match MemberId::new(knock.login) {
            Ok(id) => (
                self.members.get(&id).await?.map(Loaded::into_inner),
                storage::knows_browser(&self.db, &account, knock.browser, since).await?,
            ),
            // No database is asked for what no name can be: PostgreSQL has no text with NUL in it.
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

    /// Compares a password with a hash, if there may be another guess. One that is right does not count.
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
