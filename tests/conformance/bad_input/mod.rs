//! What nobody should ask for, and somebody will: refused by name, or done with care; never a panic, and never at the cost
//! of whoever asks at the same moment.

pub mod absurd_times;
pub mod control_characters;
pub mod edited_by_hand;
pub mod names_that_look_alike;
pub mod together;
pub mod unnameable;
