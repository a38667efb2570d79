//! The pages under chaos. `cargo xtask chaos --pages` builds and runs it; `docs/reliability.md` has what it found.

use std::process::ExitCode;

use browser::chaos::{Arguments, run};
use clap::Parser;

#[tokio::main]
async fn main() -> ExitCode {
    run(Arguments::parse()).await
}
