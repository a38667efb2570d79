//! SeaORM entities inside a [`Transaction`], with optimistic versions. (Feature `sea-orm`, for SeaORM 2.)
//!
//! [`Transaction::sea_orm`] returns a [`SeaOrm`]: a SeaORM connection on that of the transaction. Entities,
//! aggregates and leases then commit together or not at all. Three lines give an entity a version
//! ([`Versioned`]), and [`VersionedActiveModel`] saves it if it is still the one that was read:
//!
//! ```
//! use sea_orm::entity::prelude::*;
//! use sea_orm::{IntoActiveModel, Set};
//! use tenure::sea_orm::{Versioned, VersionedActiveModel};
//! use tenure::{Database, Error, Version};
//!
//! mod parcel {
//!     use sea_orm::entity::prelude::*;
//!
//!     #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
//!     #[sea_orm(table_name = "parcel")]
//!     pub struct Model {
//!         #[sea_orm(primary_key)]
//!         pub id: i64,
//!         pub label: String,
//!         pub version: tenure::Version, // or i32, i64
//!     }
//!     #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
//!     pub enum Relation {}
//!     impl ActiveModelBehavior for ActiveModel {}
//! }
//!
//! impl Versioned for parcel::Entity {
//!     const VERSION: parcel::Column = parcel::Column::Version;
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
//! # let mut tx = db.begin().await?;
//! # tx.sea_orm()?.execute_unprepared("create table parcel (id integer primary key, label text not null, version bigint not null)").await?;
//! # tx.commit().await?;
//! let mut tx = db.begin().await?;
//! let conn = tx.sea_orm()?;
//! let parcel = parcel::ActiveModel { label: Set("tea".into()), version: Set(Version::FIRST), ..Default::default() };
//! let parcel = parcel.insert(&conn).await?;
//! tx.commit().await?;
//!
//! // A form was opened at version 1, and travels with it.
//! let seen = parcel.version;
//! let mut tx = db.begin().await?;
//! let conn = tx.sea_orm()?;
//! let now = parcel::Entity::find_by_id(parcel.id).one(&conn).await?.expect("it was inserted");
//! let mut edited = now.into_active_model().expecting(seen)?; // a VersionConflict if another session saved first
//! edited.label = Set("green tea".into());
//! let saved = edited.update_versioned(&conn).await?; // … set label = ?, version = version + 1 where id = ? and version = ?
//! assert_eq!(saved.version.number(), 2);
//! tx.commit().await?;
//!
//! // A save that still expects version 1 is refused.
//! let mut tx = db.begin().await?;
//! let conn = tx.sea_orm()?;
//! let mut late = parcel.into_active_model();
//! late.label = Set("black tea".into());
//! let refused = late.update_versioned(&conn).await;
//! let Err(Error::OptimisticLockingFailure(conflict)) = refused else { panic!("{refused:?}") };
//! assert_eq!((conflict.expected, conflict.actual), (Version::FIRST, Some(saved.version)));
//! # Ok(()) }
//! ```
//!
//! # Guarantees
//!
//! - **After an error nothing is committed.** A SeaORM statement that fails, or whose future is dropped, poisons
//!   the transaction as tenure's own do: later statements and [`Transaction::commit`] fail with the first cause, also if
//!   the error was swallowed.
//! - **The driver's error is kept** in the [`DbErr`], so that [`DbErr::sql_err`] finds a violated constraint. Only an exceeded deadline is
//!   an error of tenure. `?` turns a `DbErr` into a [`DatabaseError`] or an
//!   [`Error`](crate::Error) that knows whether a retry can help.
//! - **Row locks use the transaction's deadline.** `lock_exclusive()` and `lock_shared()` wait on PostgreSQL and MariaDB
//!   as long as [`Database::begin_within`](crate::Database::begin_within) allows (on MySQL in whole seconds), and so do
//!   writes; only [`execute_unprepared`](ConnectionTrait::execute_unprepared) waits on MariaDB and MySQL as long as the
//!   server's setting. For SQLite, SeaORM silently writes no lock clauses; that is harmless here, because the
//!   transaction excludes all other writers from its beginning.
//!
//! # Not supported
//!
//! A plain `update`, `save` or `update_many` of SeaORM checks no version and raises none: write versioned entities with
//! [`VersionedActiveModel`] only. Do not end the transaction by your own SQL.
//!
//! `SeaOrm` is no `TransactionTrait`: a nested transaction does not compile, and neither do the nested
//! saves of `ActiveModelEx`, which begin one; save each part by itself. It is no `StreamTrait` either: all rows arrive at
//! once.
//!
//! ```compile_fail
//! use sea_orm::TransactionTrait;
//!
//! # async fn nested(tx: &mut tenure::Transaction) -> Result<(), Box<dyn std::error::Error>> {
//! let inner = tx.sea_orm()?.begin().await?;
//! # Ok(()) }
//! ```

mod column;
mod versioned;

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, Statement};
use tokio::sync::Mutex;

use crate::db::sea_orm::Failure;
use crate::error::DatabaseError;
use crate::unit_of_work::transaction::Transaction;

pub use versioned::{Versioned, VersionedActiveModel};

/// The connection of a [`Transaction`] for SeaORM: pass `&conn` where SeaORM takes a connection.
///
/// Concurrently awaited statements run one after the other. Dropping it does not end the transaction: commit the transaction itself.
pub struct SeaOrm<'t> {
    /// SeaORM uses connections by shared reference.
    transaction: Mutex<&'t mut Transaction>,
    dialect: DbBackend,
}

/// SeaORM's entities and queries in the same transaction.
impl Transaction {
    /// The transaction as a connection for SeaORM.
    ///
    /// # Errors
    /// [`DatabaseError::Poisoned`] after an earlier error.
    pub fn sea_orm(&mut self) -> Result<SeaOrm<'_>, DatabaseError> {
        let dialect = self.database.lend()?.dialect();
        Ok(SeaOrm { transaction: Mutex::new(self), dialect })
    }
}

/// The error that the transaction records for a failed statement.
fn meaning(failure: &Failure) -> DatabaseError {
    failure.meaning.clone()
}

#[async_trait]
impl ConnectionTrait for SeaOrm<'_> {
    fn get_database_backend(&self) -> DbBackend {
        self.dialect
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let mut transaction = self.transaction.lock().await;
        let done = transaction.database.run_as(async |tx| tx.sea_orm_execute(statement).await, meaning).await;
        done.map_err(|failure| DbErr::Exec(failure.into_runtime_error()))
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        let mut transaction = self.transaction.lock().await;
        let done = transaction.database.run_as(async |tx| tx.sea_orm_execute_unprepared(sql).await, meaning).await;
        done.map_err(|failure| DbErr::Exec(failure.into_runtime_error()))
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        Ok(self.query_all_raw(statement).await?.into_iter().next())
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let mut transaction = self.transaction.lock().await;
        let done = transaction.database.run_as(async |tx| tx.sea_orm_query(statement).await, meaning).await;
        done.map_err(|failure| DbErr::Query(failure.into_runtime_error()))
    }
}

impl std::fmt::Debug for SeaOrm<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SeaOrm").field("dialect", &self.dialect).finish_non_exhaustive()
    }
}
