//! Free ports on 127.0.0.1.

use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;

/// Below the ports that Linux assigns to outgoing connections. A client could take one of those while its server is down, and then the
/// server could not use it again.
const RANGE: std::ops::Range<u16> = 20_000..32_000;

/// A port without a listener. Another program may take it first, so the caller must be ready to try another.
pub(crate) fn free() -> u16 {
    let random = RandomState::new();
    let size = u64::from(RANGE.end - RANGE.start);
    // Random, so that concurrent test programs do not all try the same ones.
    let mut candidates = (0_u64..).map(|n| RANGE.start + (random.hash_one(n) % size) as u16).take(1000);
    candidates.find(|port| is_free(*port)).expect("none of a thousand ports of 127.0.0.1 is free")
}

pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}
