//! Many requests to the lock table in few round trips and one commit, in each database's own form.
//!
//! They answer only requests that need not wait. Requests whose answer needs an explanation are sent alone, as in [`leases`](super).

#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
