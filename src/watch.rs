//! Watching locks: what happens to them is told as it happens, in this process and in others.

mod announce;
mod diff;
mod event;
mod hear;
mod hub;
mod news;
mod place;
mod seen;
mod stream;
mod told;
mod topics;
mod watcher;

pub use event::{LockEvent, LockSnapshot};
pub(crate) use hub::{Hub, random};
pub(crate) use news::News;
pub(crate) use place::{Called, Place};
pub(crate) use seen::Seen;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(crate) use seen::{PastLease, SeenLease, SeenRequest};
pub use stream::Watch;
