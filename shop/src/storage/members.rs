//! Whether there are members.

use tenure::{Database, error::DatabaseError};

use super::sql::read;

/// Whether there is a member: whether the shop was seeded.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub async fn has_members(db: &Database) -> Result<bool, DatabaseError> {
    let (has,): (bool,) = read!(db, fetch_one, "select exists (select 1 from member)", ())?;
    Ok(has)
}

/// The members whose password is the public one of the demo.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn demo_members(db: &Database) -> Result<Vec<String>, DatabaseError> {
    let members: Vec<(String,)> = read!(db, fetch_all, "select id from member where demo", ())?;
    Ok(members.into_iter().map(|(id,)| id).collect())
}
