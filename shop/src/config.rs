//! What can be set when the shop is started.

use std::net::SocketAddr;

use clap::Parser;

/// The reference shop of tenure.
#[derive(Debug, Clone, Parser)]
#[command(version)]
pub struct Config {
    /// The address to listen on.
    #[arg(long, env = "LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// The database: sqlite://file (made if it is missing), or postgres:// and mysql://user:password@host/database.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, default_value = "sqlite://shop.db")]
    pub database_url: String,

    /// Allow a connection without TLS to a database server that is not on this machine.
    #[arg(long, env = "ALLOW_PLAINTEXT")]
    pub allow_plaintext: bool,

    /// Send cookies over HTTPS only. Set it wherever the shop is reached through HTTPS.
    #[arg(long, env = "SECURE_COOKIES")]
    pub secure_cookies: bool,
}
