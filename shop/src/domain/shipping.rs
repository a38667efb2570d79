//! The delivery address of an order.

use tenure::ValueObject;

use super::text::{
    Invalid, NAME_MAX, Problem, check_line, check_optional_line, check_paragraphs, with_plain_line_breaks,
};

/// The receiver, the address and the message to the courier, validated together: a
/// [`Receiver`] or an [`Address`] alone is unvalidated input.
#[derive(Debug, Clone, PartialEq, Eq, ValueObject)]
pub struct ShippingInfo {
    receiver: Receiver,
    address: Address,
    message: String,
}

/// The receiver of the parcel.
#[derive(Debug, Clone, PartialEq, Eq, ValueObject)]
pub struct Receiver {
    /// The name on the door.
    pub name: String,
    /// The phone number for the courier.
    pub phone: String,
}

/// A postal address, in Korea or abroad.
#[derive(Debug, Clone, PartialEq, Eq, ValueObject)]
pub struct Address {
    /// `06236` in Korea; `SW1A 1AA` or `94103` elsewhere.
    pub postal_code: String,
    /// Road and number.
    pub line1: String,
    /// Building, floor, room; may be empty.
    pub line2: String,
}

impl ShippingInfo {
    /// The maximum length of an address line, in characters.
    pub const LINE_MAX: usize = 200;
    /// The maximum length of the message to the courier, in characters.
    pub const MESSAGE_MAX: usize = 500;

    /// The trimmed input, if all of it is valid.
    ///
    /// # Errors
    /// Every invalid field, in the order of the form, so that a person can correct them all at once.
    pub fn new(receiver: Receiver, address: Address, message: &str) -> Result<ShippingInfo, Vec<Invalid>> {
        let info = ShippingInfo {
            receiver: Receiver { name: trimmed(&receiver.name), phone: trimmed(&receiver.phone) },
            address: Address {
                postal_code: trimmed(&address.postal_code),
                line1: trimmed(&address.line1),
                line2: trimmed(&address.line2),
            },
            message: trimmed(&with_plain_line_breaks(message)),
        };
        let checks = [
            ("receiver.name", check_line(&info.receiver.name, NAME_MAX)),
            ("receiver.phone", check_phone(&info.receiver.phone)),
            ("address.postal_code", check_postal_code(&info.address.postal_code)),
            ("address.line1", check_line(&info.address.line1, Self::LINE_MAX)),
            ("address.line2", check_optional_line(&info.address.line2, Self::LINE_MAX)),
            ("message", check_paragraphs(&info.message, Self::MESSAGE_MAX)),
        ];
        let problems = checks.into_iter().filter_map(|(field, check)| Some(Invalid { field, problem: check.err()? }));
        match problems.collect::<Vec<_>>() {
            none if none.is_empty() => Ok(info),
            problems => Err(problems),
        }
    }

    /// A copy in which the parts that `is_chosen` selects, by their names in [`Invalid::field`], are taken from
    /// `other`.
    pub fn with(&self, other: &ShippingInfo, is_chosen: impl Fn(&str) -> bool) -> ShippingInfo {
        let part = |name, of: fn(&ShippingInfo) -> &str| of(if is_chosen(name) { other } else { self }).to_owned();
        ShippingInfo {
            receiver: Receiver {
                name: part("receiver.name", |info| &info.receiver.name),
                phone: part("receiver.phone", |info| &info.receiver.phone),
            },
            address: Address {
                postal_code: part("address.postal_code", |info| &info.address.postal_code),
                line1: part("address.line1", |info| &info.address.line1),
                line2: part("address.line2", |info| &info.address.line2),
            },
            message: part("message", |info| &info.message),
        }
    }

    /// The receiver.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// The address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The message to the courier; may be empty.
    pub fn message(&self) -> &str {
        &self.message
    }
}

fn trimmed(text: &str) -> String {
    text.trim().to_owned()
}

