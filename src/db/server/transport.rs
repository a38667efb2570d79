//! Whether plaintext is allowed to a server, and the advice if it is not. The same for all servers; the names of each driver's modes are
//! next to its connections.

use super::address;

/// The parts of a URL and the options that concern the transport to a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way<'a> {
    pub host: &'a str,
    /// Whether the server is on this machine: loopback, or a socket in the file system.
    pub local: bool,
    /// Whether the application allows plaintext.
    pub allowed: bool,
    /// The name of the setting, as in `sslmode`.
    pub setting: &'static str,
    /// Its value that requires TLS and a certificate for this host, and the setting of the certificate authority.
    pub verified: &'static str,
}

impl<'a> Way<'a> {
    pub(crate) fn is_local(host: &str) -> bool {
        address::is_local(host)
    }

    /// Whether plaintext may be used.
    pub(crate) fn may_be_plain(&self) -> bool {
        self.local || self.allowed
    }

    /// The URL requests plaintext, and it is not allowed.
    pub(crate) fn refused(&self, mode: &str) -> String {
        let Way { host, setting, verified, .. } = self;
        format!(
            "`{setting}={mode}` sends passwords and data in the clear to {host}, which is not this machine; request TLS with \
             `{verified}`, or {ALLOW}"
        )
    }

    /// The advice about a driver's error that concerns TLS; `None` for other errors.
    pub(crate) fn advice(&self, error: &sqlx::Error) -> Option<String> {
        let Way { host, verified, .. } = self;
        let text = error.to_string();
        match error {
            sqlx::Error::Tls(_) if text.contains("built without TLS") => Some(format!(
                "this build has no TLS, and plaintext to {host} is refused because it is not this machine; build with the \
                 feature `tls`, or {ALLOW}"
            )),
            sqlx::Error::Tls(_) if text.contains("does not support TLS") => Some(match self.may_be_plain() {
                true => format!("{host} does not offer TLS, which the URL asks for; set it up on the server"),
                false => format!(
                    "{host} does not offer TLS, and plaintext to it is refused because it is not this machine; set TLS up on \
                     the server, or {ALLOW}"
                ),
            }),
            sqlx::Error::Tls(_) | sqlx::Error::Io(_) if text.contains("certificate") => Some(format!(
                "{text}; the certificate of {host} is not accepted: check its host name and its issuer (`{verified}`)"
            )),
            sqlx::Error::Tls(_) => Some(format!("{text}; check the TLS versions of {host}; it needs at least TLS 1.2")),
            sqlx::Error::Io(io) if !self.local && io.kind() == std::io::ErrorKind::NotFound => {
                Some(format!("{text}; check the files of certificates and keys that the URL names"))
            }
            _ => None,
        }
    }
}

/// The exception to the rule.
const ALLOW: &str = "allow plaintext on an isolated network: `ConnectOptions::allow_plaintext`, \
                     `--allow-plaintext` for the programs";
