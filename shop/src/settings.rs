//! How the shop is reached, and how long anybody may take.

use std::time::Duration;

/// How the shop is reached. The default: on this machine, without HTTPS.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whether browsers come through HTTPS: then cookies are theirs alone, and browsers are told never to come without.
    pub https: bool,
    /// The host names by which the shop answers, without ports. Whoever asks for another one has been led here by a name
    /// that somebody else owns (DNS rebinding), and gets nothing.
    pub hosts: Vec<String>,
    /// Whether a proxy of one's own is in front: then the last address in `X-Forwarded-For` is the visitor's.
    pub behind_proxy: bool,
    /// The most connections at a time. Others wait until they are accepted.
    pub connections: usize,
    /// How long anybody may take.
    pub times: Times,
}

/// How long anybody may take.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// To send the head of a request; also between two requests of a connection.
    pub head: Duration,
    /// To send the body of a request.
    pub body: Duration,
    /// For an answer, body included. What takes longer is answered with a page that says so.
    pub answer: Duration,
    /// For a connection, however many requests come in it. The one that is under way is still answered.
    pub connection: Duration,
    /// For what is under way when the shop is closed.
    pub drain: Duration,
}

/// The names of this machine for itself.
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
    /// Whether the shop answers by this name: the value of a `Host` header, or the authority of an address.
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
