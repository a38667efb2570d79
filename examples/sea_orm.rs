//! The requests of SeaORM's issues 804 and 2897, "[Feature Request] Optimistic Locking", and their solutions with tenure.
//!
//! ```text
//! cargo run --example sea_orm --features sea-orm
//! ```
//!
//! <https://github.com/SeaQL/sea-orm/issues/804>, <https://github.com/SeaQL/sea-orm/issues/2897>

#![allow(missing_docs, unreachable_pub, reason = "what the entity macro makes cannot be documented")]

use std::error::Error;

use sea_orm::{ActiveModelTrait, ConnectionTrait, DbBackend, EntityTrait, IntoActiveModel, Schema, Set};
use tenure::sea_orm::{Versioned, VersionedActiveModel};
use tenure::{Database, LockKey, LockManager, Owner, Version};

// Requested: "A version column could be derived by
//
//     pub struct Model {
//       ...
//       #[sea_orm(version)]
//       pub opt_lock: usize,
//     }"
//
// Answer: an integer column, of any width, or a `tenure::Version`, and three lines that name the column.
mod fruit {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "fruit")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub name: String,
        pub opt_lock: tenure::Version,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

impl Versioned for fruit::Entity {
    const VERSION: fruit::Column = fruit::Column::OptLock;
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let db = Database::connect(&format!("sqlite://{}/fruit.db", directory.path().display())).await?;

    // SeaORM is used as usual; its connection is the transaction. (On PostgreSQL and MariaDB too.)
    let mut tx = db.begin().await?;
    let conn = tx.sea_orm()?;
    conn.execute(&Schema::new(DbBackend::Sqlite).create_table_from_entity(fruit::Entity)).await?;
    let new = fruit::ActiveModel { name: Set("Apple".into()), opt_lock: Set(Version::FIRST), ..Default::default() };
    let apple = new.insert(&conn).await?;
    tx.commit().await?;

    // Requested: "let res: UpdateResult = fruit.update(db).await?; Should generate the SQL statement
    //     UPDATE fruite SET opt_lock = opt_lock + 1 ... WHERE id = <id> AND opt_lock = <opt_lock>;"
    //
    // Answer: `update_versioned` generates it, and returns the row with its new version.
    let mut tx = db.begin().await?;
    let mut edited = apple.clone().into_active_model();
    edited.name = Set("Golden Apple".into());
    let golden = edited.update_versioned(&tx.sea_orm()?).await?;
    tx.commit().await?;
    println!("saved: {golden:?}");
    assert_eq!(golden.opt_lock.number(), 2);

    // Requested: "If effected row would be 0 the result be would be a `DbError::ConcurrentModification`"
    //
    // Answer: an `OptimisticLockingFailure` with the expected and the current version. If
    // the row is deleted, the error says that instead. Nothing was written, and the transaction may continue.
    let mut tx = db.begin().await?;
    let conn = tx.sea_orm()?;
    let mut late = apple.clone().into_active_model();
    late.name = Set("Red Apple".into());
    let Err(tenure::Error::OptimisticLockingFailure(conflict)) = late.update_versioned(&conn).await else {
        panic!("the golden apple was overwritten")
    };
    println!("refused: {conflict}");
    assert_eq!((conflict.expected, conflict.actual), (apple.opt_lock, Some(golden.opt_lock)));

    // Quoted there, from Hibernate's guide: "If the check reveals conflicting modifications, the committing transaction
    // rolls back."
    //
    // Answer: here it is your choice. But a commit after a failed statement is not possible, even if the
    // error was swallowed.
    let _swallowed = conn.execute_unprepared("update fruit set name = null").await;
    println!("not committed: {}", tx.commit().await.expect_err("a statement had failed"));

    // Requested: "An advanced version could also allow Timestamps as data type for the opt-lock."
    //
    // Answer: no. Two saves within one tick of the clock would have one version, and the second would overwrite the first.

    // Beyond the requests: the version of an opened form travels with the form, and is checked minutes later, over another connection; a
    // lease excludes others meanwhile. One commit decides about lease, entity and version.
    let (locks, kim) = (LockManager::new(&db), Owner::new("kim", "Kim Minji"));
    let lease = locks.try_lock(&LockKey::new("Fruit", apple.id.to_string()), &kim).await?;
    for seen in [apple.opt_lock, golden.opt_lock] {
        let mut tx = db.begin().await?;
        locks.guard(&mut tx, lease.id()).await?;
        let now = fruit::Entity::find_by_id(apple.id).one(&tx.sea_orm()?).await?.ok_or("it was eaten")?;
        match now.into_active_model().expecting(seen) {
            Err(stale) => println!("the form of version {seen} is stale: {stale}"),
            Ok(mut current) => {
                current.name = Set("Pink Lady".into());
                let saved = current.update_versioned(&tx.sea_orm()?).await?;
                locks.release_within(&mut tx, lease.id()).await?;
                tx.commit().await?;
                println!("saved, and the lease is given back: {saved:?}");
                assert_eq!(saved.opt_lock.number(), 3);
            }
        }
    }
    Ok(())
}
