//! Access of the fuzz targets to private parsers. cargo-fuzz sets `--cfg fuzzing`; no other build has this module.

use crate::lease::{LockId, LockKey};

/// See `aggregate::value::any_text`.
pub fn stored_text(text: &str) {
    crate::aggregate::value::any_text::check(text);
}

/// The names of the settings in the URL of a database, decoded.
pub fn setting_names(url: &str) -> Vec<String> {
    crate::storage::setting_names(url)
}

/// The marks of a key: in a token, and in the name of a member of a set.
pub fn key_marks(key: &LockKey) -> ([u8; 8], Vec<u8>) {
    let secret: LockId = "07".repeat(32).parse().expect("64 digits");
    (crate::version::token::fingerprint(key), secret.of_member(key).hash().to_vec())
}
