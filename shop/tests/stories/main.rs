//! The stories of the shop, told to the real server by two people with a browser each.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod again;
mod around;
mod bad_input;
mod beside;
mod bounds;
mod busy;
mod demo;
mod editing;
mod first_edit;
mod gone_lines;
mod guessing;
mod history;
mod list;
mod merging;
mod notes;
mod now;
mod parcel;
mod presence;
mod sessions;
mod sign_in;
mod stock;
mod supervision;
mod support;
mod unsaved;
mod verdicts;
mod words;
