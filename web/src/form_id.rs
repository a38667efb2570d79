//! The id of an opened form: it identifies the form in addresses, and makes sending it idempotent.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use sha2::{Digest, Sha256};

/// Number of leading bytes with the creation time, in milliseconds since 1970.
const TIME: usize = 6;

/// The id of an opened form: the creation time, by which ids are ordered, then 10 random bytes. It is no secret, and may be part of
/// an address: it is useful only together with the browser's own [key](crate::browser_key::BrowserKey), and
/// the signed-in person.
///
/// The form carries it as the hidden field `form_id`. An application writes it in the transaction of the save (see
/// [`Update::also`](tenure::unit_of_work::Update::also)); if the same form is sent again, the first save is the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormId([u8; 16]);

impl FormId {
    /// A new id, from the operating system's random source.
    ///
    /// # Panics
    /// If the operating system provides no randomness.
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX).to_be_bytes();
        bytes[..TIME].copy_from_slice(&millis[8 - TIME..]);
        FormId(bytes)
    }

    /// The id of the form in which the text of this one goes on once this one has ended: always the same, so that a page that is drawn
    /// twice is one form. It has the creation time of this one, then bytes of its SHA-256.
    #[must_use]
    pub fn successor(&self) -> Self {
        let mut bytes = self.0;
        let digest = Sha256::digest(self.0);
        bytes[TIME..].copy_from_slice(&digest[TIME..self.0.len()]);
        FormId(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Its creation time, in the format that lock ids begin with.
    pub(crate) fn time(&self) -> &[u8] {
        &self.0[..TIME]
    }
}

/// 32 hexadecimal digits.
impl fmt::Display for FormId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Parses the output of `Display`.
impl FromStr for FormId {
    type Err = InvalidFormId;

    fn from_str(text: &str) -> Result<Self, InvalidFormId> {
        crate::hex(text).map(FormId).ok_or(InvalidFormId)
    }
}

/// The text is not a form id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidFormId;

impl fmt::Display for InvalidFormId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is not a form id: one has 32 hexadecimal digits; open the form again")
    }
}

impl std::error::Error for InvalidFormId {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_successor_of_a_form_is_always_the_same_and_no_other_form() {
        let id = FormId::random();
        assert_eq!(id.successor(), id.successor());
        assert_eq!(id.successor().time(), id.time());
        let ids = [id, id.successor(), id.successor().successor(), FormId::random().successor()];
        assert_eq!(std::collections::HashSet::from(ids).len(), ids.len());
    }

    #[test]
    fn a_form_id_is_read_back_from_its_text() {
        let id = FormId::random();
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "0", &"0".repeat(31), &"0".repeat(33), &"g".repeat(32), &"가".repeat(11)] {
            assert_eq!(text.parse::<FormId>(), Err(InvalidFormId), "{text:?}");
        }
    }
}
