//! What types promise without a server: that futures can be sent, what they look like as text, and how children find their place.

#![cfg(feature = "sqlite")]
#![allow(missing_docs, clippy::unwrap_used)]

mod children;
mod futures;
mod serialization;
