//! Invalid requests: refused by name, or handled with care; never a panic, and never at the cost
//! of concurrent requests.

pub mod absurd_times;
pub mod control_characters;
pub mod edited_by_hand;
pub mod names_that_look_alike;
pub mod together;
pub mod unnameable;
