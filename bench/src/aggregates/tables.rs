//! The tables of both sides.

use crate::backend::Backend;

/// The statements that create them.
pub(crate) fn tables(backend: Backend) -> &'static str {
    match backend {
        Backend::Sqlite => include_str!("tables/sqlite.sql"),
        Backend::Postgres => include_str!("tables/postgres.sql"),
        Backend::MySql => include_str!("tables/mysql.sql"),
    }
}
