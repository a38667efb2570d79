//! Passwords: hashing, changing one's own, and the members created on the command line.

use std::time::Duration;

use argon2::Argon2;
use argon2::password_hash::PasswordHasher;
use tenure::error::{DatabaseError, UpdateError};

use super::sessions::{NewSession, SessionId};
use super::sign_in::Checked;
use super::{Refusal, Shop};
use crate::domain::{Member, MemberId, Role, WeakPassword, check_password};
use crate::gate::{Guess, TooBusy};
use crate::seed;
use crate::storage;

/// The result of a change of password.
#[derive(Debug)]
pub enum PasswordChange {
    /// It was changed, every session has ended, and this browser has a new one.
    Done(NewSession),
    /// The old password is wrong.
    WrongOld,
    /// The new one is refused.
    Weak(WeakPassword),
    /// It equals the old one.
    Same,
    /// Too many guesses at the old one: the next one is accepted after this time.
    TooMany(Duration),
    /// The server is busy. Nothing was changed.
    Busy,
}

/// The reason that no member was created, or no password was set.
#[derive(Debug, thiserror::Error)]
pub enum MemberRefusal {
    /// The password is refused.
    #[error(transparent)]
    Weak(#[from] WeakPassword),
    /// The member exists already.
    #[error(
        "there is a member with this name already; choose another one, or set a password with `shop member password`"
    )]
    Exists,
    /// The member does not exist.
    #[error("there is no member with this name; create one with `shop member add`")]
    Missing,
    /// The name is invalid.
    #[error(transparent)]
    Invalid(#[from] crate::domain::Invalid),
    /// The database failed.
    #[error(transparent)]
    Failed(#[from] tenure::Error),
}

impl Shop {
    /// Changes the member's own password; it requires the old one. The leases of the other sessions are released. `current` is the session in
    /// which it is changed; `browser` and `agent` as for [`Knock`](super::Knock).
    pub async fn change_password(
        &self,
        member: &Member,
        old: &str,
        new: &str,
        current: Option<&SessionId>,
        browser: &str,
        agent: &str,
    ) -> Result<PasswordChange, Refusal> {
        let account = member.id().as_str();
        if let Err(weak) = check_password(new, member.id(), member.name(), &[seed::DEMO_PASSWORD]) {
            return Ok(PasswordChange::Weak(weak));
        }
        // A person at an unattended screen gets as many guesses as anybody else.
        let guess = Guess { account, address: None, known: Some("change of password") };
        match self.check_password_of(&guess, member.password_hash(), old).await {
            Checked::Right => {}
            Checked::Wrong => {
                tracing::warn!(account = ?account, "change of password refused: the old one is wrong");
                return Ok(PasswordChange::WrongOld);
            }
            Checked::TooMany(wait) => return Ok(PasswordChange::TooMany(wait)),
            Checked::Busy => return Ok(PasswordChange::Busy),
        }
        if old == new {
            return Ok(PasswordChange::Same);
        }
        let new = new.to_owned();
        let hash = match self.gate.hashing.run(move || hashed(&new)).await {
            Ok(hash) => hash,
            Err(TooBusy) => return Ok(PasswordChange::Busy),
        };
        let others =
            self.sessions(member).await?.into_iter().filter(|other| current.is_none_or(|own| own.0 != other.id));
        match self.begin_again(member, &hash, browser, agent).await? {
            Some(session) => {
                for other in others {
                    self.release(member, &self.gate.open_forms.take(&other.id)).await;
                }
                tracing::info!(account = ?account, "password changed, signed out everywhere else");
                Ok(PasswordChange::Done(session))
            }
            // A concurrent change won the race; the typed old password is not the current one any more.
            None => Ok(PasswordChange::WrongOld),
        }
    }

    /// Creates a member. For the command line: access to the database is the permission.
    pub async fn add_member(&self, id: &str, name: &str, role: Role, password: &str) -> Result<Member, MemberRefusal> {
        let id = MemberId::new(id)?;
        check_password(password, &id, name, &[seed::DEMO_PASSWORD])?;
        let member = Member::new(id, name, role, hashed(password))?;
        let mut tx = self.db.begin().await.map_err(tenure::Error::from)?;
        match self.members.insert(&mut tx, member.clone()).await {
            Ok(_) => tx.commit().await?,
            Err(tenure::Error::AlreadyExists { .. }) => return Err(MemberRefusal::Exists),
            Err(error) => return Err(error.into()),
        }
        Ok(member)
    }

    /// Sets a member's password without the old one, signs them out everywhere, and releases their leases. For the command line.
    pub async fn set_password(&self, id: &str, password: &str) -> Result<(), MemberRefusal> {
        let id = MemberId::new(id)?;
        let member = self.members.get(&id).await?.ok_or(MemberRefusal::Missing)?;
        check_password(password, &id, member.name(), &[seed::DEMO_PASSWORD])?;
        let (db, of, hash) = (&self.db, id.as_str(), hashed(password));
        let update = self
            .members
            .update(&id)
            .command("set password")
            .also(|mut tx, _| async move { Ok(storage::delete_sessions(db, &mut tx, of).await?) });
        let set = |member: &mut Member| {
            member.change_password(hash.clone());
            Ok::<_, std::convert::Infallible>(())
        };
        match update.retrying(super::change_order::as_often_as_is_safe()).run(set).await {
            Ok(_) => {
                self.release_all(&id).await;
                Ok(())
            }
            Err(UpdateError::Failed(error)) => Err(error.into()),
            Err(UpdateError::Refused(never)) => match never {},
        }
    }

    /// Whether there is an account that can sign in.
    ///
    /// # Errors
    /// [`DatabaseError`] when the database failed.
    pub async fn has_members(&self) -> Result<bool, DatabaseError> {
        storage::has_members(&self.db).await
    }

    /// The sign-in names of the demo's members whose password is still the public one.
    ///
    /// # Errors
    /// [`DatabaseError`] when the database failed.
    pub async fn demo_members(&self) -> Result<Vec<String>, DatabaseError> {
        storage::demo_members(&self.db).await
    }
}

/// Takes a tenth of a second of a core.
pub(crate) fn hashed(password: &str) -> String {
    let hash = Argon2::default().hash_password(password.as_bytes()).map(|hash| hash.to_string());
    hash.expect("a password of a few hundred bytes is hashed")
}
