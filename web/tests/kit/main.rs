//! The web kit through HTTP, with an application of each test.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod beat;
mod examples;
mod now;
mod problems;
mod release;
mod requests;
mod support;
mod tabs;
mod verdict;
mod versions;
