//! A version that is bound to its aggregate, and travels through forms, headers and JSON.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::aggregate::version::Version;
use crate::aggregate::{Aggregate, Loaded};
use crate::lease::LockKey;

/// The version of one aggregate as a person saw it: a form carries it and sends it back.
///
/// It is bound to the aggregate's type by the compiler and to its id by a fingerprint, so a token of
/// another order is refused ([`Error::VersionTokenMismatch`](crate::Error::VersionTokenMismatch)) even if
/// the number matches. No token means "no check": a missing one is an error when it is parsed.
///
/// It is no secret and no credential: anybody who can guess an id can create one.
///
/// ```
/// # use tenure::{Aggregate, Version, VersionToken};
/// # #[derive(Aggregate)] #[aggregate(table = "orders")] struct Order { #[aggregate(id)] no: String }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let token = VersionToken::<Order>::new(&"1234".into(), Version::new(7)?);   // or `loaded.token()`
///
/// let hidden_field = token.to_string();                       // for example v7.5f2bc1db5b3d0aa4
/// assert_eq!(hidden_field.parse::<VersionToken<Order>>()?, token);
/// assert_eq!(VersionToken::<Order>::from_etag(&token.etag())?, token);
/// assert!(token.is_of(&"1234".into()) && !token.is_of(&"1235".into()));
/// assert!("7".parse::<VersionToken<Order>>().is_err());       // a bare number could be any order's
/// # Ok(()) }
/// ```
pub struct VersionToken<A> {
    version: Version,
    fingerprint: Fingerprint,
    aggregate: PhantomData<fn() -> A>,
}

/// The first 8 bytes of SHA-256 of type and id. Long enough that no two aggregates share it by accident.
pub(crate) type Fingerprint = [u8; 8];

pub(crate) fn fingerprint(key: &LockKey) -> Fingerprint {
    let mut hash = Sha256::new();
    // The length separates type and id.
    hash.update((key.kind().len() as u64).to_be_bytes());
    hash.update(key.kind());
    hash.update(key.id());
    let hash = hash.finalize();
    std::array::from_fn(|at| hash[at])
}

impl<A: Aggregate> VersionToken<A> {
    /// The token of an aggregate at a version.
    pub fn new(id: &A::Id, version: Version) -> Self {
        VersionToken { version, fingerprint: fingerprint(&LockKey::of::<A>(id)), aggregate: PhantomData }
    }

    /// Whether it belongs to the aggregate with this id.
    pub fn is_of(&self, id: &A::Id) -> bool {
        self.fingerprint == fingerprint(&LockKey::of::<A>(id))
    }
}

impl<A> VersionToken<A> {
    /// The version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// As a strong `ETag`, quotes included, for `ETag` and `If-Match` (RFC 9110, sections 8.8.3 and 13.1.1).
    pub fn etag(&self) -> String {
        format!("\"{self}\"")
    }

    /// Reads one entity tag from an `If-Match`.
    ///
    /// # Errors
    /// [`InvalidVersionToken`] for anything else; also for a weak tag (`W/"…"`), which never matches in `If-Match`, and
    /// for `*`, which would be no check.
    pub fn from_etag(text: &str) -> Result<Self, InvalidVersionToken> {
        let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        inner.ok_or_else(|| InvalidVersionToken::new(text))?.parse()
    }
}

impl<A: Aggregate> Loaded<A> {
    /// Its version as a token for forms, headers and JSON.
    pub fn token(&self) -> VersionToken<A> {
        VersionToken::new(self.id(), self.version())
    }
}

/// The form for hidden form fields: `v7.` and 16 hexadecimal digits. Safe in HTML, headers, URLs and JSON without escaping.
impl<A> fmt::Display for VersionToken<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.", self.version)?;
        self.fingerprint.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<A> FromStr for VersionToken<A> {
    type Err = InvalidVersionToken;

    fn from_str(text: &str) -> Result<Self, InvalidVersionToken> {
        let parts = text.strip_prefix('v').and_then(|text| text.split_once('.'));
        let (version, digits) = parts.ok_or_else(|| InvalidVersionToken::new(text))?;
        let hexadecimal = digits.len() == 16 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        let number = u64::from_str_radix(digits, 16).ok().filter(|_| hexadecimal);
        match (version.parse(), number) {
            (Ok(version), Some(number)) => {
                Ok(VersionToken { version, fingerprint: number.to_be_bytes(), aggregate: PhantomData })
            }
            _ => Err(InvalidVersionToken::new(text)),
        }
    }
}

/// The text is not a version token. Never treat it as "no version given": that would disable the check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a version token, as in `v7.5f2bc1db5b3d0aa4`; load the form again to get the current one")]
pub struct InvalidVersionToken(String);

impl InvalidVersionToken {
    fn new(text: &str) -> Self {
        InvalidVersionToken(text.chars().take(40).collect())
    }
}

