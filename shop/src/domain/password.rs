//! The rules of passwords: long, and not the name. There are no rules about kinds of characters, and no expiry.

use super::MemberId;

/// The minimum length, in characters. Guesses are rate-limited, so that is enough for years.
const SHORTEST: usize = 12;

/// The maximum length: enough for sentences, and it bounds the work of hashing.
const LONGEST: usize = 256;

/// The minimum length without the names of the member.
const LEFT_WITHOUT_NAME: usize = 8;

/// The minimum number of different characters.
const DIFFERENT: usize = 5;

/// The reason that a password is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeakPassword {
    /// Too few characters.
    #[error("a password has at least {min} characters; a short sentence is a good one")]
    TooShort {
        /// The minimum.
        min: usize,
    },
    /// Too many characters.
    #[error("a password has at most {max} characters; shorten it")]
    TooLong {
        /// The maximum.
        max: usize,
    },
    /// Little but the name of the member.
    #[error("the password is little more than the name; choose something that nobody would try first")]
    IsName,
    /// A repetition of few characters, or a publicly known password.
    #[error("the password is one of the first that somebody would try; choose another one")]
    Guessable,
}

/// Checks a password for a member with these names. `public` are publicly known passwords.
///
/// # Errors
/// [`WeakPassword`], with the required change.
pub fn check_password(password: &str, id: &MemberId, name: &str, public: &[&str]) -> Result<(), WeakPassword> {
    let length = password.chars().count();
    if length < SHORTEST {
        return Err(WeakPassword::TooShort { min: SHORTEST });
    }
    if length > LONGEST {
        return Err(WeakPassword::TooLong { max: LONGEST });
    }
    let plain = password.to_lowercase();
    let names = [id.as_str().to_lowercase(), name.to_lowercase()];
    let rest =
        names.iter().filter(|name| !name.trim().is_empty()).fold(plain.clone(), |rest, name| rest.replace(name, ""));
    if rest.chars().count() < LEFT_WITHOUT_NAME {
        return Err(WeakPassword::IsName);
    }
    let mut different: Vec<_> = plain.chars().collect();
    different.sort_unstable();
    different.dedup();
    let is_public = public.iter().any(|public| plain.trim() == public.to_lowercase());
    if different.len() < DIFFERENT || is_public { Err(WeakPassword::Guessable) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(password: &str) -> Result<(), WeakPassword> {
        check_password(password, &MemberId::new("minji").expect("an id"), "김민지", &["Open sesame!"])
    }

    #[test]
    fn a_password_is_long_and_not_the_name() {
        assert_eq!(check("파란 자전거 세 대가 간다"), Ok(()));
        assert_eq!(check(&"한글비번".repeat(2)), Err(WeakPassword::TooShort { min: 12 }));
        assert_eq!(check(&"abcde".repeat(52)), Err(WeakPassword::TooLong { max: 256 }));
        assert_eq!(check("Minji-Minji-2026"), Err(WeakPassword::IsName));
        assert_eq!(check("김민지김민지김민지김민지"), Err(WeakPassword::IsName));
        assert_eq!(check("open SESAME!"), Err(WeakPassword::Guessable));
        assert_eq!(check("abababababab"), Err(WeakPassword::Guessable));
    }
}
