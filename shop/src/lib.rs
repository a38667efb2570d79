//! The reference shop of tenure: customers and operators change the same orders, protected against all three dangers (concurrent
//! transactions, stale forms, long edits).
//!
//! Read it from the outside in: `main.rs` opens the shop and serves it, [`app`] is the whole web side, [`pages`]
//! translate between forms and use cases, [`use_cases`] order the steps, [`domain`] decides. SQL is only in [`storage`]; `demo`, the
//! worlds of `/demo`, has its own.

mod clock;
pub mod config;
mod cookies;
mod demo;
pub mod domain;
mod gate;
mod open;
pub mod pages;
pub mod seed;
mod server;
pub mod session;
mod settings;
pub mod storage;
pub mod texts;
pub mod use_cases;
mod web;

pub use open::{Accounts, open};
pub use server::serve;
pub use settings::{Settings, Times};
pub use use_cases::Shop;
pub use web::app;
