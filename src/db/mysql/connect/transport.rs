//! TLS: as the URL requests it, and as it is used.

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::{MySqlPool, Row};

use crate::db::diagnosis::{CertificateCheck, Transport};
use crate::db::mysql::errors::classify;
use crate::db::server::address;
use crate::db::server::transport::Way;
use crate::error::DatabaseError;

/// The settings of a URL that the driver supports.
const SETTINGS: [&str; 14] = [
    "sslmode",
    "ssl-mode",
    "sslca",
    "ssl-ca",
    "charset",
    "collation",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "socket",
    "timezone",
    "time-zone",
];

/// The URL for the driver.
pub(crate) fn known(url: &str) -> Result<String, String> {
    address::known(url, |name| SETTINGS.contains(&name)).map_err(|name| {
        format!("`{name}` is no setting of this driver, and is not ignored; it knows `ssl-mode`, `ssl-ca`, `ssl-cert` and `ssl-key`")
    })
}

pub(crate) fn way(options: &MySqlConnectOptions, allowed: bool) -> Way<'_> {
    let host = options.get_host();
    let local = options.get_socket().is_some() || Way::is_local(host);
    Way { host, local, allowed, setting: "ssl-mode", verified: "ssl-mode=VERIFY_IDENTITY&ssl-ca=ca.pem" }
}

/// The options with a mode that never falls back to plaintext, unless plaintext is allowed. A certificate authority without a mode enables
/// the check of the server's certificate, as in MySQL's own programs.
pub(crate) fn protected(options: MySqlConnectOptions, url: &str, allowed: bool) -> Result<MySqlConnectOptions, String> {
    let names_authority = address::has(url, &["sslca", "ssl-ca"]);
    let way = way(&options, allowed);
    let mode = match options.get_ssl_mode() {
        MySqlSslMode::Disabled if !way.may_be_plain() => return Err(way.refused("disabled")),
        MySqlSslMode::Preferred if !way.may_be_plain() && names_authority => MySqlSslMode::VerifyCa,
        MySqlSslMode::Preferred if !way.may_be_plain() => MySqlSslMode::Required,
        mode => mode,
    };
    Ok(options.ssl_mode(mode))
}

const USED: &str = "show session status where variable_name in ('Ssl_cipher', 'Ssl_version')";

/// The protection of a connection, as the server reports it.
pub(crate) async fn used(pool: &MySqlPool, options: &MySqlConnectOptions) -> Result<Transport, DatabaseError> {
    let (mut version, mut cipher) = (String::new(), String::new());
    for row in sqlx::raw_sql(USED).fetch_all(pool).await.map_err(classify)? {
        let (name, value): (String, String) = (row.try_get(0).map_err(classify)?, row.try_get(1).map_err(classify)?);
        *(if name.eq_ignore_ascii_case("ssl_cipher") { &mut cipher } else { &mut version }) = value;
    }
    if cipher.is_empty() {
        return Ok(Transport::Plaintext { local: way(options, true).local });
    }
    let certificate = match options.get_ssl_mode() {
        MySqlSslMode::VerifyIdentity => CertificateCheck::AuthorityAndHost,
        MySqlSslMode::VerifyCa => CertificateCheck::Authority,
        _ => CertificateCheck::Nothing,
    };
    Ok(Transport::Tls { version, cipher, certificate })
}
