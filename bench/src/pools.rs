//! Connections as a careful programmer would open them, with tenure's settings: the same number of
//! connections, the same durability, the same isolation.

pub(crate) mod mysql;
pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::time::Duration;

/// The number of connections of tenure's pools.
const CONNECTIONS: u32 = 10;
/// The time limit for one of them.
const PATIENCE: Duration = Duration::from_secs(5);
