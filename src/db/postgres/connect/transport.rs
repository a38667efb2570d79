//! TLS: as the URL requests it, and as it is used.

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{PgPool, Row};

use crate::db::diagnosis::{CertificateCheck, Transport};
use crate::db::postgres::errors::classify;
use crate::db::server::address;
use crate::db::server::transport::Way;
use crate::error::DatabaseError;

/// The settings of a URL that the driver supports.
const SETTINGS: [&str; 18] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// The URL for the driver.
pub(crate) fn known(url: &str) -> Result<String, String> {
    address::known(url, |name| SETTINGS.contains(&name) || name.starts_with("options[")).map_err(|name| {
        format!("`{name}` is no setting of this driver, and is not ignored; it knows `sslmode`, `sslrootcert`, `sslcert` and `sslkey`")
    })
}

pub(crate) fn way(options: &PgConnectOptions, allowed: bool) -> Way<'_> {
    let host = options.get_host();
    let local = options.get_socket().is_some() || host.starts_with('/') || Way::is_local(host);
    Way { host, local, allowed, setting: "sslmode", verified: "sslmode=verify-full&sslrootcert=ca.pem" }
}

/// The options with a mode that never falls back to plaintext, unless plaintext is allowed. A certificate authority enables the check of
/// the server's certificate: the driver's manual says so about `require`, but the driver does not do it.
pub(crate) fn protected(options: PgConnectOptions, url: &str, allowed: bool) -> Result<PgConnectOptions, String> {
    let names_authority = address::has(url, &["sslrootcert", "ssl-root-cert", "ssl-ca"])
        || std::env::var_os("PGSSLROOTCERT").is_some_and(|file| !file.is_empty());
    let at_least = if names_authority { PgSslMode::VerifyCa } else { PgSslMode::Require };
    let way = way(&options, allowed);
    let mode = match options.get_ssl_mode() {
        PgSslMode::Disable if !way.may_be_plain() => return Err(way.refused("disable")),
        PgSslMode::Allow | PgSslMode::Prefer if !way.may_be_plain() => at_least,
        PgSslMode::Require => at_least,
        mode => mode,
    };
    Ok(options.ssl_mode(mode))
}

const USED: &str = "select version, cipher from pg_stat_ssl where pid = pg_backend_pid() and ssl";

/// The protection of a connection, as the server reports it.
pub(crate) async fn used(pool: &PgPool, options: &PgConnectOptions) -> Result<Transport, DatabaseError> {
    let Some(row) = sqlx::query(USED).fetch_optional(pool).await.map_err(classify)? else {
        return Ok(Transport::Plaintext { local: way(options, true).local });
    };
    let certificate = match options.get_ssl_mode() {
        PgSslMode::VerifyFull => CertificateCheck::AuthorityAndHost,
        PgSslMode::VerifyCa => CertificateCheck::Authority,
        _ => CertificateCheck::Nothing,
    };
    let text = |at: usize| row.try_get::<Option<String>, _>(at).map(Option::unwrap_or_default).map_err(classify);
    Ok(Transport::Tls { version: text(0)?, cipher: text(1)?, certificate })
}
