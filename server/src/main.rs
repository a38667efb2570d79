//! The program `tenure`: maintenance of a database with tenure's tables.

mod duration;
mod mappings;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use tenure::{Database, LockManager, db::ConnectOptions};

/// Maintain a database that tenure uses.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Report the kind of a database, its capabilities, and whether its settings keep acknowledged locks. It changes nothing. The exit
    /// status is 0 if the database is healthy, 1 if it is not, 2 if it could not be examined.
    Doctor {
        #[command(flatten)]
        at: At,
        /// A file with mappings, which are compared with the live tables: what `serde_json::to_string(&[Order::mapping()])` writes.
        /// May be given several times.
        #[arg(long, value_name = "FILE")]
        mapping: Vec<PathBuf>,
    },
    /// Create or migrate tenure's tables, as the first connecting process would. The exit status is 0, or 2 if it failed.
    Migrate {
        #[command(flatten)]
        at: At,
        /// Print the SQL for the database's own client instead, and change nothing. It is empty if nothing is missing.
        #[arg(long)]
        print: bool,
    },
    /// Delete old entries: free keys, the history of leases, old requests, and ids of commits. Run it once a day.
    /// Held leases are never touched. The exit status is 0, or 2 if it failed.
    Sweep {
        #[command(flatten)]
        at: At,
        /// The age of keys and requests: 30d, 12h. It must not be shorter than the longest absolute limit of a lock policy.
        #[arg(long, default_value = "30d", value_parser = duration::parse)]
        keys: Duration,
        /// The age of entries of the history, which record the holders of locks and the ends of leases.
        #[arg(long, default_value = "365d", value_parser = duration::parse)]
        history: Duration,
        /// The age of ids of commits (`Database::resolving_commits`).
        #[arg(long, default_value = "1d", value_parser = duration::parse)]
        commits: Duration,
    },
}

/// The database, and how to connect to it.
#[derive(Args)]
struct At {
    /// The database: sqlite://file, or postgres:// and mysql://user:password@host/database.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database_url: String,
    /// Allow a connection without TLS to a server that is not on this machine.
    #[arg(long, env = "ALLOW_PLAINTEXT")]
    allow_plaintext: bool,
    /// The database is one node of a cluster in which several nodes accept writes (Galera, Group Replication), and all programs
    /// that use tenure use that node.
    #[arg(long, env = "ONE_WRITER_NODE")]
    one_writer_node: bool,
    /// The SQLite file has another name (a hard link) or is mounted by itself, and all programs open it by this one path.
    #[arg(long, env = "ALLOW_LINKED_FILE")]
    allow_linked_file: bool,
}

impl At {
    fn options(&self) -> ConnectOptions {
        let options = ConnectOptions::new();
        let options = if self.allow_plaintext { options.allow_plaintext() } else { options };
        let options = if self.one_writer_node { options.one_writer_node() } else { options };
        if self.allow_linked_file { options.allow_linked_file() } else { options }
    }

    async fn connect(&self) -> Result<Database, tenure::error::DatabaseError> {
        Database::connect_with(&self.database_url, self.options()).await
    }
}

type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Doctor { at, mapping } => doctor(&at, &mapping).await,
        Command::Migrate { at, print: true } => print_script(&at).await,
        Command::Migrate { at, print: false } => migrate(&at).await,
        Command::Sweep { at, keys, history, commits } => sweep(&at, keys, history, commits).await,
    };
    done.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::from(2)
    })
}

async fn doctor(at: &At, files: &[PathBuf]) -> Outcome {
    // First: a typing error in a file is no reason to connect.
    let mappings = mappings::read(files)?;
    let diagnosis = Database::diagnose_with(&at.database_url, at.options()).await?;
    println!("{diagnosis}");
    let mut healthy = diagnosis.is_healthy();
    if !mappings.is_empty() {
        // Connecting to any other database would create tables.
        if diagnosis.applied != diagnosis.known {
            return Err("the mappings are not compared before `tenure migrate` has created tenure's tables".into());
        }
        let db = at.connect().await?;
        healthy &= mappings::fit(&db, &mappings).await?;
        db.close().await;
    }
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

async fn print_script(at: &At) -> Outcome {
    print!("{}", Database::migration_script(&at.database_url, at.options()).await?);
    Ok(ExitCode::SUCCESS)
}

async fn migrate(at: &At) -> Outcome {
    at.connect().await?.close().await;
    println!("tenure's tables are up to date");
    Ok(ExitCode::SUCCESS)
}

async fn sweep(at: &At, keys: Duration, history: Duration, commits: Duration) -> Outcome {
    let db = at.connect().await?;
    let swept = LockManager::new(&db).sweep(keys).keeping_history_for(history).run().await?;
    let forgotten = db.forget_operations(commits).await?;
    db.close().await;
    println!("keys      {}\nhistory   {}\ncommits   {forgotten}", swept.keys, swept.history);
    Ok(ExitCode::SUCCESS)
}