/// As a string.
impl<A> Serialize for VersionToken<A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, A> Deserialize<'de> for VersionToken<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The version that a save expects: a token from a form, or a bare [`Version`] from code where it
/// cannot belong to another aggregate.
pub struct Expected<A> {
    pub(crate) version: Version,
    pub(crate) fingerprint: Option<Fingerprint>,
    aggregate: PhantomData<fn() -> A>,
}

impl<A> From<Version> for Expected<A> {
    fn from(version: Version) -> Self {
        Expected { version, fingerprint: None, aggregate: PhantomData }
    }
}

impl<A> From<VersionToken<A>> for Expected<A> {
    fn from(token: VersionToken<A>) -> Self {
        Expected { version: token.version, fingerprint: Some(token.fingerprint), aggregate: PhantomData }
    }
}

impl<A> From<&VersionToken<A>> for Expected<A> {
    fn from(token: &VersionToken<A>) -> Self {
        (*token).into()
    }
}

impl<A> Expected<A> {
    /// Whether it can belong to this aggregate.
    pub(crate) fn fits(&self, key: &LockKey) -> bool {
        self.fingerprint.is_none_or(|ours| ours == fingerprint(key))
    }
}

// Derived implementations would require the same of `A`, which is only a marker.
impl<A> Clone for VersionToken<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for VersionToken<A> {}

impl<A> PartialEq for VersionToken<A> {
    fn eq(&self, other: &Self) -> bool {
        (self.version, self.fingerprint) == (other.version, other.fingerprint)
    }
}

impl<A> Eq for VersionToken<A> {}

impl<A> fmt::Debug for VersionToken<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VersionToken({self})")
    }
}

impl<A> Clone for Expected<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Expected<A> {}

impl<A> fmt::Debug for Expected<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expected({})", self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Aggregate;

    struct Anything;

    type Token = VersionToken<Anything>;

    #[test]
    fn invalid_token_is_refused() {
        for text in
            ["", "7", "v7", "v7.", "v-1.5f2bc1db5b3d0aa4", "v7.5F2BC1DB5B3D0AA4", "v7.5f2b", "v7.+f2bc1db5b3d0aa4"]
        {
            assert!(text.parse::<Token>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_token_is_written_as_it_is_read() {
        let text = "v7.00bc1db5b3d0aa4f";
        let token: Token = text.parse().expect("a token");
        assert_eq!((token.version().number(), token.to_string()), (7, text.to_owned()));
        assert_eq!((token.etag(), format!("{token:?}")), (format!("\"{text}\""), format!("VersionToken({text})")));
        assert!(Token::from_etag(&token.etag()).is_ok_and(|read| read == token));
        let json = serde_json::to_string(&token).expect("JSON");
        assert_eq!(json, format!("\"{text}\""));
        assert!(serde_json::from_str::<Token>(&json).is_ok_and(|read| read == token));
        assert!(serde_json::from_str::<Token>("\"v7\"").is_err());
        for other in ["v8.00bc1db5b3d0aa4f", "v7.00bc1db5b3d0aa4e"] {
            assert!(token != other.parse().expect("a token"), "{other}");
        }
    }

    #[derive(Aggregate)]
    #[aggregate(table = "orders")]
    struct Order {
        #[aggregate(id)]
        no: String,
    }

    #[test]
    fn a_token_is_of_one_id() {
        let order = Order { no: "1".into() };
        let token = VersionToken::<Order>::new(&order.no, Version::FIRST);
        assert_eq!((token.is_of(&"1".into()), token.is_of(&"2".into())), (true, false));
    }

    #[test]
    fn a_token_fits_its_aggregate_and_a_version_any() {
        let (mine, other) = (LockKey::new("Order", "1"), LockKey::new("Order", "2"));
        let token = Token { version: Version::FIRST, fingerprint: fingerprint(&mine), aggregate: PhantomData };
        for expected in [Expected::from(token), Expected::from(&token)] {
            assert_eq!((expected.fits(&mine), expected.fits(&other)), (true, false));
            assert_eq!((expected.version, format!("{expected:?}")), (Version::FIRST, "Expected(1)".to_owned()));
        }
        assert!(Expected::<Anything>::from(Version::FIRST).fits(&other));
    }

    #[test]
    fn a_refused_text_is_cut_for_the_message() {
        let refused = "x".repeat(50).parse::<Token>().expect_err("no token").to_string();
        assert!(refused.starts_with(&format!("`{}` is not a version token", "x".repeat(40))), "{refused}");
    }

    #[test]
    fn only_one_strong_entity_tag_is_a_precondition() {
        assert!(Token::from_etag("\"v7.5f2bc1db5b3d0aa4\"").is_ok());
        for text in ["*", "W/\"v7.5f2bc1db5b3d0aa4\"", "v7.5f2bc1db5b3d0aa4", "\"", "\"\""] {
            assert!(Token::from_etag(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn type_and_id_do_not_run_into_each_other() {
        assert_ne!(fingerprint(&LockKey::new("Order", "1")), fingerprint(&LockKey::new("Orde", "r1")));
    }
}
