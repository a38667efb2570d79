//! What is stored beside an aggregate: its last versions, as many as its mapping names, and the version of a deleted one.

use super::{AggregateRows, Write, number};
use crate::aggregate::mapping::{Mapping, Rows};
use crate::aggregate::value::{Kind, Value};
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::Authorship;
use crate::storage::sql::revisions::misfit;
use crate::storage::sql::texts::{Texts, What};

static SHAPES: Texts = Texts::new();

/// Stores this version, and deletes versions beyond the limit.
pub(super) async fn keep(
    table: &mut dyn AggregateRows,
    mapping: &'static Mapping,
    key: &LockKey,
    version: Version,
    rows: &Rows,
    author: &Authorship,
) -> Result<(), DatabaseError> {
    if mapping.revisions == 0 {
        return Ok(());
    }
    let state = serde_json::to_string(rows).map_err(|error| misfit(&error))?;
    let text = |text: Option<&String>| text.cloned().map_or(Value::Null(Kind::Text), Value::Text);
    let (by, shape) = (author.by.as_ref(), SHAPES.get(What::Shape, &mapping.root, &[], || mapping.shape()));
    let shape = Value::Text(shape.to_string());
    let author = [text(by.map(|by| &by.id)), text(by.map(|by| &by.name)), text(author.command.as_ref())];
    let (stored, change) = (table.key(key), [number(version), Value::Text(state), table.now()]);
    let values: Vec<_> = stored.iter().chain(&change).chain(&author).chain([&shape]).collect();
    table.write(mapping, Write::KeepRevision, &values).await?;
    discard(table, mapping, key, version.number() - i64::from(mapping.revisions)).await
}

/// Deletes the revisions of a deleted aggregate, because another one may be created under its id; that one continues after this version.
pub(super) async fn end(
    table: &mut dyn AggregateRows,
    mapping: &'static Mapping,
    key: &LockKey,
    version: Version,
) -> Result<(), DatabaseError> {
    discard(table, mapping, key, i64::MAX).await?;
    let ([kind, id], version, now) = (table.key(key), number(version), table.now());
    table.write(mapping, Write::NoteRemoved, &[&kind, &id, &version, &now]).await?;
    Ok(())
}

async fn discard(
    table: &mut dyn AggregateRows,
    mapping: &'static Mapping,
    key: &LockKey,
    upto: i64,
) -> Result<(), DatabaseError> {
    let ([kind, id], upto) = (table.key(key), Value::Integer(upto));
    table.write(mapping, Write::DiscardRevisions, &[&kind, &id, &upto]).await?;
    Ok(())
}
