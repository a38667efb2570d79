//! The library on SQLite: the conformance suite, and what holds for a file only.

#![cfg(unix)]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

#[path = "../conformance/mod.rs"]
mod conformance;
#[path = "../random_edits/mod.rs"]
mod random_edits;

mod edits;
mod files;
mod jobs;
mod lent;
mod lost_file;
mod one_world;
mod own_statements;
mod processes;
mod suite;
mod values;
