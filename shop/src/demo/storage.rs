//! The SQL of the demo, on the file of one world.

mod naive;
mod rows;

pub(super) use naive::{Moment, Naive, TooLate};
pub(crate) use rows::{LockRow, OrderRow};
pub(super) use rows::{lock, order, pieces};
