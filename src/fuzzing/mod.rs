//! Access of the fuzz targets to private parsers. cargo-fuzz sets `--cfg fuzzing`; no other build has this module.

use crate::lease::LockKey;

/// See `aggregate::value::any_text`.
pub fn stored_text(text: &str) {
    crate::aggregate::value::any_text::check(text);
}

/// The names of the settings in the URL of a database, decoded.
pub fn setting_names(url: &str) -> Vec<String> {
    crate::db::setting_names(url)
}

/// The mark of a key in a token.
pub fn key_mark(key: &LockKey) -> [u8; 8] {
    crate::version::token::fingerprint(key)
}
