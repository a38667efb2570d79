//! The id of a form that was opened: it names the form in addresses, and makes sending it twice the same as sending it once.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

/// How many bytes in front tell when it was made, in milliseconds since 1970.
const TIME: usize = 6;

/// One form that somebody opened: 10 random bytes behind the moment in which it was made. It is no secret, and may stand in
/// an address: it is worth something only together with the browser's own [key](crate::browser_key::BrowserKey), and with
/// who is signed in.
///
/// The form carries it as the hidden field `form_id`. An application writes it in the transaction of the save (see
/// [`Update::also`](tenure::unit_of_work::Update::also)); when the same form comes again, the first save is the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FormId([u8; 16]);

impl FormId {
    /// A new one, from the operating system's random source.
    ///
    /// # Panics
    /// When the operating system has no randomness to give.
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX).to_be_bytes();
        bytes[..TIME].copy_from_slice(&millis[8 - TIME..]);
        FormId(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// When it was made, as lock ids have it in front.
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

/// Reads what `Display` writes.
impl FromStr for FormId {
    type Err = InvalidFormId;

    fn from_str(text: &str) -> Result<Self, InvalidFormId> {
        crate::hex(text).map(FormId).ok_or(InvalidFormId)
    }
}

/// Not the text of a form id.
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
    fn a_form_id_is_read_back_from_its_text() {
        let id = FormId::random();
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "0", &"0".repeat(31), &"0".repeat(33), &"g".repeat(32), &"가".repeat(11)] {
            assert_eq!(text.parse::<FormId>(), Err(InvalidFormId), "{text:?}");
        }
    }
}
