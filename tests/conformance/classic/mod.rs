//! The flaws of the classic lock table (select, delete expired rows, insert, each statement by itself, times
//! from the application), row by row, which tenure does not have.

pub mod clocks;
pub mod fencing;
pub mod late_beats;
pub mod late_checks;
pub mod taking_at_once;
pub mod taking_inside_work;
