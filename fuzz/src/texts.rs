//! Texts of forms, URLs and columns.

use std::fmt::Display;
use std::str::FromStr;

use tenure::aggregate::value::Decimal;
use tenure::lease::Cursor;
use tenure::{Aggregate, LockId, LockKey, Version, VersionToken};
use tenure_web::browser_key::BrowserKey;
use tenure_web::form_id::FormId;

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
}

/// Parses a text and writes it. The written text has the same value; with `exact` it is the same text.
fn round_trip<T: FromStr + Display + PartialEq>(text: &str, exact: bool) {
    let Ok(value) = text.parse::<T>() else { return };
    let written = value.to_string();
    assert!(written.parse::<T>().is_ok_and(|again| again == value), "{text:?} is written as {written:?}");
    assert!(!exact || written == text, "{text:?} is written as {written:?}");
}

/// Tokens, ids and cursors, as browsers and programs send them back.
pub fn tokens(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    round_trip::<Version>(text, true);
    round_trip::<VersionToken<Order>>(text, true);
    round_trip::<Cursor>(text, false);
    round_trip::<FormId>(text, false);
    round_trip::<Decimal>(text, true);
    if let Ok(token) = VersionToken::<Order>::from_etag(text) {
        assert_eq!(token.etag(), text);
    }
    if let Ok(id) = text.parse::<LockId>() {
        assert_eq!(id.reveal(), text.to_ascii_lowercase());
    }
    if let Some(key) = BrowserKey::from_cookie(text) {
        assert_eq!(key.reveal(), text.to_ascii_lowercase());
    }
}

/// Column values that a database returns as texts, and that may have been edited by hand.
pub fn stored_texts(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        tenure::fuzzing::stored_text(text);
    }
}

/// Names of settings in the URL of a database, parsed as the URL standard requires.
pub fn settings(data: &[u8]) {
    let Ok(query) = std::str::from_utf8(data) else { return };
    let read = tenure::fuzzing::setting_names(&format!("x://host/name?{query}"));
    let query = query.split_once('#').map_or(query, |(query, _)| query);
    let standard: Vec<_> = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name.into_owned()).collect();
    assert_eq!(read, standard);
}

/// Lock keys: two different keys have different marks, and the display of a key is one line.
pub fn keys(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut parts = text.splitn(4, '\0');
    let mut next = || parts.next().unwrap_or_default();
    let (one, other) = (LockKey::new(next(), next()), LockKey::new(next(), next()));
    assert_eq!(one == other, tenure::fuzzing::key_mark(&one) == tenure::fuzzing::key_mark(&other));
    assert!(!one.to_string().chars().any(char::is_control), "{one}");
}
