//! The secrets of the shop's servers.

use tenure::{Database, Error};

use super::sql::{Dialect, execute, read};

/// The secret of this name. If there is none yet, it is this one: of several processes that start at the same time, the first decides.
///
/// # Errors
/// [`Error::Database`] when the database failed.
pub(crate) async fn secret(db: &Database, name: &str, value: &str) -> Result<String, Error> {
    let insert = "insert into shop_secret (name, value) values (?, ?)";
    let upsert = Dialect::of(db).upsert(insert, "name", &["name"]);
    let mut tx = db.begin().await?;
    execute!(db, tx, &upsert, (name, value))?;
    tx.commit().await?;
    let (secret,): (String,) = read!(db, fetch_one, "select value from shop_secret where name = ?", (name))?;
    Ok(secret)
}
