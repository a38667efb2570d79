//! Servers that all tests of a process share, or that were started before.

use std::env;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use crate::DATABASE;
use crate::address::Address;
use crate::client::Client;
use crate::error::StartError;
use crate::kind::Kind;
use crate::mariadb::MariaDb;
use crate::postgres::Postgres;

/// The PostgreSQL server of this process, started at the first call. It ends with the process.
///
/// # Panics
///
/// If it cannot be started.
pub fn postgres() -> &'static Postgres {
    static SERVER: OnceLock<Result<Postgres, StartError>> = OnceLock::new();
    SERVER.get_or_init(Postgres::start).as_ref().unwrap_or_else(|error| panic!("no PostgreSQL: {error}"))
}

/// The MariaDB server of this process, started at the first call. It ends with the process.
///
/// # Panics
///
/// If it cannot be started.
pub fn mariadb() -> &'static MariaDb {
    static SERVER: OnceLock<Result<MariaDb, StartError>> = OnceLock::new();
    SERVER.get_or_init(MariaDb::start).as_ref().unwrap_or_else(|error| panic!("no MariaDB: {error}"))
}

/// The URL of a server's database [`DATABASE`]: the value of [`Kind::variable`], if it is set and not empty, or else that
/// of this process's own server.
///
/// # Panics
///
/// If the server has to be started, and cannot.
pub fn server_url(kind: Kind) -> String {
    match env::var(kind.variable()) {
        Ok(url) if !url.is_empty() => url,
        _ => match kind {
            Kind::Postgres => postgres().url(DATABASE),
            Kind::MariaDb => mariadb().url(DATABASE),
        },
    }
}

/// The URL of a new, empty database on the server of [`server_url`]. It is removed with its server.
///
/// # Panics
///
/// If there is no such server, or it refuses.
pub fn new_database(kind: Kind) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let url = server_url(kind);
    let address = Address::parse(kind, &url).unwrap_or_else(|| {
        panic!("{}: {url} is not like {}", kind.variable(), Address::local(kind, 1234).url(DATABASE))
    });
    // Other test programs, also earlier ones, may use the same server.
    let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_micros());
    let name = format!("{DATABASE}_{:x}_{}_{now:x}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let client = Client::new(address);
    let made = client.and_then(|client| client.create_database(&name).map(|()| client.url(&name)));
    made.unwrap_or_else(|error| panic!("no new database: {error}"))
}
