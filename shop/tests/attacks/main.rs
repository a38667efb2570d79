//! Attacks on the real server: invalid requests of a stranger, a customer, an operator and a machine, and the
//! shop with a full disk, an unwritable file, or a killed process.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod client;
mod disk;
mod fields;
mod forged;
mod killed;
mod logs;
mod program;
mod routes;
mod scripts;
mod sign_in;
#[allow(dead_code)]
#[path = "../stories/support.rs"]
mod support;
mod walk;
