//! A URL with several hosts, in the syntax of libpq. No I/O.

use std::net::Ipv6Addr;

/// The most hosts of a URL. Each is asked whenever the writer is looked for.
const MOST: usize = 8;

/// A host of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::storage) struct Host {
    /// Its name or address, and its port: `db1:5432`.
    pub name: String,
    /// The URL with this host only.
    pub url: String,
}

/// The host part of a URL: everything before it, itself, and everything after it.
fn parts(url: &str) -> Option<(&str, &str, &str)> {
    let begin = url.find("://")? + "://".len();
    let end = url[begin..].find(['/', '?', '#']).map_or(url.len(), |at| begin + at);
    // A comma before the `@` belongs to the password.
    let begin = url[begin..end].rfind('@').map_or(begin, |at| begin + at + 1);
    Some((&url[..begin], &url[begin..end], &url[end..]))
}

/// Each host of a URL that names several, in its order; empty for a URL with one host, which is left to the driver.
///
/// # Errors
/// The problem of the list. It contains no password.
pub(in crate::storage) fn several(url: &str, default_port: u16) -> Result<Vec<Host>, String> {
    let Some((before, list, after)) = parts(url).filter(|(_, list, _)| list.contains(',')) else {
        return Ok(Vec::new());
    };
    let texts: Vec<&str> = list.split(',').collect();
    if texts.len() > MOST {
        return Err(format!("it names {} hosts; at most {MOST} are allowed", texts.len()));
    }
    let mut hosts: Vec<Host> = Vec::with_capacity(texts.len());
    for (at, text) in texts.iter().enumerate() {
        let name = named(text, default_port).map_err(|problem| format!("host {} of the list {problem}", at + 1))?;
        if hosts.iter().any(|host| host.name == name) {
            return Err(format!("it names the host {name} twice"));
        }
        hosts.push(Host { name, url: format!("{before}{text}{after}") });
    }
    Ok(hosts)
}

/// The name of a host with its port.
fn named(text: &str, default_port: u16) -> Result<String, String> {
    if text.is_empty() {
        return Err("is empty".into());
    }
    let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((address, rest))) => {
            if address.parse::<Ipv6Addr>().is_err() {
                return Err(format!("is no IPv6 address: [{address}]"));
            }
            let port = rest.strip_prefix(':');
            if port.is_none() && !rest.is_empty() {
                return Err(format!("has something other than a port after the address: {text}"));
            }
            (format!("[{}]", address.to_ascii_lowercase()), port)
        }
        Some(None) => return Err(format!("has no `]` after the IPv6 address: {text}")),
        None => match text.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err(format!("needs brackets if it is an IPv6 address: [{text}]"));
            }
            Some((host, port)) => (host.to_ascii_lowercase(), Some(port)),
            None => (text.to_ascii_lowercase(), None),
        },
    };
    if host.is_empty() {
        return Err(format!("has a port and no name: {text}"));
    }
    let port = match port {
        None => default_port,
        Some(port) => match port.parse::<u16>() {
            Ok(port) if port > 0 => port,
            _ => return Err(format!("has no valid port: {text}")),
        },
    };
    Ok(format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(url: &str) -> Vec<String> {
        several(url, 5432).expect("a list").into_iter().map(|host| host.name).collect()
    }

    #[test]
    fn url_with_one_host_is_left_to_the_driver() {
        for url in
            ["postgres://db/shop", "postgres://u:a,b@db:1/shop?x=a,b", "postgres:///shop?host=/a,b", "mysql://[::1]/d"]
        {
            assert_eq!(several(url, 5432), Ok(Vec::new()), "{url}");
        }
    }

    #[test]
    fn each_host_gets_a_url_of_its_own() {
        let hosts = several("postgres://u:p%2C@DB1:5433,db2,[::1]:7/shop?sslmode=require#x", 5432).expect("a list");
        let urls: Vec<&str> = hosts.iter().map(|host| &*host.url).collect();
        assert_eq!(
            urls,
            [
                "postgres://u:p%2C@DB1:5433/shop?sslmode=require#x",
                "postgres://u:p%2C@db2/shop?sslmode=require#x",
                "postgres://u:p%2C@[::1]:7/shop?sslmode=require#x"
            ]
        );
        assert_eq!(names("postgres://u:a,b@c@DB1:5433,db2"), ["db1:5433", "db2:5432"]);
        assert_eq!(names("postgres://[::1],[::2]:1?x"), ["[::1]:5432", "[::2]:1"]);
        assert_eq!(names("postgres://a,b,c,d,e,f,g,h").len(), 8);
    }

    #[test]
    fn faulty_lists_of_hosts_are_refused_with_the_reason() {
        for (list, reason) in [
            ("a,", "host 2 of the list is empty"),
            (",a", "host 1 of the list is empty"),
            ("a,,b", "host 2 of the list is empty"),
            ("a,A:5432", "names the host a:5432 twice"),
            ("a,:1", "a port and no name"),
            ("a:0,b", "no valid port"),
            ("a:,b", "no valid port"),
            ("a:65536,b", "no valid port"),
            ("a:x,b", "no valid port"),
            ("::1,b", "needs brackets"),
            ("[::1,b", "no `]`"),
            ("[::g],b", "no IPv6 address"),
            ("[::1]5,b", "other than a port"),
            ("a,b,c,d,e,f,g,h,i", "it names 9 hosts; at most 8"),
        ] {
            let refused = several(&format!("postgres://kim:secret@{list}/shop"), 5432).expect_err(list);
            assert!(refused.contains(reason) && !refused.contains("secret"), "{list}: {refused}");
        }
    }
}
