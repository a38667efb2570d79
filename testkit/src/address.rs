//! The address of a server, and the command line of its client program.

use std::path::Path;
use std::process::Command;

use crate::kind::Kind;

/// The address, user and password of a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Address {
    pub(crate) kind: Kind,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    pub(crate) fn local(kind: Kind, port: u16) -> Self {
        Address { kind, user: "tenure".into(), password: "secret".into(), host: "127.0.0.1".into(), port }
    }

    /// Reads `scheme://user:password@host:port/database`. Nothing in it may be percent-encoded.
    pub(crate) fn parse(kind: Kind, url: &str) -> Option<Self> {
        let rest = url.split_once("://")?.1;
        let rest = rest.split_once('/').map_or(rest, |(before, _)| before);
        let (person, place) = rest.rsplit_once('@')?;
        let (user, password) = person.split_once(':')?;
        let (host, port) = place.rsplit_once(':')?;
        let port = port.parse().ok()?;
        Some(Address { kind, user: user.into(), password: password.into(), host: host.into(), port })
    }

    pub(crate) fn url(&self, database: &str) -> String {
        let Address { kind, user, password, host, port } = self;
        format!("{}://{user}:{password}@{host}:{port}/{database}", kind.scheme())
    }

    /// The client program, with `sql` to run. It prints bare values, and reads no configuration of this machine.
    pub(crate) fn client(&self, program: &Path, database: &str, sql: &str) -> Command {
        let mut command = Command::new(program);
        match self.kind {
            Kind::Postgres => command
                .args(["--no-psqlrc", "--no-password", "--quiet", "--tuples-only", "--no-align"])
                .args(["--set=ON_ERROR_STOP=1", "--command", sql])
                .arg(self.url(database)),
            Kind::MariaDb => command
                .args(["--no-defaults", "--protocol=tcp", "--batch", "--skip-column-names"])
                .arg(format!("--host={}", self.host))
                .arg(format!("--port={}", self.port))
                .arg(format!("--user={}", self.user))
                .arg(format!("--password={}", self.password))
                .args(["--execute", sql, database]),
        };
        command
    }
}

/// The port in the URL of a server.
pub(crate) fn port_of(url: &str) -> Option<&str> {
    let (host, _) = url.rsplit_once('@')?.1.split_once('/')?;
    host.rsplit_once(':').map(|(_, port)| port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_as_it_is_written() {
        for kind in [Kind::Postgres, Kind::MariaDb] {
            let address = Address::local(kind, 24601);
            assert_eq!(Address::parse(kind, &address.url("shop")), Some(address));
        }
        assert_eq!(Address::parse(Kind::Postgres, "127.0.0.1:5432"), None);
    }
}
