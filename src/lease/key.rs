//! The key of a lock.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{NOT_PLAIN, Printable, is_plain};
use crate::aggregate::Aggregate;

/// The key of a lock: an aggregate's type and id. Both are compared byte by byte. Any script is allowed, up to the length limits,
/// but no control characters.
///
/// ```
/// use tenure::{Aggregate, LockKey};
///
/// #[derive(Aggregate)]
/// #[aggregate(table = "orders")]
/// struct Order { #[aggregate(id)] no: i64 }
///
/// assert_eq!(LockKey::of::<Order>(&1234), LockKey::new("Order", "1234"));
/// let no_aggregate = LockKey::new("Report", "2026-11"); // anything that has a name can be locked
/// assert_eq!(no_aggregate.to_string(), "Report 2026-11");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LockKey {
    kind: String,
    id: String,
}

impl LockKey {
    /// The maximum length of a type, in bytes.
    pub const MAX_TYPE_BYTES: usize = 255;
    /// The maximum length of an id, in bytes: 255 characters of any script fit.
    pub const MAX_ID_BYTES: usize = 1_024;

    /// The key of the aggregate with this type and id. The limits are checked when the key is used, see
    /// [`LockError::InvalidKey`](crate::error::LockError::InvalidKey).
    pub fn new(kind: impl Into<String>, id: impl Into<String>) -> Self {
        LockKey { kind: kind.into(), id: id.into() }
    }

    /// The key of a mapped aggregate: its name and the text of its id.
    pub fn of<A: Aggregate>(id: &A::Id) -> Self {
        LockKey::new(A::mapping().name.as_str(), id.to_string())
    }

    /// The aggregate's type, as in `Order`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The aggregate's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Why the key is invalid, if it is.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        if self.kind.is_empty() || self.id.is_empty() {
            return Some("type and id must not be empty");
        }
        if self.kind.len() > Self::MAX_TYPE_BYTES || self.id.len() > Self::MAX_ID_BYTES {
            return Some("the type may have 255 bytes and the id 1,024");
        }
        (!is_plain(&self.kind) || !is_plain(&self.id)).then_some(NOT_PLAIN)
    }
}

/// For messages: `Order 1234`. Non-printable characters are escaped.
impl fmt::Display for LockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Printable(&self.kind), Printable(&self.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_accept_any_script_but_not_empty_or_too_long() {
        assert_eq!(LockKey::new("주문", "가".repeat(255)).problem(), None);
        assert_eq!(LockKey::new("Order", "💐'; drop table \"x\" -- %_").problem(), None);
        for bad in [
            LockKey::new("", "1"),
            LockKey::new("Order", ""),
            LockKey::new("Order", "a".repeat(1_025)),
            LockKey::new("Order", "1\n2"),
            LockKey::new("\u{202e}", "1"),
        ] {
            assert!(bad.problem().is_some(), "{bad:?}");
        }
    }
}
