//! The worlds behind `/demo`: stories of two persons and one order, told by what really happens. Each visitor has a small shop of
//! their own, on a file of its own and with a given clock; nothing of it reaches the shop itself, nor another visitor.
//!
//! A story is data (`story.rs`), its texts are in `texts/demo.rs`, and one engine makes its steps (`world.rs`): each is a request (`site.rs`) to the
//! routes of the world's own shop, or, in a world without tenure, to a naive service on the same tables (`chapter.rs`).

mod chapter;
mod code;
mod page;
mod seed;
mod site;
mod storage;
mod story;
mod world;
mod worlds;

pub(crate) use code::{Lines, lines};
pub(crate) use storage::{LockRow, OrderRow};
pub(crate) use story::{Act, Field, Lock, PARCEL, STORIES, Side, Story, Way};
pub(crate) use world::{Event, MINJIS, Outcome, Person, Rows, World};
pub(crate) use worlds::Worlds;
