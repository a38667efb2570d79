//! UUIDs as text.

use std::fmt;

/// The positions of the hyphens: before these bytes.
const HYPHENS: [usize; 4] = [4, 6, 8, 10];

pub(super) fn write(bytes: &[u8; 16], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, byte) in bytes.iter().enumerate() {
        let hyphen = if HYPHENS.contains(&at) { "-" } else { "" };
        write!(f, "{hyphen}{byte:02x}")?;
    }
    Ok(())
}

/// With hyphens or without, in digits of either case.
pub(super) fn parse(text: &str) -> Result<[u8; 16], String> {
    let parsed = || {
        let hyphenated = text.len() == 36 && [8, 13, 18, 23].iter().all(|&at| text.as_bytes()[at] == b'-');
        let digits: Vec<u32> = match hyphenated {
            true => text.chars().filter(|&c| c != '-').map(|c| c.to_digit(16)).collect::<Option<_>>()?,
            false => text.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?,
        };
        let bytes: Vec<u8> =
            digits.chunks_exact(2).filter_map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok()).collect();
        bytes.try_into().ok().filter(|_| digits.len() == 32)
    };
    parsed().ok_or_else(|| format!("`{text}` is no UUID, written `6ccd780c-baba-1026-9564-5b8c656024db`"))
}

/// As databases return it: 16 bytes, or text.
#[cfg(any(test, feature = "sqlite", feature = "mysql"))]
pub(super) fn from_stored(stored: &[u8]) -> Result<[u8; 16], String> {
    match (stored.try_into(), std::str::from_utf8(stored)) {
        (Ok(bytes), _) => Ok(bytes),
        (_, Ok(text)) => parse(text),
        _ => Err(format!("{} bytes are no UUID, which has 16", stored.len())),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::aggregate::value::Value;

    #[test]
    fn a_uuid_is_read_with_and_without_hyphens_and_shown_with_them() {
        let text = "6ccd780c-baba-1026-9564-5b8c656024db";
        for spelling in [text, "6ccd780cbaba102695645b8c656024db", "6CCD780C-BABA-1026-9564-5B8C656024DB"] {
            assert_eq!(Value::Uuid(parse(spelling).unwrap()).to_string(), text);
        }
        assert_eq!(from_stored(text.as_bytes()), parse(text));
        assert_eq!(from_stored(&[7; 16]), Ok([7; 16]));
    }

    #[test]
    fn invalid_uuid_is_refused() {
        let long = "6ccd780c-baba-1026-9564-5b8c656024db0";
        for text in ["", "6ccd780c", "6ccd780cbaba-1026-9564-5b8c656024db", "zccd780cbaba102695645b8c656024db", long] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("6ccd780c-baba-1026-9564-5b8c65602-db").is_err());
        assert!(from_stored(&[255; 15]).is_err());
    }
}
