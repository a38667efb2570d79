//! Watching locks: events and snapshots of leases, in this process and in others.

mod announce;
mod diff;
mod event;
mod hub;
mod listen;
mod news;
mod place;
mod stream;
mod topics;
mod unredacted;
mod watcher;

#[cfg(fuzzing)]
pub(crate) use announce::any_notification;
pub use event::{LockEvent, LockSnapshot};
pub(crate) use hub::{Hub, random};
pub(crate) use news::News;
pub(crate) use place::{Called, QueueEntry};
pub use stream::Watch;
