//! Validation of owners.

use super::{NOT_PLAIN, Owner, Printable, is_plain};

/// An invalid owner, who cannot hold, request or end a lock: the id is empty, or the id or name exceeds the limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid lock owner `{}`: {problem}; give the id by which the application knows them", Printable(owner))]
pub struct InvalidOwner {
    /// The owner's id, cut to a readable length.
    pub owner: String,
    /// Why the owner is invalid.
    pub problem: &'static str,
}

impl Owner {
    /// The maximum length of an owner's id, in bytes.
    pub const MAX_ID_BYTES: usize = 255;
    /// The maximum length of a name, in characters of any script.
    pub const MAX_NAME_CHARS: usize = 255;

    /// Whether the owner is valid.
    pub(crate) fn check(&self) -> Result<(), InvalidOwner> {
        let problem = match self {
            Owner { id, .. } if id.is_empty() => "the id is empty",
            Owner { id, .. } if id.len() > Self::MAX_ID_BYTES => "the id has more than 255 bytes",
            Owner { name, .. } if name.chars().nth(Self::MAX_NAME_CHARS).is_some() => {
                "the name has more than 255 characters"
            }
            Owner { role: Some(role), .. } if role.chars().nth(Self::MAX_NAME_CHARS).is_some() => {
                "the role has more than 255 characters"
            }
            Owner { id, name, role } if [id, name].into_iter().chain(role).any(|text| !is_plain(text)) => NOT_PLAIN,
            _ => return Ok(()),
        };
        Err(InvalidOwner { owner: self.id.chars().take(60).collect(), problem })
    }
}

/// The id in a form that any database accepts. An invalid id becomes one that is longer than any valid id, because some databases
/// reject some texts, and a rejected one would fail the other requests of its batch.
pub(crate) fn askable(owner_id: &str) -> String {
    match Owner::new(owner_id, "").check() {
        Ok(()) => owner_id.to_owned(),
        Err(_) => "?".repeat(Owner::MAX_ID_BYTES + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_an_id_and_both_texts_are_bounded() {
        assert_eq!(Owner::new("i".repeat(255), "가".repeat(255)).check(), Ok(()));
        assert_eq!(Owner::new("job 7", "").check(), Ok(()));
        for (id, name) in [
            ("", "Kim"),
            (&*"i".repeat(256), "Kim"),
            ("kim", &*"가".repeat(256)),
            ("k\0", "Kim"),
            ("k", "\0"),
            ("k", "Kim\n"),
            ("k\u{1b}", "Kim"),
        ] {
            assert!(Owner::new(id, name).check().is_err(), "{id:?} {name:?}");
        }
    }

    #[test]
    fn invalid_owner_id_owns_nothing() {
        assert_eq!(askable("김"), "김");
        for id in ["", "kim\0", &"k".repeat(300)] {
            assert!(Owner::new(askable(id), "").check().is_err());
        }
    }
}
