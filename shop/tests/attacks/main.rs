//! Attacks on the real server: what a stranger, a customer, an operator and a machine send that no page would send, and what the
//! shop does when its disk is full, its file cannot be written, or its process is killed.

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
