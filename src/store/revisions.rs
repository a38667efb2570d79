//! The last versions of an aggregate, as many as its mapping names, and the version of a deleted one.

use crate::aggregate::mapping::{Mapping, MappingError, Rows};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::clock::from_millis;
use crate::db::columns::there;
use crate::db::{Bind, Connection, Row, RowLock, Statement, Text};
use crate::error::DatabaseError;
use crate::lease::{LockKey, Owner};
use crate::store::Authorship;
use crate::store::statements;
use crate::version::conflict::Change;

static STATE: Text =
    Text::new("select state from tenure_revision where kind = $1 and id = $2 and version = $3 and shape = $4");

/// The state at a version, if it is still stored, and was written with the same columns.
pub(crate) async fn state(
    db: &mut Connection,
    mapping: &'static Mapping,
    key: &LockKey,
    at: Version,
) -> Result<Option<Rows>, DatabaseError> {
    let shape = mapping.shape();
    let select = STATE.with([Bind::Key(key.kind()), Bind::Key(key.id()), at.number().into(), Bind::Text(&shape)]);
    let rows = db.read(select, RowLock::None).await?;
    let Some(state) = rows.first().map(|row| row.text_at(0)).transpose()?.flatten() else { return Ok(None) };
    serde_json::from_str(&state).map(Some).map_err(|error| misfit(&error))
}

static CHANGES: Text = Text::new(
    "select version, changed_at, by_id, by_name, command from tenure_revision
      where kind = $1 and id = $2 order by version desc limit $3",
);

/// The stored changes, newest first. Without revisions, the audit columns contain the latest.
pub(crate) async fn changes(
    db: &mut Connection,
    mapping: &'static Mapping,
    key: &LockKey,
    id: &[Value],
    limit: u32,
) -> Result<Vec<Change>, DatabaseError> {
    let select = match (mapping.revisions, mapping.dated_audit()) {
        (0, Some((audit, at))) => {
            let sql = statements::select_audit(db.sheet(), mapping, audit, at);
            Statement::new(sql, id.iter().map(Bind::from).collect())
        }
        _ => CHANGES.with([Bind::Key(key.kind()), Bind::Key(key.id()), i64::from(limit).into()]),
    };
    let rows = db.read(select, RowLock::None).await?;
    rows.iter().take(limit as usize).map(change).collect()
}

fn change(row: &Row) -> Result<Change, DatabaseError> {
    let number = |column| row.get(|row| there(row.number(column), column));
    let text = |column| row.get(|row| row.text(column));
    Ok(Change {
        version: Version::new(number("version")?).map_err(|error| misfit(&error))?,
        by: text("by_id")?.zip(text("by_name")?).map(|(id, name)| Owner::new(id, name)),
        at: from_millis(number("changed_at")?),
        command: text("command")?,
    })
}

/// A later save of this version in the same transaction replaces an earlier one.
static KEEP: Text = Text::new(
    "insert into tenure_revision (kind, id, version, state, changed_at, by_id, by_name, command, shape)
     values ($1, $2, $3, $4, {now $5}, $6, $7, $8, $9)
     {on_conflict kind, id, version} state = {new state}, changed_at = {new changed_at}, by_id = {new by_id},
            by_name = {new by_name}, command = {new command}, shape = {new shape}",
);

/// Stores this version, and deletes versions beyond the limit.
pub(super) async fn keep(
    db: &mut Connection,
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
    let (by, shape) = (author.by.as_ref(), mapping.shape());
    let [by, name] = [by.map(|by| &*by.id), by.map(|by| &*by.name)].map(Bind::from);
    let command = Bind::from(author.command.as_deref());
    let (kind, id, number) = (Bind::Key(key.kind()), Bind::Key(key.id()), version.number());
    let values = [kind, id, number.into(), Bind::Text(&state), db.now(), by, name, command, Bind::Text(&shape)];
    db.write(KEEP.with(values)).await?;
    discard(db, key, version.number() - i64::from(mapping.revisions)).await
}

/// The version of a deleted aggregate never falls.
static NOTE_REMOVED: Text = Text::new(
    "insert into tenure_removed (kind, id, version, removed_at) values ($1, $2, $3, {now $4})
     {on_conflict kind, id} version = {greatest}(tenure_removed.version, {new version}), removed_at = {new removed_at}",
);

/// Deletes the revisions of a deleted aggregate, because another one may be created under its id; that one continues after this version.
pub(super) async fn end(db: &mut Connection, key: &LockKey, version: Version) -> Result<(), DatabaseError> {
    discard(db, key, i64::MAX).await?;
    let (kind, id) = (Bind::Key(key.kind()), Bind::Key(key.id()));
    db.write(NOTE_REMOVED.with([kind, id, version.number().into(), db.now()])).await?;
    Ok(())
}

/// The version of the aggregate that was deleted under an id, if there was one.
pub(super) type Removed = Option<i64>;

static REMOVED: Text = Text::new("select version from tenure_removed where kind = $1 and id = $2");

/// Reads the version of the aggregate that was deleted under this key.
pub(super) async fn removed(db: &mut Connection, key: &LockKey) -> Result<Removed, DatabaseError> {
    let lock = db.sheet().row_locks.as_ref().map_or(RowLock::None, |locks| locks.rereads);
    let rows = db.read(REMOVED.with([Bind::Key(key.kind()), Bind::Key(key.id())]), lock).await?;
    rows.first().map(|row| row.integer_at(0)).transpose().map(Option::flatten)
}

static DISCARD: Text = Text::new("delete from tenure_revision where kind = $1 and id = $2 and version <= $3");

async fn discard(db: &mut Connection, key: &LockKey, upto: i64) -> Result<(), DatabaseError> {
    db.write(DISCARD.with([Bind::Key(key.kind()), Bind::Key(key.id()), upto.into()])).await?;
    Ok(())
}

/// What is stored does not fit.
fn misfit(error: &dyn std::error::Error) -> DatabaseError {
    MappingError::new("tenure_revision", "state", error.to_string()).into()
}
