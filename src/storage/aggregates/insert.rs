//! Inserting a new aggregate, also under the id of a deleted one.

use super::revisions::keep;
use super::save::insert_children;
use super::{AggregateRows, Removed, Write, audit, number};
use crate::aggregate::mapping::{Mapping, MappingError, Rows};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::Authorship;

/// Inserts a new aggregate; `None` if the id exists already. Its version is 1, or the next one after that of an aggregate
/// that was deleted under this id.
pub(in crate::storage) async fn insert(
    table: &mut dyn AggregateRows,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    author: &Authorship,
) -> Result<Option<Version>, DatabaseError> {
    let audit = audit(mapping, author, &table.audited_at());
    let Some(removed) = table.insert_root(mapping, key, rows, &audit).await? else { return Ok(None) };
    complete(table, mapping, key, rows, author, &audit, removed).await.map(Some)
}

/// Inserts the root of a new aggregate whose id the database generates; returns the id.
pub(in crate::storage) async fn insert_generated(
    table: &mut dyn AggregateRows,
    mapping: &'static Mapping,
    rows: &Rows,
    author: &Authorship,
) -> Result<i64, DatabaseError> {
    let audit = audit(mapping, author, &table.audited_at());
    table.insert_generated(mapping, rows, &audit).await
}

/// Inserts the rest of an aggregate whose root was inserted as version 1.
pub(in crate::storage) async fn complete_insert(
    table: &mut dyn AggregateRows,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    author: &Authorship,
) -> Result<Version, DatabaseError> {
    let removed = table.removed(key).await?;
    let audit = audit(mapping, author, &table.audited_at());
    complete(table, mapping, key, rows, author, &audit, removed).await
}

/// Raises the version of a root that was inserted as version 1, if another one was deleted under its id, and inserts the children.
async fn complete(
    table: &mut dyn AggregateRows,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    author: &Authorship,
    audit: &[Value],
    removed: Removed,
) -> Result<Version, DatabaseError> {
    let version = Version::after_removed(removed)
        .map_err(|error| MappingError::new(&mapping.root.name, &mapping.version, error.to_string()))?;
    if version != Version::FIRST {
        let (id, to, from) = (&rows.root[..mapping.root.key], number(version), number(Version::FIRST));
        let values: Vec<_> = audit.iter().chain([&to]).chain(id).chain([&from]).collect();
        table.write(mapping, Write::UpdateRoot { id, changed: &[] }, &values).await?;
    }
    for (children, inserted) in mapping.children.iter().zip(&rows.children) {
        insert_children(table, mapping, children, &rows.root, &inserted.iter().collect::<Vec<_>>()).await?;
    }
    keep(table, mapping, key, version, rows, author).await?;
    Ok(version)
}
