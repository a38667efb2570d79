//! Tests on clusters of servers, each of which starts its own: see `tests/`.
