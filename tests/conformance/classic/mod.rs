//! What goes wrong with the classic lock table (select, delete what has expired, insert, each statement for itself, times
//! from the application), row by row, and does not here. `docs/guarantees.md` says which case keeps which row away.

pub mod clocks;
pub mod fencing;
pub mod late_beats;
pub mod late_checks;
pub mod taking_at_once;
pub mod taking_inside_work;
