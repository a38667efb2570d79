//! Members: the people who sign in.

use std::fmt;
use std::str::FromStr;

use tenure::{Aggregate, ValueObject};

use super::text::{Invalid, NAME_MAX, check_line};

/// The name a person signs in with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, ValueObject)]
pub struct MemberId(String);

impl MemberId {
    /// The maximum length of a sign-in name, in characters.
    pub const MAX: usize = 64;

    /// The sign-in name, if it is valid.
    ///
    /// # Errors
    /// [`Invalid`] if it is empty or only white space, too long, or contains control characters.
    pub fn new(id: impl Into<String>) -> Result<MemberId, Invalid> {
        let id = id.into();
        match check_line(&id, Self::MAX) {
            Ok(()) => Ok(MemberId(id)),
            Err(problem) => Err(Invalid { field: "member_id", problem }),
        }
    }

    /// The sign-in name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for MemberId {
    type Err = Invalid;

    fn from_str(id: &str) -> Result<MemberId, Invalid> {
        MemberId::new(id)
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The role of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueObject)]
pub enum Role {
    /// Sees and changes the orders they placed.
    Customer,
    /// Sees every order, ships it, and writes notes on it.
    Operator,
}

/// A person who signs in.
#[derive(Clone, PartialEq, Eq, Aggregate)]
#[aggregate(table = "member")]
pub struct Member {
    #[aggregate(id)]
    id: MemberId,
    name: String,
    role: Role,
    password_hash: String,
    epoch: i64,
    demo: bool,
}

impl Member {
    /// The epoch of a new member.
    const FIRST_EPOCH: i64 = 1;

    /// A new member. The password is hashed elsewhere; the domain treats the hash as any text.
    ///
    /// # Errors
    /// [`Invalid`] about the name.
    pub fn new(
        id: MemberId,
        name: impl Into<String>,
        role: Role,
        password_hash: impl Into<String>,
    ) -> Result<Member, Invalid> {
        let name = name.into().trim().to_owned();
        match check_line(&name, NAME_MAX) {
            Ok(()) => Ok(Member {
                id,
                name,
                role,
                password_hash: password_hash.into(),
                epoch: Self::FIRST_EPOCH,
                demo: false,
            }),
            Err(problem) => Err(Invalid { field: "name", problem }),
        }
    }

    /// The name they sign in with.
    pub fn id(&self) -> &MemberId {
        &self.id
    }

    /// The name others see.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Their role.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Whether they are an operator.
    pub fn is_operator(&self) -> bool {
        self.role == Role::Operator
    }

    /// The hash of their password.
    pub fn password_hash(&self) -> &str {
        &self.password_hash
    }

    /// The epoch of the account: a session belongs to the epoch in which it began.
    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Whether the password is the public one of the demo, which is accepted only in the demo.
    pub fn is_demo(&self) -> bool {
        self.demo
    }

    /// The same member, with the public password of the demo.
    #[must_use]
    pub fn of_the_demo(self) -> Member {
        Member { demo: true, ..self }
    }

    /// Ends every session of the member.
    pub fn begin_epoch(&mut self) {
        self.epoch = self.epoch.saturating_add(1);
    }

    /// Sets another password, hashed elsewhere. It belongs to the member alone, and every session of the old one ends.
    pub fn change_password(&mut self, password_hash: impl Into<String>) {
        self.password_hash = password_hash.into();
        self.demo = false;
        self.begin_epoch();
    }
}

/// Omits the password hash, because debug output ends up in logs.
impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut member = f.debug_struct("Member");
        member.field("id", &self.id).field("name", &self.name).field("role", &self.role).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Problem;

    fn member(name: &str, role: Role) -> Result<Member, Invalid> {
        Member::new(MemberId::new("minji").expect("an id"), name, role, "$argon2id$secret")
    }

    #[test]
    fn a_sign_in_name_has_at_most_64_characters() {
        assert_eq!(MemberId::new("미".repeat(64)).expect("an id").to_string(), "미".repeat(64));
        let refused = MemberId::new("미".repeat(65)).expect_err("too long");
        assert_eq!(refused.to_string(), "`member_id` is longer than 64 characters; shorten it");
        assert_eq!("\t".parse::<MemberId>().expect_err("empty").problem, Problem::Empty);
    }

    #[test]
    fn a_member_has_a_name() {
        assert_eq!(member(" 김민지 ", Role::Customer).expect("a member").name(), "김민지");
        assert_eq!(member(" ", Role::Customer), Err(Invalid { field: "name", problem: Problem::Empty }));
    }

    #[test]
    fn another_password_is_the_members_own_and_begins_an_epoch() {
        let mut minji = member("김민지", Role::Customer).expect("a member").of_the_demo();
        let before = minji.epoch();
        minji.change_password("$argon2id$other");
        assert_eq!((minji.password_hash(), minji.is_demo()), ("$argon2id$other", false));
        assert!(minji.epoch() > before);
    }

    #[test]
    fn only_operators_work_here() {
        assert!(member("박서연", Role::Operator).expect("a member").is_operator());
        assert!(!member("김민지", Role::Customer).expect("a member").is_operator());
    }

    #[test]
    fn the_password_hash_is_never_printed() {
        assert_eq!(
            format!("{:?}", member("김민지", Role::Customer).expect("a member")),
            r#"Member { id: MemberId("minji"), name: "김민지", role: Customer, .. }"#
        );
    }
}
