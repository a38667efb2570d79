//! Tests that use both servers.

mod connecting;
mod examples;
mod restored;
mod rights;
mod tls;
mod wider_tables;
mod with_sea_orm;
