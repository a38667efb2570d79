//! Signing in.

use argon2::Argon2;
use argon2::password_hash::PasswordVerifier;
use argon2::password_hash::phc::PasswordHash;
use tenure::Loaded;

use super::{Refusal, Shop};
use crate::domain::{Member, MemberId};

/// The hash of a password nobody has: checking it takes as long as checking a member's.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$dGVudXJlLW5vYm9keQ$8hWb4lQ4c8VJ1JpGm0e8g1nq2x0m6n3Fq5s1xJ0o7dE";

impl Shop {
    /// The member with this sign-in name, if the password is right. It takes as long whether or not there is one.
    pub async fn sign_in(&self, login: &str, password: &str) -> Result<Option<Member>, Refusal> {
        let member = match MemberId::new(login) {
            Ok(id) => self.members.get(&id).await?.map(Loaded::into_inner),
            Err(_) => None,
        };
        let password = password.to_owned();
        // Hashing takes a tenth of a second of a core: not on a thread that serves requests.
        let checked = tokio::task::spawn_blocking(move || {
            let hash = member.as_ref().map_or(NOBODY, Member::password_hash);
            let right = PasswordHash::new(hash)
                .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok());
            member.filter(|_| right)
        });
        checked.await.map_err(|error| tenure::DatabaseError::Other(std::sync::Arc::new(error)).into())
    }
}
