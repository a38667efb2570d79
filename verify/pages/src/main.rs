//! People at forms in real browsers, with faults of the network, the server and the browsers. One promise is
//! checked: what a person was told is saved is in the order's history, and what they typed is saved, in a conflict, or offered back.
//!
//! Each person types texts that occur only once (`marker`), and the recorder keeps what they did and what the pages told them
//! (`history`). Afterwards pure functions (`check`) compare that with the orders' revisions. `cargo xtask chaos --pages` builds and runs it; `docs/evidence/reliability.md` has what it
//! found.

mod aftermath;
mod check;
mod command;
mod enough;
mod evidence;
mod fault;
mod gesture;
mod history;
mod marker;
mod nemesis;
mod network;
mod page;
#[cfg(feature = "planted")]
mod planted;
mod report;
mod round;
mod script;
mod serve;
mod server;
mod visitor;

use std::process::ExitCode;

use clap::Parser;

use command::{Arguments, run};
use verdict::Result;

#[tokio::main]
async fn main() -> ExitCode {
    run(Arguments::parse()).await
}
