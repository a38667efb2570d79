//! Throw-away PostgreSQL and MariaDB servers for the tests.
//!
//! A test that needs a database asks for an empty one of its own:
//!
//! ```no_run
//! let url = testkit::new_database(testkit::Kind::Postgres);
//! // postgres://tenure:secret@127.0.0.1:24601/tenure_1f3a_0_18c2…
//! ```
//!
//! Under `cargo xtask test` the servers are already running, and `TENURE_POSTGRES_URL` and `TENURE_MYSQL_URL` contain their URLs.
//! Otherwise the first test that needs one starts it, and all tests of the process share it. To keep servers running
//! between runs, `cargo run -p testkit` starts both and prints the two variables.
//!
//! A test that kills its server, or changes its settings, starts one for itself:
//!
//! ```no_run
//! let server = testkit::Postgres::builder().setting("deadlock_timeout", "50ms").start()?;
//! server.create_database("shop")?;
//! server.kill(); // all its processes, with SIGKILL
//! server.restart()?; // on the same port, with the data that had been committed
//! # Ok::<(), testkit::StartError>(())
//! ```
//!
//! A test of a failing network puts a [`Proxy`] in between.
//!
//! # Properties
//!
//! - **Durable**, as in production: every commit is flushed to the disk before it is acknowledged.
//! - **Alone**: in a new temporary folder, on a free port of 127.0.0.1, with none of the machine's configuration. Their
//!   clocks show UTC.
//! - **Not root**: started by root, they run as the user that Debian's package creates for them.
//! - **Gone afterwards**, with their folder: when dropped, when the test panics, and, because a watchdog monitors the
//!   process (`watchdog.rs`), also when the whole test program is killed.
//! - **Required**: where the programs are missing, the tests fail and name Debian's package. None is skipped.
//!
//! Calls block, for a second or two at most: tests may call them from asynchronous code. Linux only, as it reads `/proc`.
//!
//! [`tasks`] has nothing to do with servers: it is what the programs in `xtask/` and `verify/` that run cargo share.
//!
//! The files of `initdb` and `mariadb-install-db` are *not* flushed; that saves seconds. A test that cuts the power, and not
//! only the process, has to run `sync` once before.

mod address;
mod builder;
mod client;
mod engine;
mod error;
mod etcd;
mod galera;
mod group_replication;
mod home;
mod kind;
mod mariadb;
mod mariadb_pair;
mod patroni;
mod port;
mod postgres;
mod postgres_pair;
mod process;
mod programs;
mod proxy;
mod random;
mod server;
mod shared;
mod stopwatch;
mod synchronous_pair;
pub mod tasks;
mod watchdog;

pub use builder::Builder;
pub use engine::Engine;
pub use error::StartError;
pub use galera::Galera;
pub use group_replication::GroupReplication;
pub use kind::Kind;
pub use mariadb::MariaDb;
pub use mariadb_pair::MariaDbPair;
pub use patroni::Patroni;
pub use postgres::Postgres;
pub use postgres_pair::PostgresPair;
pub use process::{continue_tree, kill_tree, status_within, stop_tree};
pub use proxy::Proxy;
pub use random::Random;
pub use server::Server;
pub use shared::{mariadb, new_database, postgres, server_url};
pub use stopwatch::Stopwatch;
pub use synchronous_pair::SynchronousPair;

/// The database that every server has from its start.
pub const DATABASE: &str = "tenure";
