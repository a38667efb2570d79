//! The program `tenure`, as an operator starts it.

#![allow(missing_docs, clippy::unwrap_used)]

mod doctor;
mod maintenance;
