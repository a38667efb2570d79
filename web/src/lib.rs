//! The web kit of tenure, for axum: the server side of a form that holds a lease or carries a version.
//!
//! - [`beat`]: the heartbeat of an open form, and the lock with its first change;
//! - [`now`]: the light question of a visible page: has anything changed? It keeps nothing alive;
//! - [`watched`]: what many pages ask for, read once for all of them;
//! - [`verdict`]: the permitted actions and the holder of the lock, decided once for lists, pages, forms and heartbeats;
//! - [`leases`]: the release of a lease, and the scripts that pages load;
//! - [`sent`]: the response to a form, for browsers and for the page's script;
//! - [`browser_key`], [`form_id`]: pages with their own address, without a lock id in it;
//! - [`problem`]: refusals as RFC 9457 problem details, with the possible next actions;
//! - [`versions`]: `ETag` and `If-Match`, for clients that save by request instead of by form;
//! - [`csrf`]: an unsafe request needs the page's own token. Put `tower_http::csrf::CsrfLayer` before it, which refuses
//!   requests that browsers mark as cross-site.
//!
//! A GET never acquires a lock. Lock ids travel in request bodies only, never in URLs.
//!
//! # The page's side
//!
//! `<script type="module" src="/tenure/tenure.js">` on every page. It looks for a form with these attributes:
#![doc = include_str!("../assets/README.md")]

pub mod beat;
pub mod browser_key;
pub mod csrf;
pub mod form_id;
pub mod leases;
pub mod now;
pub mod problem;
pub mod sent;
pub mod verdict;
pub mod versions;
pub mod watched;

/// Parses bytes from twice as many hexadecimal digits.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}
