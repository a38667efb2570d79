//! The configuration of the shop, and its administration commands.

use std::net::{IpAddr, SocketAddr};

use clap::{Parser, Subcommand};

use crate::open::Accounts;
use crate::settings::{LOOPBACK, Settings};

/// The default file if no database is given.
const DEFAULT_DATABASE: &str = "sqlite://shop.db";

/// The reference shop of tenure.
#[derive(Debug, Clone, Parser)]
#[command(version)]
pub struct Config {
    /// The address to listen on.
    #[arg(long, env = "LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// The database: sqlite://file (created if it is missing), or postgres:// and mysql://user:password@host/database.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, default_value = DEFAULT_DATABASE, global = true)]
    pub database_url: String,

    /// Allow a connection without TLS to a database server that is not on this machine.
    #[arg(long, env = "ALLOW_PLAINTEXT", global = true)]
    pub allow_plaintext: bool,

    /// The database is one node of a cluster in which several nodes accept writes (Galera, Group Replication), and all processes of
    /// the shop use that node.
    #[arg(long, env = "ONE_WRITER_NODE", global = true)]
    pub one_writer_node: bool,

    /// The SQLite file has another name (a hard link) or is mounted by itself, and all processes open it by this one path.
    #[arg(long, env = "ALLOW_LINKED_FILE", global = true)]
    pub allow_linked_file: bool,

    /// The shop is reached through HTTPS: cookies are sent over HTTPS only, and no other host can set them. Set it also
    /// behind a proxy that terminates HTTPS.
    #[arg(long, env = "SECURE_COOKIES")]
    pub secure_cookies: bool,

    /// A host name by which the shop answers, without a port; may be given several times. By default, and beside these where
    /// it listens on this machine only: localhost, `127.0.0.1` and `[::1]`.
    #[arg(long, env = "SHOP_HOSTS", value_delimiter = ',', value_name = "NAME")]
    pub host: Vec<String>,

    /// A proxy of your own is in front: the last address in X-Forwarded-For is the visitor's. Without it, all visitors through
    /// the proxy share the limits of sign-in.
    #[arg(long, env = "BEHIND_PROXY")]
    pub behind_proxy: bool,

    /// Let the invented people of the demo sign in, with a public password; a database without members is
    /// filled with them. Without it, that happens only for the default database on this machine.
    #[arg(long, env = "SHOP_DEMO")]
    pub demo: bool,

    /// A command to run instead of opening the shop.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands to run instead of opening the shop.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// The people who sign in
    #[command(subcommand)]
    Member(MemberCommand),
}

/// Commands about members. Passwords are read from the terminal, or from the first line of standard input.
#[derive(Debug, Clone, Subcommand)]
pub enum MemberCommand {
    /// Make a member, who can sign in at once
    Add {
        /// The name to sign in with
        id: String,
        /// The name that others see; without it the name to sign in with
        #[arg(long)]
        name: Option<String>,
        /// A person who works here: sees every order, ships, ends locks
        #[arg(long)]
        operator: bool,
    },
    /// Set another password, and sign the member out everywhere
    Password {
        /// The name they sign in with
        id: String,
    },
}

impl Config {
    /// Which accounts exist: those of the demo only on request, or if only this machine can connect.
    pub fn accounts(&self) -> Accounts {
        let is_for_trying_out = self.database_url == DEFAULT_DATABASE
            && self.listen.ip().is_loopback()
            && self.host.is_empty()
            && !self.secure_cookies
            && !self.behind_proxy;
        if self.demo || is_for_trying_out { Accounts::Demo } else { Accounts::Own }
    }

    /// The shop's settings.
    ///
    /// # Errors
    /// Says what to set if it listens for other machines without a host name.
    pub fn settings(&self) -> Result<Settings, String> {
        let mut hosts = self.host.clone();
        if self.listen.ip().is_loopback() {
            hosts.extend(LOOPBACK.map(str::to_owned));
            hosts.push(literal(self.listen.ip()));
        }
        if hosts.is_empty() {
            return Err(format!(
                "{} is reached from other machines, so say by which name: add --host shop.example (once for each name; an \
                 address counts as a name), or listen on 127.0.0.1",
                self.listen
            ));
        }
        let (https, behind_proxy) = (self.secure_cookies, self.behind_proxy);
        Ok(Settings { https, hosts, behind_proxy, ..Settings::default() })
    }
}

/// An address in the form of a `Host` header.
fn literal(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(arguments: &[&str]) -> Config {
        Config::try_parse_from(["shop"].iter().chain(arguments)).expect("options of the shop")
    }

    #[test]
    fn public_password_needs_the_default_database_or_demo() {
        assert_eq!(config(&[]).accounts(), Accounts::Demo);
        assert_eq!(config(&["--listen", "[::1]:0"]).accounts(), Accounts::Demo);
        for own in [
            &["--database-url", "sqlite://other.db"][..],
            &["--database-url", "postgres://shop@db.example/shop"],
            &["--listen", "0.0.0.0:8080", "--host", "shop.example"],
            &["--host", "shop.example"],
            &["--secure-cookies"],
            &["--behind-proxy"],
        ] {
            assert_eq!(config(own).accounts(), Accounts::Own, "{own:?}");
            let demo: Vec<_> = own.iter().copied().chain(["--demo"]).collect();
            assert_eq!(config(&demo).accounts(), Accounts::Demo, "{demo:?}");
        }
    }

    #[test]
    fn a_shop_for_other_machines_needs_a_name() {
        let refused = config(&["--listen", "0.0.0.0:8080"]).settings().expect_err("it has no name");
        assert!(refused.contains("--host shop.example"), "{refused}");
        let named = config(&["--listen", "0.0.0.0:8080", "--host", "shop.example"]).settings().expect("a name");
        assert_eq!((named.answers_by("shop.example"), named.answers_by("localhost")), (true, false));
        let here = config(&["--listen", "127.0.0.2:8080"]).settings().expect("names");
        assert!(here.answers_by("127.0.0.2:8080") && here.answers_by("localhost") && !here.answers_by("shop.example"));
    }
}
