//! The application's tables as the database describes them.

use crate::aggregate::mapping::{Mapping, MappingError};
use crate::aggregate::schema::{LiveColumn, LiveTable};
use crate::db::{Bind, Catalog, Connection, RowLock};
use crate::error::DatabaseError;
use crate::store::plan::{Described, Rules};

/// Describes a table; `None` if it does not exist.
pub(super) async fn table(db: &mut Connection, name: &str) -> Result<Option<LiveTable>, DatabaseError> {
    let catalog = db.sheet().catalog;
    let rows = db.read(catalog.columns.with(of(name)), RowLock::None).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let (breaks, policed) = storage(db, catalog, name).await?;
    let mut table = LiveTable { exact_names: catalog.exact_names, breaks, policed, ..LiveTable::default() };
    for row in &rows {
        table.columns.push(LiveColumn {
            name: row.text_at(0)?.unwrap_or_default(),
            type_name: row.text_at(1)?.unwrap_or_default(),
            kinds: (catalog.kinds)(&row.text_at(2)?.unwrap_or_default()),
            cast: row.text_at(3)?,
            nullable: row.integer_at(4)? == Some(1),
            filled: row.integer_at(5)? == Some(1),
            folds: row.text_at(6)?,
            computed: row.text_at(7)?,
            width: row.text_at(8)?,
        });
    }
    for (unique, columns) in indexes(db, catalog, name).await? {
        match unique {
            Unique::All => table.unique.push(columns.clone()),
            Unique::Some => continue,
            Unique::No => {}
        }
        table.indexes.push(columns);
    }
    Ok(Some(table))
}

/// The rules of the tables of a mapping, for its saves.
///
/// # Errors
/// [`DatabaseError::Mapping`] if a table cannot keep what a transaction promises.
pub(crate) async fn rules(db: &mut Connection, mapping: &Mapping) -> Result<Rules, DatabaseError> {
    let catalog = db.sheet().catalog;
    for table in std::iter::once(&mapping.root).chain(&mapping.children) {
        if let (Some(problem), _) = storage(db, catalog, &table.name).await? {
            return Err(MappingError::new(&table.name, "", problem).into());
        }
    }
    let mut all = Vec::with_capacity(mapping.children.len());
    for table in &mapping.children {
        let uniques = indexes(db, catalog, &table.name).await?;
        let mut described = Described::default();
        // Also those of some rows only: an order that all of them need is no wrong one.
        described
            .uniques
            .extend(uniques.into_iter().filter(|(unique, _)| *unique != Unique::No).map(|(_, columns)| columns));
        let mut last = None;
        for row in db.read(catalog.references.with(of(&table.name)), RowLock::None).await? {
            let (key, to, from, other) = (row.text_at(0)?, row.text_at(1)?, row.text_at(2)?, row.text_at(3)?);
            let (Some(to), Some(from), Some(other)) = (to, from, other) else { continue };
            if last != key {
                described.references.push((to, Vec::new()));
                last = key;
            }
            described.references.last_mut().expect("it was just added").1.push((from, other));
        }
        all.push(described);
    }
    Ok(Rules::of(mapping, &all))
}

/// The schema and the name of a table.
fn of(name: &str) -> [Bind<'_>; 2] {
    let (schema, name) = name.split_once('.').map_or((None, name), |(schema, name)| (Some(schema), name));
    [schema.into(), name.into()]
}

/// Why a table cannot keep what a transaction promises, and whether a policy decides which rows may be written.
async fn storage(
    db: &mut Connection,
    catalog: &'static Catalog,
    name: &str,
) -> Result<(Option<String>, bool), DatabaseError> {
    let Some(storage) = &catalog.storage else { return Ok((None, false)) };
    let rows = db.read(storage.with(of(name)), RowLock::None).await?;
    let Some(row) = rows.first() else { return Ok((None, false)) };
    Ok((row.text_at(0)?, row.integer_at(1)? == Some(1)))
}

/// The rows of a table among which the columns of an index are unique.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Unique {
    No,
    /// Those that meet a condition.
    Some,
    All,
}

/// The indexes of a table: whether each is unique, and its columns. Not those of expressions.
async fn indexes(
    db: &mut Connection,
    catalog: &'static Catalog,
    name: &str,
) -> Result<Vec<(Unique, Vec<String>)>, DatabaseError> {
    let mut indexes = Vec::<(Option<String>, Unique, Option<Vec<String>>)>::new();
    for row in db.read(catalog.indexes.with(of(name)), RowLock::None).await? {
        let (index, column) = (row.text_at(0)?, row.text_at(2)?);
        let whole = match row.integer_at(1)? {
            Some(2) => Unique::All,
            Some(1) => Unique::Some,
            _ => Unique::No,
        };
        match indexes.last_mut() {
            Some((last, unique, columns)) if *last == index => {
                *unique = whole.min(*unique);
                *columns = columns.take().zip(column).map(|(columns, column)| [columns, vec![column]].concat());
            }
            _ => indexes.push((index, whole, column.map(|column| vec![column]))),
        }
    }
    Ok(indexes.into_iter().filter_map(|(_, unique, columns)| Some((unique, columns?))).collect())
}
