//! Cookies. If the shop is reached through HTTPS, they are sent over HTTPS only, and their names begin with `__Host-`: so
//! that no other host and no attacker on a plaintext connection can plant one.

use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{Extensions, HeaderMap, HeaderValue};
use axum::response::Response;

/// Whether the shop is reached through HTTPS. In the extensions of every request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Https(pub(crate) bool);

/// A cookie that a response sets. Scripts cannot read any of them.
#[derive(Debug, Clone)]
pub(crate) struct Cookie {
    /// Without the prefix.
    pub(crate) name: &'static str,
    /// Only characters that a cookie may contain unescaped.
    pub(crate) value: String,
    /// Seconds until the browser forgets it.
    pub(crate) max_age: u32,
}

/// The cookies of a response.
#[derive(Debug, Clone, Default)]
struct PendingCookies(Vec<Cookie>);

/// Adds a cookie to the response. [`write`] turns it into a header.
pub(crate) fn leave(response: &mut Response, cookie: Cookie) {
    response.extensions_mut().get_or_insert_default::<PendingCookies>().0.push(cookie);
}

/// Deletes a cookie.
pub(crate) fn take_away(response: &mut Response, name: &'static str) {
    leave(response, Cookie { name, value: String::new(), max_age: 0 });
}

/// Turns the added cookies into headers.
pub(crate) fn write(response: &mut Response, Https(https): Https) {
    let PendingCookies(cookies) = response.extensions_mut().remove().unwrap_or_default();
    let (prefix, secure) = if https { ("__Host-", "; Secure") } else { ("", "") };
    for Cookie { name, value, max_age } in cookies {
        let header = format!("{prefix}{name}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax{secure}");
        match HeaderValue::try_from(header) {
            Ok(header) => drop(response.headers_mut().append(SET_COOKIE, header)),
            Err(_) => tracing::error!(name, "a cookie could not be written"),
        }
    }
}

/// The value of a cookie, if the browser sent it.
pub(crate) fn read<'a>(headers: &'a HeaderMap, extensions: &Extensions, name: &str) -> Option<&'a str> {
    let is_https = extensions.get().is_some_and(|Https(https)| *https);
    let prefix = if is_https { "__Host-" } else { "" };
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| key.strip_prefix(prefix) == Some(name)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;

    use super::*;

    fn found<'a>(headers: &'a HeaderMap, https: bool, name: &str) -> Option<&'a str> {
        let mut extensions = Extensions::new();
        extensions.insert(Https(https));
        read(headers, &extensions, name)
    }

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static("id=x; xlang=en; lang=ko"))]);
        assert_eq!((found(&headers, false, "lang"), found(&headers, false, "ang")), (Some("ko"), None));
    }

    #[test]
    fn over_https_only_a_cookie_counts_that_no_other_host_can_set() {
        let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static("shop=planted; __Host-shop=own"))]);
        assert_eq!(found(&headers, true, "shop"), Some("own"));
        let planted = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static("shop=planted"))]);
        assert_eq!(found(&planted, true, "shop"), None);
    }

    #[test]
    fn cookies_are_http_only_and_host_prefixed_over_https() {
        for (https, expected) in [
            (true, "__Host-shop=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"),
            (false, "shop=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax"),
        ] {
            let mut response = ().into_response();
            leave(&mut response, Cookie { name: "shop", value: "x".into(), max_age: 60 });
            write(&mut response, Https(https));
            assert_eq!(response.headers()[SET_COOKIE], expected);
        }
    }
}
