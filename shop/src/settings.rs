//! The addresses of the shop, and time limits.

use std::time::Duration;

/// The addresses of the shop. The default: on this machine, without HTTPS.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whether browsers connect through HTTPS: then cookies are restricted to it, and HSTS is sent.
    pub https: bool,
    /// The host names of the shop, without ports. A request for another name uses a host name
    /// of a third party (DNS rebinding), and is refused.
    pub hosts: Vec<String>,
    /// Whether one's own proxy is in front: then the last address in `X-Forwarded-For` is the visitor's.
    pub behind_proxy: bool,
    /// The maximum number of connections. Others wait until they are accepted.
    pub connections: usize,
    /// Time limits.
    pub times: Times,
}

/// Time limits.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// For the head of a request; also between two requests of a connection.
    pub head: Duration,
    /// For the body of a request.
    pub body: Duration,
    /// For a response, body included. A slower one is replaced by an error page.
    pub answer: Duration,
    /// For a connection, for any number of requests. The one in flight is still answered.
    pub connection: Duration,
    /// For requests in flight at shutdown.
    pub drain: Duration,
}

/// The local names of this machine.
pub(crate) const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Default for Settings {
    fn default() -> Self {
        Settings {
            https: false,
            hosts: LOOPBACK.map(str::to_owned).to_vec(),
            behind_proxy: false,
            connections: 1_024,
            times: Times::default(),
        }
    }
}

impl Default for Times {
    fn default() -> Self {
        Times {
            head: Duration::from_secs(10),
            body: Duration::from_secs(15),
            answer: Duration::from_secs(30),
            connection: Duration::from_secs(5 * 60),
            drain: Duration::from_secs(6),
        }
    }
}

impl Settings {
    /// Whether this is a host name of the shop: the value of a `Host` header, or the authority of an address.
    pub(crate) fn answers_by(&self, authority: &str) -> bool {
        let name = host(authority);
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// Without the port.
fn host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() => name,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shop_answers_by_its_own_names_with_any_port() {
        let settings = Settings { hosts: vec!["shop.example".into(), "[::1]".into()], ..Settings::default() };
        for own in ["shop.example", "Shop.Example", "shop.example:8443", "[::1]", "[::1]:8080"] {
            assert!(settings.answers_by(own), "{own}");
        }
        for other in [
            "",
            ":80",
            "evil.example",
            "shop.example.evil",
            "shop.example:x",
            "a@shop.example",
            "[::2]:8080",
            "127.0.0.1",
        ] {
            assert!(!settings.answers_by(other), "{other}");
        }
    }
}
