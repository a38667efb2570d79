//! The stories of the shop, told to the real server by two people with a browser each.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod again;
mod bad_input;
mod busy;
mod editing;
mod first_edit;
mod merging;
mod notes;
mod parcel;
mod sessions;
mod sign_in;
mod supervision;
mod support;
mod verdicts;
