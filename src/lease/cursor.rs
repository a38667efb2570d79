//! The end of a page of a list, as a text for URLs. No I/O here.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::aggregate::value::{from_hex, hex};
use crate::lease::LockKey;

/// The position after the last entry of a page: pass it to the same list to get the next page.
///
/// It identifies an entry, not an offset, so entries that are added or removed meanwhile shift nothing: an entry that exists the
/// whole time is neither skipped nor shown twice. Its text is opaque, contains no secret, and grants no access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(pub(crate) Position);

/// The last entry of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Position {
    /// Of held leases: acquisition time, then key.
    Held { since: i64, key: LockKey, generation: i64 },
    /// Of ended leases of a key: the generation, and the hash of its lock id.
    Past { generation: i64, lock: Vec<u8> },
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Position::Held { since, key, generation } => {
                write!(f, "h-{since}-{generation}-{}-{}", hex(key.kind().as_bytes()), hex(key.id().as_bytes()))
            }
            Position::Past { generation, lock } => write!(f, "p-{generation}-{}", hex(lock)),
        }
    }
}

/// As its text.
impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        position(text).map(Cursor).ok_or(InvalidCursor)
    }
}

fn position(text: &str) -> Option<Position> {
    let parts: Vec<&str> = text.split('-').collect();
    match parts[..] {
        ["h", since, generation, kind, id] => {
            let text = |hex| String::from_utf8(from_hex(hex)?).ok();
            let key = LockKey::new(text(kind)?, text(id)?);
            let sound = key.problem().is_none();
            let position = Position::Held { since: since.parse().ok()?, key, generation: generation.parse().ok()? };
            Some(position).filter(|_| sound)
        }
        ["p", generation, lock] => {
            let lock = from_hex(lock).filter(|lock| lock.len() == 32)?;
            Some(Position::Past { generation: generation.parse().ok()?, lock })
        }
        _ => None,
    }
}

/// The text is not a cursor of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the text is not a cursor; begin with the first page")]
pub struct InvalidCursor;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_round_trips_as_url_text() {
        let key = LockKey::new("주문", "a b&c/d?e-f");
        for position in
            [Position::Held { since: 17, key, generation: 3 }, Position::Past { generation: 5, lock: vec![7; 32] }]
        {
            let text = Cursor(position.clone()).to_string();
            assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{text}");
            assert_eq!(text.parse(), Ok(Cursor(position)));
        }
    }

    #[test]
    fn invalid_cursor_is_refused() {
        let long = format!("p-1-{}", "0".repeat(62));
        for text in
            ["", "h", "h-1-2", "h-x-1-61-61", "h-1-1-6-61", "h-1-1--61", "h-1-1-zz-61", "p-1-", "p-1-가나", &long]
        {
            assert_eq!(text.parse::<Cursor>(), Err(InvalidCursor), "{text:?}");
        }
    }
}
