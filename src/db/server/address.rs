//! Addresses of servers: whether one is on this machine, its redacted form, and the URL settings that a driver supports. No I/O.

use std::net::IpAddr;
use std::str::FromStr;

use crate::db::Address;
use crate::error::DatabaseError;

/// Whether a host is this machine. Names other than `localhost` are not resolved, because the result may change each time.
pub(crate) fn is_local(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => bare.strip_suffix('.').unwrap_or(bare).eq_ignore_ascii_case("localhost"),
    }
}

/// A driver's options, as the URL or the application has set them, and the URL with the settings that the driver knows.
pub(crate) fn read<O: FromStr<Err = sqlx::Error>>(
    address: Address<'_, O>,
    scheme: &str,
    known: impl Fn(&str) -> Result<String, String>,
) -> Result<(O, String), DatabaseError> {
    let url = match address {
        Address::Url(url) => url,
        Address::Options(options) => return Ok((*options, String::new())),
    };
    let understood = one_host(url).and_then(|()| known(url)).and_then(|url| match url.parse::<O>() {
        Ok(options) => Ok((options, url)),
        Err(error) => Err(error.to_string()),
    });
    understood.map_err(|problem| DatabaseError::Unreachable {
        url: format!("{scheme}://…"),
        problem: format!("the URL is not understood: {problem}"),
    })
}

/// Refuses a URL with a list of hosts, which the drivers would take for one name.
pub(crate) fn one_host(url: &str) -> Result<(), String> {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A comma before the `@` belongs to the password.
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let named = settings(url).filter(|(name, _)| ["host", "hostaddr", "port"].contains(&&**name));
    let mut values = named.filter_map(|(_, pair)| pair.split_once('=').map(|(_, value)| decoded(value)));
    // A path of a socket may contain a comma.
    match host.contains(',') || values.any(|value| value.contains(',') && !value.starts_with('/')) {
        true => Err("it names several hosts, and tenure connects to one address: put a proxy or a DNS name that leads to the writer in front \
                     of them, and name that; docs/clusters.md says how"
            .into()),
        false => Ok(()),
    }
}

/// The names of the settings in a URL.
fn settings(url: &str) -> impl Iterator<Item = (String, &str)> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let query = query.split_once('#').map_or(query, |(query, _)| query);
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let name = pair.split_once('=').map_or(pair, |(name, _)| name);
        (decoded(name), pair)
    })
}

/// The names of the settings in a URL, for the fuzz target.
#[cfg(fuzzing)]
pub(crate) fn setting_names(url: &str) -> Vec<String> {
    settings(url).map(|(name, _)| name).collect()
}

/// Whether a URL has one of these settings.
pub(crate) fn has(url: &str, names: &[&str]) -> bool {
    settings(url).any(|(name, _)| names.contains(&&*name))
}

/// A URL with only those settings that its driver supports. The drivers ignore the others, and one of them logs their values, which may be
/// a password after a typing error in its name. Settings about TLS are refused instead: the error contains the name.
pub(crate) fn known(url: &str, is_known: impl Fn(&str) -> bool) -> Result<String, String> {
    let mut kept = Vec::new();
    for (name, pair) in settings(url) {
        match is_known(&name) {
            true => kept.push(pair),
            false if name.to_ascii_lowercase().starts_with("ssl") || name.to_ascii_lowercase().starts_with("tls") => {
                return Err(name);
            }
            false => tracing::warn!(?name, "the URL of the database has a setting that is not known; it is ignored"),
        }
    }
    let base = url.split_once('?').map_or(url, |(base, _)| base);
    Ok(if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) })
}

/// `%41` becomes `A`, as the drivers read it.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(if *first == b'+' { b' ' } else { *first });
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_and_localhost_are_this_machine() {
        for host in
            ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "::ffff:127.0.0.1", "localhost", "LOCALHOST", "localhost."]
        {
            assert!(is_local(host), "{host}");
        }
        for host in
            ["", "db", "0.0.0.0", "10.0.0.1", "::", "localhost.example", "127.0.0.1.example", "127.1", "fe80::1"]
        {
            assert!(!is_local(host), "{host}");
        }
    }

    #[test]
    fn list_of_hosts_is_refused_with_the_remedy() {
        for url in
            ["x://db/d", "x://u:a,b@db:1/d?x=a,b", "x:///d?host=/a,b", "x://[::1]/a,b", "x", "x://u@h?host=a#b,c"]
        {
            assert_eq!(one_host(url), Ok(()), "{url}");
        }
        for url in
            ["x://a,b/d", "x://u:p@a:1,b:2/d", "x://[::1],[::2]", "x://a,?x=y", "x:///d?host=a,b", "x:///d?port=1%2C2"]
        {
            let refused = one_host(url).expect_err(url);
            assert!(refused.contains("a proxy or a DNS name") && refused.contains("docs/clusters.md"), "{refused}");
        }
    }

    #[test]
    fn a_setting_that_the_driver_ignores_never_reaches_it() {
        let known = |url: &str| known(url, |name| ["sslmode", "password"].contains(&name));
        assert_eq!(known("x://h/d"), Ok("x://h/d".into()));
        assert_eq!(known("x://h/d?pasword=secret"), Ok("x://h/d".into()));
        let both = "x://h/d?pa%73sword=a%26b&pasword=secret&sslmode=require#end";
        assert_eq!(known(both), Ok("x://h/d?pa%73sword=a%26b&sslmode=require".into()));
        for misspelt in ["ssl_mode", "SSLMODE", "ssl%5fmode", "tls"] {
            assert!(known(&format!("x://h/d?{misspelt}=require")).is_err(), "{misspelt}");
        }
        assert!(has("x://h/d?ssl%72ootcert=ca.pem", &["sslrootcert"]));
        assert_eq!(decoded("%+d%f%c3%a9"), "% d%fé");
    }
}
