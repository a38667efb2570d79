//! The program `tenure`: maintenance of a database that tenure uses.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tenure::{Database, storage::ConnectOptions};

/// Look after a database that tenure uses.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say what a database is, what it can do, and whether its settings keep acknowledged locks. Nothing is changed in it.
    /// The exit status is 0 if it is healthy, 1 if it is not, 2 if it could not be looked at.
    Doctor {
        /// The database: sqlite://file, or postgres:// and mysql://user:password@host/database.
        #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
        database_url: String,
        /// Allow a connection without TLS to a server that is not on this machine.
        #[arg(long, env = "ALLOW_PLAINTEXT")]
        allow_plaintext: bool,
    },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Doctor { database_url, allow_plaintext } => {
            let options = ConnectOptions::new();
            doctor(&database_url, if allow_plaintext { options.allow_plaintext() } else { options }).await
        }
    }
}

async fn doctor(database_url: &str, options: ConnectOptions) -> ExitCode {
    match Database::diagnose_with(database_url, options).await {
        Ok(diagnosis) => {
            println!("{diagnosis}");
            if diagnosis.is_healthy() { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
