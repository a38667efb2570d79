//! The backend's transaction, which is poisoned by its first failure.
//!
//! The backend is reachable only through [`run`](Poisonable::run): the fields are private to this file, so every operation records its
//! failure.

use std::ops::{Deref, DerefMut};

use crate::error::DatabaseError;
use crate::storage::BackendTransaction;
use crate::storage::operation::OperationId;

/// A transaction of a backend, and the reason that it cannot be committed any more.
pub(crate) struct Poisonable {
    inner: Running,
    /// The first failure. Set before each operation and cleared after it, so that a dropped operation poisons the transaction too.
    poisoned: Option<DatabaseError>,
    /// Whether no operation has run yet.
    fresh: bool,
}

/// The argument of an operation. A type without a lifetime: with `&mut dyn BackendTransaction` the compiler does not see
/// that the futures of operations are `Send`.
pub(crate) struct Running(Box<dyn BackendTransaction>);

impl Deref for Running {
    type Target = dyn BackendTransaction;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.0
    }
}

impl Poisonable {
    pub(super) fn new(inner: Box<dyn BackendTransaction>) -> Self {
        Poisonable { inner: Running(inner), poisoned: None, fresh: true }
    }

    /// Runs one operation. Nothing runs after a failure, nor after an operation that was dropped half-way.
    ///
    /// # Errors
    /// Those of the operation; [`DatabaseError::Poisoned`] with the first cause after an earlier failure.
    pub(crate) async fn run<T>(
        &mut self,
        operation: impl AsyncFnOnce(&mut Running) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        self.run_as(operation, DatabaseError::clone).await
    }

    /// As [`run`](Self::run), with an error of another type, and its meaning for the transaction.
    pub(crate) async fn run_as<T, E: From<DatabaseError>>(
        &mut self,
        operation: impl AsyncFnOnce(&mut Running) -> Result<T, E>,
        meaning: impl FnOnce(&E) -> DatabaseError,
    ) -> Result<T, E> {
        self.check()?;
        self.fresh = false;
        self.poisoned = Some(DatabaseError::Cancelled);
        let result = operation(&mut self.inner).await;
        self.poisoned = result.as_ref().err().map(meaning);
        result
    }

    /// The backend's transaction for the application's own statements, whose errors only the database sees.
    ///
    /// # Errors
    /// [`DatabaseError::Poisoned`].
    pub(crate) fn lend(&mut self) -> Result<&mut dyn BackendTransaction, DatabaseError> {
        self.check()?;
        self.fresh = false;
        Ok(&mut *self.inner)
    }

    /// Fails with the first cause if the transaction is poisoned.
    pub(super) fn check(&self) -> Result<(), DatabaseError> {
        match &self.poisoned {
            Some(first) => Err(DatabaseError::Poisoned(Box::new(first.clone()))),
            None => Ok(()),
        }
    }

    /// Whether no operation has run yet: then the first one can be retried after a deadlock.
    pub(super) fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Begins again after a failure that rolled everything back.
    pub(super) async fn begin_again(&mut self) -> Result<(), DatabaseError> {
        self.inner.begin_again().await?;
        self.poisoned = None;
        Ok(())
    }

    /// Commits. The caller has called [`check`](Self::check).
    pub(super) async fn commit(self, operation: Option<&OperationId>) -> Result<(), DatabaseError> {
        self.inner.0.commit(operation).await
    }

    pub(super) async fn rollback(self) -> Result<(), DatabaseError> {
        self.inner.0.rollback().await
    }
}

impl std::fmt::Debug for Poisonable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poisonable").field("poisoned", &self.poisoned).finish_non_exhaustive()
    }
}
