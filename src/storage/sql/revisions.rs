//! Reading stored revisions, the same on every database.

use crate::aggregate::mapping::MappingError;
use crate::aggregate::version::Version;
use crate::clock::from_millis;
use crate::error::DatabaseError;
use crate::lease::Owner;
use crate::storage::sql::columns::{Columns, there};
use crate::version::conflict::Change;

/// A stored change, from its revision or from the audit columns.
pub(in crate::storage) fn change(
    row: &impl Columns,
    classify: fn(sqlx::Error) -> DatabaseError,
) -> Result<Change, DatabaseError> {
    let number = |column| there(row.number(column), column).map_err(classify);
    let text = |column| row.text(column).map_err(classify);
    Ok(Change {
        version: Version::new(number("version")?).map_err(|error| misfit(&error))?,
        by: text("by_id")?.zip(text("by_name")?).map(|(id, name)| Owner::new(id, name)),
        at: from_millis(number("changed_at")?),
        command: text("command")?,
    })
}

/// A stored state that cannot be read.
pub(in crate::storage) fn misfit(error: &dyn std::error::Error) -> DatabaseError {
    MappingError::new("tenure_revision", "state", error.to_string()).into()
}
