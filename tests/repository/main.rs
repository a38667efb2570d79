//! The repository itself: the order of imports, what documents name, the programs of `examples/`.

#![cfg(feature = "sqlite")]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod architecture;
mod documents;
mod dropped_calls;
mod examples;
mod guide;
mod guide_testing;
