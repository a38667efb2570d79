//! Saving and deleting a loaded aggregate.

use super::revisions::{end, keep};
use super::{AggregateRows, Hold, Write, audit, number};
use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Row, Table};
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::{Save, Saved, child_found};

/// The number of children that one statement inserts: small enough that the driver can cache a statement for every number.
const ROWS: usize = 32;

/// Writes the difference if the stored version is still the one that it is based on.
pub(in crate::storage) async fn save(table: &mut dyn AggregateRows, save: &Save<'_>) -> Result<Saved, DatabaseError> {
    let (mapping, root, changed) = (save.mapping, &save.rows.root, &save.diff.root);
    let id = &root[..mapping.root.key];
    let audit = audit(mapping, save.author, &table.audited_at());
    let (to, from) = (number(save.to), number(save.from));
    let values = changed.iter().map(|&index| &root[index]).chain(&audit).chain([&to]).chain(id).chain([&from]);
    let values: Vec<_> = values.collect();
    if table.write(mapping, Write::UpdateRoot { id, changed }, &values).await? == 0 {
        // With a lock, or it might return the state before the commit that this save waited for.
        return Ok(Saved::Stale(table.read(mapping, id, Hold::Share).await?));
    }
    // Deletes first, so that a new child may reuse a unique value of a deleted one; inner children before the outer ones.
    for (children, child) in mapping.children.iter().zip(&save.diff.children).rev() {
        for key in &child.deleted {
            let values: Vec<_> = mapping.stored(children, id, key).collect();
            child_found(children, table.write(mapping, Write::DeleteChild(children), &values).await?)?;
        }
    }
    for (children, child) in mapping.children.iter().zip(&save.diff.children) {
        for (row, changed) in &child.updated {
            let key = mapping.stored(children, id, &row[..children.key]);
            let values: Vec<_> = changed.iter().map(|&index| &row[index]).chain(key).collect();
            child_found(children, table.write(mapping, Write::UpdateChild(children, changed), &values).await?)?;
        }
        insert_children(table, mapping, children, root, &child.inserted).await?;
    }
    keep(table, mapping, save.key, save.to, save.rows, save.author).await?;
    Ok(Saved::Done)
}

/// Deletes an aggregate if the version is still the one that was loaded. Another one that is inserted under its id gets a higher version.
pub(in crate::storage) async fn delete(
    table: &mut dyn AggregateRows,
    mapping: &'static Mapping,
    key: &LockKey,
    old: &Stored,
) -> Result<Saved, DatabaseError> {
    let id = &old.rows.root[..mapping.root.key];
    // The root is locked and its version checked before the children are deleted, so that a refusal has written nothing.
    let now = table.read(mapping, id, Hold::Update).await?;
    if now.as_ref().is_none_or(|now| now.version != old.version) {
        return Ok(Saved::Stale(now));
    }
    let values: Vec<_> = id.iter().collect();
    for children in mapping.children.iter().rev() {
        table.write(mapping, Write::DeleteChildren(children), &values).await?;
    }
    table.write(mapping, Write::DeleteRoot, &values).await?;
    end(table, mapping, key, old.version).await?;
    Ok(Saved::Done)
}

/// Inserts rows into a table of children.
pub(super) async fn insert_children(
    table: &mut dyn AggregateRows,
    mapping: &'static Mapping,
    children: &'static Table,
    root: &Row,
    inserted: &[&Row],
) -> Result<(), DatabaseError> {
    let id = &root[..mapping.root.key];
    for rows in inserted.chunks(ROWS) {
        let values: Vec<_> = rows.iter().flat_map(|row| mapping.stored(children, id, row)).collect();
        table.write(mapping, Write::InsertChildren(children, rows.len()), &values).await?;
    }
    Ok(())
}
