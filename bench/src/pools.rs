//! Connections as a careful programmer would open them, with the settings that tenure has for its own: the same number of
//! connections, the same durability, the same isolation.

pub(crate) mod mysql;
pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::time::Duration;

/// How many connections tenure's pools have.
const CONNECTIONS: u32 = 10;
/// How long to wait for one of them.
const PATIENCE: Duration = Duration::from_secs(5);
