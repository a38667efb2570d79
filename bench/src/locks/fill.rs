//! Fills tenure's lock table, faster than by acquiring millions of leases: one lease is acquired and released, and its row is copied under
//! other keys. The list of columns is read from the database. **If the table changes, adapt this**: [`UNIQUE`] contains the columns that
//! must differ in every row, and each database's file writes the rows.

mod mysql;
mod postgres;
mod sqlite;

use super::tenure::Tenure;
use super::verbs::Locks;
use crate::Outcome;
use crate::backend::Backend;

/// The id of the copied row, found by its whole key; otherwise millions of rows would be read.
const ID: &str = "template";
const TEMPLATE: &str = "template.kind = 'Bench' and template.id = 'template'";

/// Columns that are different in every row: the aggregate's id, the hash of the lock id.
const UNIQUE: [&str; 2] = ["id", "lock_hash"];

/// Rows that one statement copies.
const AT_ONCE: u64 = 100_000;

/// The distribution of the hashes over their whole range, so that new ones fall between them: the step from one to the next, in the first
/// four bytes.
fn step(rows: u64) -> u64 {
    (u64::from(u32::MAX) / rows).max(1)
}

/// The id of a row, by its number. In the order of the numbers; otherwise the copies would be scattered over the whole index.
pub(super) fn key(number: u64) -> String {
    format!("row-{number:09}")
}

/// The columns, each with its value in a copy.
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

/// Inserts rows up to this number.
pub(super) async fn grow(backend: Backend, url: &str, tenure: &Tenure, rows: u64) -> Outcome<()> {
    let ticket = tenure.try_lock(ID, "kim").await?;
    tenure.release(&ticket).await?;
    match backend {
        Backend::Sqlite => sqlite::grow(url, rows).await,
        Backend::Postgres => postgres::grow(url, rows).await,
        Backend::MySql => mysql::grow(url, rows).await,
    }
}
