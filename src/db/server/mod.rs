//! What the databases behind a network share: addresses and TLS, checkout of pool connections, refusals of new ones, connections kept for
//! the next transaction or reserved for leases. No SQL.

pub(crate) mod address;
pub(crate) mod checkout;
pub(crate) mod durability;
pub(crate) mod recent;
#[cfg(test)]
pub(crate) mod refusing;
pub(crate) mod reserve;
pub(crate) mod transport;
