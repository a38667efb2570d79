//! A transaction that cannot lie.

use crate::backend::{Authorship, BackendTransaction, Stored};
use crate::error::DatabaseError;
use crate::lease::{LockKey, Owner};
use crate::lock_mode::LockMode;
use crate::lock_order::LockOrder;
use crate::mapping::Mapping;
use crate::value::Value;

/// A writing transaction. Dropping it rolls back.
///
/// After an error, or after one of its operations was dropped half-way, nothing more can be done with it: every further
/// operation and [`commit`](Transaction::commit) fail with the first cause. So a commit that says `Ok` has committed all
/// of it.
pub struct Transaction {
    inner: Box<dyn BackendTransaction>,
    /// Why nothing can be committed any more. Set before each operation and cleared after it, so that an operation
    /// whose future was dropped in the middle poisons as well.
    poisoned: Option<DatabaseError>,
    pub(crate) author: Authorship,
    /// In debug mode, the aggregates that were locked so far, and where orders are recorded.
    lock_order: Option<(Vec<LockKey>, LockOrder)>,
}

impl Transaction {
    pub(crate) fn new(inner: Box<dyn BackendTransaction>, author: Authorship, order: Option<LockOrder>) -> Self {
        Transaction { inner, poisoned: None, author, lock_order: order.map(|order| (Vec::new(), order)) }
    }

    /// Says who makes the changes of this transaction. Later conflicts name them.
    pub fn by(&mut self, owner: &Owner) -> &mut Self {
        self.author.by = Some(owner.clone());
        self
    }

    /// Says what the changes of this transaction are for, in the words of the domain: `start shipping`.
    pub fn command(&mut self, command: impl Into<String>) -> &mut Self {
        self.author.command = Some(command.into());
        self
    }

    /// Commits.
    ///
    /// # Errors
    /// [`DatabaseError::Poisoned`] when something had failed before: nothing was committed.
    /// [`DatabaseError::CommitUnknown`] when the database's answer was lost.
    pub async fn commit(self) -> Result<(), DatabaseError> {
        match self.poisoned {
            Some(first) => {
                self.inner.rollback().await?;
                Err(DatabaseError::Poisoned(Box::new(first)))
            }
            None => self.inner.commit().await,
        }
    }

    /// Rolls back, and waits until it is done. (Dropping the transaction does the same in the background.)
    ///
    /// # Errors
    /// [`DatabaseError`] when the database did not answer; the changes are gone all the same.
    pub async fn rollback(self) -> Result<(), DatabaseError> {
        self.inner.rollback().await
    }

    /// Loads an aggregate, locked as the mode says.
    pub(crate) async fn load(
        &mut self,
        key: &LockKey,
        mapping: &Mapping,
        id: &[Value],
        mode: LockMode,
    ) -> Result<Option<Stored>, DatabaseError> {
        if mode.is_pessimistic() {
            self.record_order(key);
        }
        let stored = self.usable()?.load(mapping, id, mode).await;
        self.note(stored)
    }

    /// In debug mode, records that an aggregate is about to be locked.
    pub(crate) fn record_order(&mut self, key: &LockKey) {
        if let Some((held, order)) = &mut self.lock_order {
            order.record(held, key, self.author.command.as_deref());
            held.push(key.clone());
        }
    }

    /// The backend's transaction, for one operation; the operation's result goes through [`note`](Self::note).
    pub(crate) fn usable(&mut self) -> Result<&mut dyn BackendTransaction, DatabaseError> {
        if let Some(first) = &self.poisoned {
            return Err(DatabaseError::Poisoned(Box::new(first.clone())));
        }
        self.poisoned = Some(DatabaseError::Unsupported("an operation of it was dropped before it was done"));
        Ok(self.inner.as_mut())
    }

    /// Lifts the poison when the operation went well.
    pub(crate) fn note<T>(&mut self, result: Result<T, DatabaseError>) -> Result<T, DatabaseError> {
        self.poisoned = result.as_ref().err().cloned();
        result
    }
}

/// The application's own statements in the same transaction.
#[cfg(feature = "sqlite")]
impl Transaction {
    /// The connection it runs on. Do not end the transaction through it.
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] when this is not SQLite, [`DatabaseError::Poisoned`] when something had failed.
    pub fn sqlite(&mut self) -> Result<&mut sqlx::SqliteConnection, DatabaseError> {
        if let Some(first) = &self.poisoned {
            return Err(DatabaseError::Poisoned(Box::new(first.clone())));
        }
        self.inner.as_sqlite().ok_or(DatabaseError::Unsupported("this database is not SQLite"))
    }
}

/// The application's own statements in the same transaction.
#[cfg(feature = "postgres")]
impl Transaction {
    /// The connection it runs on. Do not end the transaction through it. An error of your own statement aborts the
    /// transaction in the server, and the commit then fails, also if you swallowed it.
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] when this is not PostgreSQL, [`DatabaseError::Poisoned`] when something had failed.
    pub fn postgres(&mut self) -> Result<&mut sqlx::PgConnection, DatabaseError> {
        if let Some(first) = &self.poisoned {
            return Err(DatabaseError::Poisoned(Box::new(first.clone())));
        }
        self.inner.as_postgres().ok_or(DatabaseError::Unsupported("this database is not PostgreSQL"))
    }
}

/// The application's own statements in the same transaction.
#[cfg(feature = "mysql")]
impl Transaction {
    /// The connection it runs on. Do not end the transaction through it. A deadlock in your own statement rolls all of it
    /// back in the server, and the commit then fails, also if you swallowed it. Your own statements wait for locks as
    /// long as the server says (`innodb_lock_wait_timeout`), not to the deadline of the transaction.
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] when this is neither MariaDB nor MySQL, [`DatabaseError::Poisoned`] when something
    /// had failed.
    pub fn mysql(&mut self) -> Result<&mut sqlx::MySqlConnection, DatabaseError> {
        if let Some(first) = &self.poisoned {
            return Err(DatabaseError::Poisoned(Box::new(first.clone())));
        }
        self.inner.as_mysql().ok_or(DatabaseError::Unsupported("this database is neither MariaDB nor MySQL"))
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").field("poisoned", &self.poisoned).field("author", &self.author).finish()
    }
}
