//! Fills tenure's lock table, faster than by taking millions of leases: one lease is taken and given back, and its row is
//! copied under other keys. Which columns there are is read from the database. **If the table changes, this is the place
//! that has to follow**: [`UNIQUE`] names the columns that no two rows may have alike, and each database's file says what
//! is written there.

mod mysql;
mod postgres;
mod sqlite;

use super::tenure::Tenure;
use super::verbs::Locks;
use crate::Outcome;
use crate::backend::Backend;

/// The id of the row that is copied, and how it is found: by the whole key, or millions of rows are looked at for it.
const ID: &str = "template";
const TEMPLATE: &str = "template.kind = 'Bench' and template.id = 'template'";

/// Columns that are different in every row: the aggregate's id, the hash of the lock id.
const UNIQUE: [&str; 2] = ["id", "lock_hash"];

/// Rows that are copied in one statement.
const AT_ONCE: u64 = 100_000;

/// How the hashes are spread over all that there are, so that new ones fall between them: the step from one to the next,
/// in the first four bytes.
fn step(rows: u64) -> u64 {
    (u64::from(u32::MAX) / rows).max(1)
}

/// The id of a row, by its number. In the order of the numbers, or the copies would be scattered over the whole index.
pub(super) fn key(number: u64) -> String {
    format!("row-{number:09}")
}

/// The columns, each with the value that a copy has there.
fn copied(columns: &[String], unique: [&str; 2]) -> Outcome<String> {
    let missing = UNIQUE.iter().find(|unique| !columns.iter().any(|column| column == *unique));
    if let Some(missing) = missing {
        return Err(format!("tenure_lock has no column {missing} any more: adapt bench/src/locks/fill.rs").into());
    }
    let value = |column: &String| match UNIQUE.iter().position(|unique| unique == column) {
        Some(at) => unique[at].to_owned(),
        None => format!("template.{column}"),
    };
    Ok(columns.iter().map(value).collect::<Vec<_>>().join(", "))
}

/// Makes rows until there are that many.
pub(super) async fn grow(backend: Backend, url: &str, tenure: &Tenure, rows: u64) -> Outcome<()> {
    let ticket = tenure.try_lock(ID, "kim").await?;
    tenure.release(&ticket).await?;
    match backend {
        Backend::Sqlite => sqlite::grow(url, rows).await,
        Backend::Postgres => postgres::grow(url, rows).await,
        Backend::MySql => mysql::grow(url, rows).await,
    }
}
