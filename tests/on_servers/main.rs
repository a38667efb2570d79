//! The library on PostgreSQL, and on MariaDB or MySQL: the conformance suite on each, and what holds for a server only. It needs servers:
//! `cargo xtask test` starts them.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

#[path = "../conformance/mod.rs"]
mod conformance;
#[path = "../faults/mod.rs"]
mod faults;
#[path = "../lost_answers/mod.rs"]
mod lost_answers;
#[path = "../random_edits/mod.rs"]
mod random_edits;

mod both;
mod mysql;
mod postgres;
