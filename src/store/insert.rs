//! Inserting a new aggregate, also under the id of a deleted one.

use crate::aggregate::diff::Diff;
use crate::aggregate::mapping::{Mapping, MappingError, Rows};
use crate::aggregate::version::Version;
use crate::db::{Bind, Connection, Inserts, RowLock, Statement, Text};
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::store::Authorship;
use crate::store::plan::{Rules, plan};
use crate::store::revisions::{Removed, removed};
use crate::store::save::{Audit, lock_first, not_written, number, update_root, write_children};
use crate::store::{load, revisions, statements};

/// Inserts a new aggregate; `None` if the id exists already. Its version is 1, or the next one after that of an aggregate that was deleted
/// under this id.
pub(crate) async fn insert(
    db: &mut Connection,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    author: &Authorship,
    rules: &Rules,
) -> Result<Option<Version>, DatabaseError> {
    let audit = Audit::of(mapping, author);
    let inserted = match insert_root(db, mapping, key, rows, &audit).await {
        // Or one with this id was there, and was deleted before it was looked for.
        Err(DatabaseError::NotWritten { .. }) => insert_root(db, mapping, key, rows, &audit).await?,
        inserted => inserted?,
    };
    let Some(removed) = inserted else { return Ok(None) };
    complete(db, mapping, key, rows, author, rules, removed).await.map(Some)
}

/// Inserts the root as version 1; `None` if its id exists.
async fn insert_root(
    db: &mut Connection,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    audit: &Audit,
) -> Result<Option<Removed>, DatabaseError> {
    let id = &rows.root[..mapping.root.key];
    lock_first(db, mapping, id).await?;
    let (first, sheet) = (number(Version::FIRST), db.sheet());
    let mut values: Vec<_> = rows.root.iter().map(Bind::from).collect();
    values.extend(audit.values(db));
    values.extend([(&first).into(), Bind::Key(key.kind()), Bind::Key(key.id())]);
    let insert = Statement::new(statements::insert_root(sheet, mapping), values);
    let inserted = match sheet.inserts {
        Inserts::Silent => db.write(insert).await.map(|_| Vec::new()),
        _ => db.write_returning(insert).await,
    };
    let refused = match (inserted, sheet.inserts) {
        (Ok(_), Inserts::Silent) => return removed(db, key).await.map(Some),
        (Ok(rows), _) => match rows.first() {
            Some(row) => return row.integer_at(0).map(Some),
            None => not_written(&mapping.root),
        },
        // Only a duplicate id is expected; another unique column is a constraint of the table. The transaction continues.
        (Err(error), Inserts::Returning | Inserts::Silent) if error.is_duplicate() => error,
        (Err(error), _) => return Err(error.in_table(&mapping.root.name)),
    };
    match load::version(db, mapping, id, RowLock::None).await? {
        Some(_) => Ok(None),
        None => Err(refused),
    }
}

/// Inserts the root of a new aggregate whose id the database generates; returns the id. [`complete_generated`] must write the rest next.
pub(crate) async fn insert_generated(
    db: &mut Connection,
    mapping: &'static Mapping,
    rows: &Rows,
    author: &Authorship,
) -> Result<i64, DatabaseError> {
    let (audit, first) = (Audit::of(mapping, author), number(Version::FIRST));
    let mut values: Vec<_> = rows.root[mapping.root.key..].iter().map(Bind::from).collect();
    values.extend(audit.values(db));
    values.push((&first).into());
    let insert = Statement::new(statements::insert_generated(db.sheet(), mapping), values);
    let inserted = match db.sheet().inserts {
        Inserts::Silent => match db.write(insert).await {
            Ok(_) => db.read(LAST_ID.with([]), RowLock::None).await,
            Err(error) => Err(error),
        },
        _ => db.write_returning(insert).await,
    };
    let rows = inserted.map_err(|error| error.in_table(&mapping.root.name))?;
    let id = rows.first().ok_or_else(|| not_written(&mapping.root))?.integer_at(0)?;
    // MySQL answers 0 if there was none.
    id.filter(|id| *id != 0 || db.sheet().inserts != Inserts::Silent).ok_or_else(|| {
        let what = "the database made no id; the column has to be `integer primary key` on SQLite, an identity column or \
                    `serial` on PostgreSQL, `auto_increment` on MariaDB and MySQL";
        MappingError::new(&mapping.root.name, &mapping.root.columns[0].name, what).into()
    })
}

static LAST_ID: Text = Text::new("select cast(last_insert_id() as signed)");

/// Writes the rest of an aggregate whose root was just inserted as version 1; returns its version.
pub(crate) async fn complete_generated(
    db: &mut Connection,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    author: &Authorship,
    rules: &Rules,
) -> Result<Version, DatabaseError> {
    let removed = removed(db, key).await?;
    complete(db, mapping, key, rows, author, rules, removed).await
}

/// Raises the version of a root that was inserted as version 1, if another one was deleted under its id, and inserts the children.
async fn complete(
    db: &mut Connection,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    author: &Authorship,
    rules: &Rules,
    removed: Removed,
) -> Result<Version, DatabaseError> {
    let version = Version::after_removed(removed)
        .map_err(|error| MappingError::new(&mapping.root.name, &mapping.version, error.to_string()))?;
    if version != Version::FIRST {
        update_root(db, mapping, &rows.root, &[], author, Version::FIRST, version).await?;
    }
    let diff = Diff::of_new(rows);
    write_children(db, mapping, &rows.root, plan(mapping, rules, &NONE, &diff)).await?;
    revisions::keep(db, mapping, key, version, rows, author).await?;
    Ok(version)
}

/// The rows of an aggregate that does not exist.
static NONE: Rows = Rows { root: Vec::new(), children: Vec::new() };
