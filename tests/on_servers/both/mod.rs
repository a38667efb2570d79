//! Tests that use both servers.

mod connecting;
mod restored;
mod rights;
mod tls;
mod with_sea_orm;
