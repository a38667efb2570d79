//! Load with faults on real databases: clients in processes of their own write histories, and checks look for what must not be in
//! them. `cargo xtask chaos` builds and runs it; `docs/evidence/reliability.md` has what it found.

mod backend;
mod browser;
mod check;
mod client;
mod clients;
mod clock;
mod command;
mod disk;
mod evidence;
mod history;
mod nemesis;
mod observer;
mod pages;
#[cfg(feature = "planted")]
mod planted;
mod proxy;
mod random;
mod report;
mod router;
mod run;
mod server;
mod standstill;
mod steps;
mod subject;
mod workload;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub(crate) use verdict::Result;

/// Load with faults on real databases.
#[derive(Parser)]
#[command(name = "chaos")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run clients and faults on one database, and check what they saw
    Run(command::Options),
    /// Be one of the clients
    #[command(hide = true)]
    Client(client::Orders),
    /// Be the application with forms
    #[command(hide = true)]
    Pages(pages::Orders),
    /// Run wrong builds until the checks find each of them
    #[cfg(feature = "planted")]
    Planted(planted::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let ended = match Arguments::parse().command {
        Command::Run(options) => command::run(&options).await,
        Command::Client(orders) => client::run(orders).await.map(|()| ExitCode::SUCCESS),
        Command::Pages(orders) => pages::run(orders).await.map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "planted")]
        Command::Planted(options) => planted::run(&options).await,
    };
    verdict::ended(ended)
}
