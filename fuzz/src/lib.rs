//! Properties of the parsers for any outside input: one function for each fuzz target. `cargo xtask fuzz` runs them.
//!
//! Each parser refuses the input with an error, or returns a value that is written back as the same text. None of them panics.

mod over_http;
mod texts;

pub use over_http::{forms, headers};
pub use texts::{keys, settings, stored_texts, tokens};