/// Digits, optionally grouped and with a country code. No country's numbering plan, because those change.
fn check_phone(phone: &str) -> Result<(), Problem> {
    if phone.is_empty() {
        return Err(Problem::Empty);
    }
    let number = phone.strip_prefix('+').unwrap_or(phone);
    let digits = number.chars().filter(char::is_ascii_digit).count();
    // 15 digits are the longest international number (E.164); the same number of separators is enough.
    let fits = (7..=15).contains(&digits) && number.len() <= 30;
    match fits && number.chars().all(|c| c.is_ascii_digit() || " -.()".contains(c)) {
        true => Ok(()),
        false => Err(Problem::NotAPhoneNumber),
    }
}

/// 3 to 10 letters and digits, at least one of them a digit, optionally with a space or hyphen inside.
fn check_postal_code(code: &str) -> Result<(), Problem> {
    if code.is_empty() {
        return Err(Problem::Empty);
    }
    let fits = (3..=10).contains(&code.len()) && code.contains(|c: char| c.is_ascii_digit());
    let ends = code.starts_with([' ', '-']) || code.ends_with([' ', '-']);
    match fits && !ends && code.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ' || c == '-') {
        true => Ok(()),
        false => Err(Problem::NotAPostalCode),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(fields: [&str; 6]) -> Result<ShippingInfo, Vec<Invalid>> {
        let [name, phone, postal_code, line1, line2, message] = fields.map(str::to_owned);
        ShippingInfo::new(Receiver { name, phone }, Address { postal_code, line1, line2 }, &message)
    }

    fn problem_with(field: &str, fields: [&str; 6]) -> Option<Problem> {
        typed(fields).err()?.into_iter().find(|invalid| invalid.field == field).map(|invalid| invalid.problem)
    }

    #[test]
    fn surrounding_white_space_is_trimmed() {
        let info = typed([" 김민지 ", " 010-0000-1234", "06236 ", " 테헤란로 1\t", "", " 문 앞에\r\n놓아 주세요 "]);
        assert_eq!(info, typed(["김민지", "010-0000-1234", "06236", "테헤란로 1", "", "문 앞에\n놓아 주세요"]));
        assert_eq!(info.expect("valid").message(), "문 앞에\n놓아 주세요");
    }

    #[test]
    fn every_wrong_field_is_named_at_once() {
        let long = "a".repeat(501);
        let problems = typed(["", "call me", "?", " ", &long, &long]).expect_err("nothing is right");
        assert_eq!(
            problems.iter().map(|invalid| (invalid.field, invalid.problem)).collect::<Vec<_>>(),
            [
                ("receiver.name", Problem::Empty),
                ("receiver.phone", Problem::NotAPhoneNumber),
                ("address.postal_code", Problem::NotAPostalCode),
                ("address.line1", Problem::Empty),
                ("address.line2", Problem::TooLong { max: 200 }),
                ("message", Problem::TooLong { max: 500 }),
            ]
        );
    }

    #[test]
    fn a_phone_number_has_7_to_15_digits() {
        let problem = |phone| problem_with("receiver.phone", ["Emma", phone, "06236", "1 Road", "", ""]);
        for phone in ["010-0000-1234", "01000001234", "+82 10 0000 1234", "+1 (415) 555-0100", "02.000.1234"] {
            assert_eq!(problem(phone), None, "{phone}");
        }
        for phone in
            ["123456", "1234567890123456", "010-0000-12a4", "82+1000001234", "0-------1 0-------2 0-------3 4567"]
        {
            assert_eq!(problem(phone), Some(Problem::NotAPhoneNumber), "{phone}");
        }
        assert_eq!(problem(""), Some(Problem::Empty));
    }

    #[test]
    fn a_postal_code_may_be_korean_or_foreign() {
        let problem = |code| problem_with("address.postal_code", ["Emma", "010-0000-1234", code, "1 Road", "", ""]);
        for code in ["06236", "SW1A 1AA", "94103", "94103-1234", "V6B 0A0", "101"] {
            assert_eq!(problem(code), None, "{code}");
        }
        for code in ["12", "Seoul", "06236!", "-06236", "１２３４５", "12345678901"] {
            assert_eq!(problem(code), Some(Problem::NotAPostalCode), "{code}");
        }
        assert_eq!(problem(" "), Some(Problem::Empty));
    }
}
