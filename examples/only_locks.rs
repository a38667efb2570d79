//! Locks alone, for an application that keeps its own SQL: no aggregate is mapped, no column is added.
//!
//! ```text
//! cargo run --example only_locks
//! ```

#![allow(missing_docs, reason = "an example")]

use std::error::Error;

use tenure::{Database, LockKey, LockManager, Owner, sqlx};

#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let url = format!("sqlite://{}/shop.db", directory.path().display());
    let (kim, lee) = (Owner::new("kim", "Kim Minji"), Owner::new("lee", "Lee Junho"));

    let db = Database::connect(&url).await?; // creates tenure's tables
    let locks = LockManager::new(&db);
    let key = LockKey::new("Invoice", "2026-17");
    let table = "create table invoice (no text primary key, text text); insert into invoice values ('2026-17', '')";
    let mut tx = db.begin().await?;
    sqlx::raw_sql(table).execute(tx.sqlite()?).await?;
    tx.commit().await?;

    let lease = locks.try_lock(&key, &kim).await?; // five minutes
    println!("{:?}", locks.try_lock(&key, &lee).await.map(drop).map_err(|refused| refused.to_string()));
    locks.keep_alive(&[lease.id().clone()]).await?; // once a minute, while the form is open

    let mut tx = db.begin().await?;
    tx.releasing(&key, lease.id()).await?; // refused unless it is Kim's still; released with the commit
    sqlx::query("update invoice set text = 'paid' where no = '2026-17'").execute(tx.sqlite()?).await?;
    tx.commit().await?;

    // A late save under the old lock id changes nothing.
    let mut tx = db.begin().await?;
    let late = tx.holding(&key, lease.id()).await;
    println!("{}", late.as_ref().err().map(ToString::to_string).unwrap_or_default());
    assert!(late.is_err());
    drop(tx); // rolls back
    assert!(locks.try_lock(&key, &lee).await.is_ok());
    Ok(())
}
