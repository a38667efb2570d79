//! Offline locks: tenure, the classic algorithm, and the same correct statements without tenure.

mod by_hand;
mod classic;
mod cycle;
mod fill;
mod growth;
mod heartbeat;
mod memory;
mod refused;
mod tenure;
mod try_lock;
mod verbs;
mod witness;

pub(crate) use cycle::measure as cycle;
pub(crate) use growth::measure as growth;
pub(crate) use heartbeat::measure as heartbeat;
pub(crate) use memory::{hold_and_print, measure as memory};
pub(crate) use refused::measure as refused;
pub(crate) use try_lock::measure as try_lock;
pub(crate) use verbs::VERBS;

/// The type of everything that is locked here.
const KIND: &str = "Bench";
