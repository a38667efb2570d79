//! People with browsers, in the reference shop: the harness of the stories in `tests/`.
//!
//! A [`Story`] opens a shop of its own: a free port, a database in a temporary directory, a clock that the story moves.
//! Each [`Person`] in it has a headless Chromium with a new profile. Nothing outlives the story, not even one that fails.
//!
//! Nothing here sleeps for a fixed time: every step waits for a visible condition, up to [`PATIENCE`].
//! With `TENURE_SCREENSHOTS=directory`, [`Person::photo`] writes pictures there, and so does every step that fails.

mod axe;
mod driver;
mod person;
mod story;

use std::time::Duration;

pub use driver::Driver;
pub use person::Person;
pub use story::{EDIT, ORDER, Story};
pub use thirtyfour::Key;

/// How long people wait for something to happen before the story has failed. It is long, because machines are slow while they compile, and
/// a wait ends as soon as its condition holds.
pub const PATIENCE: Duration = Duration::from_secs(20);
