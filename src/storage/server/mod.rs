//! What the databases behind a network share: addresses and TLS, checkout of pool connections, refusals of new ones, connections kept for
//! the next transaction or reserved for leases. No SQL.

pub(in crate::storage) mod address;
pub(in crate::storage) mod checkout;
pub(in crate::storage) mod durability;
pub(in crate::storage) mod recent;
#[cfg(test)]
pub(in crate::storage) mod refusing;
pub(in crate::storage) mod reserve;
pub(in crate::storage) mod transport;
