//! The backend's transaction, which is poisoned by its first failure.
//!
//! The backend is reachable only through [`run`](Poisonable::run): the fields are private to this file, so every operation records its
//! failure.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use tokio::runtime::Handle;

use crate::db::Connection;
use crate::error::DatabaseError;
use crate::store::operation::OperationId;
use crate::unit_of_work::guard_limit::GuardLimit;

/// A transaction of a backend, and the reason that it cannot be committed any more.
pub(crate) struct Poisonable {
    inner: Running,
    /// The first failure. Set before each operation and cleared after it, so that a dropped operation poisons the transaction too.
    poisoned: Option<DatabaseError>,
    /// How long it may hold leases; zero: without a limit.
    guard_limit: Duration,
}

/// The argument of an operation. A type without a lifetime: with a reference the compiler does not see
/// that the futures of operations are `Send`.
pub(crate) struct Running {
    /// `None` once it has ended. On the heap, because transactions are moved.
    transaction: Option<Box<Connection>>,
    /// The limit since it holds a lease.
    guard: Option<GuardLimit>,
}

const UNTIL_ITS_END: &str = "a transaction is there until its end, which consumes it";

impl Deref for Running {
    type Target = Connection;

    fn deref(&self) -> &Self::Target {
        self.transaction.as_ref().expect(UNTIL_ITS_END)
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.transaction.as_mut().expect(UNTIL_ITS_END)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let (transaction, guard) = (self.transaction.take(), self.guard.take());
        // The end of its session must not meet the next user of the connection.
        if let (Some(ending), Ok(runtime)) = (guard.and_then(GuardLimit::stop), Handle::try_current()) {
            runtime.spawn(async move {
                let _ = ending.await;
                drop(transaction);
            });
        }
    }
}

impl Poisonable {
    pub(super) fn new(inner: Connection, guard_limit: Duration) -> Self {
        let inner = Running { transaction: Some(Box::new(inner)), guard: None };
        Poisonable { inner, poisoned: None, guard_limit }
    }

    /// As [`run`](Self::run), for an operation that keeps others from a key: from here on the transaction has a limit.
    pub(crate) async fn guard<T>(
        &mut self,
        operation: impl AsyncFnOnce(&mut Running) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        if self.inner.guard.is_none() && !self.guard_limit.is_zero() {
            let end = self.inner.session_end();
            self.inner.guard = end.map(|end| GuardLimit::start(self.guard_limit, end));
        }
        self.run(operation).await
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
        self.poisoned = Some(DatabaseError::Cancelled);
        // On the heap: it is as large as the largest operation.
        let result = Box::pin(operation(&mut self.inner)).await;
        self.poisoned = result.as_ref().err().map(meaning);
        // The limit is the cause of any error after it.
        match (result, self.check_limit()) {
            (Err(_), Err(limit)) => {
                self.poisoned = Some(limit.clone());
                Err(limit.into())
            }
            (result, _) => result,
        }
    }

    /// The backend's transaction for the application's own statements, whose errors only the database sees.
    ///
    /// # Errors
    /// [`DatabaseError::Poisoned`].
    pub(crate) fn lend(&mut self) -> Result<&mut Connection, DatabaseError> {
        self.check()?;
        Ok(&mut *self.inner)
    }

    /// Fails with the first cause if the transaction is poisoned.
    pub(super) fn check(&self) -> Result<(), DatabaseError> {
        self.check_limit()?;
        match &self.poisoned {
            Some(first) => Err(DatabaseError::Poisoned(Box::new(first.clone()))),
            None => Ok(()),
        }
    }

    fn check_limit(&self) -> Result<(), DatabaseError> {
        self.inner.guard.as_ref().map_or(Ok(()), GuardLimit::check)
    }

    /// Commits. The caller has called [`check`](Self::check).
    pub(super) async fn commit(self, operation: Option<&OperationId>) -> Result<(), DatabaseError> {
        let transaction = self.end().await?;
        let carried = operation.map(|operation| operation.carried(&transaction));
        transaction.commit(carried).await
    }

    pub(super) async fn rollback(self) -> Result<(), DatabaseError> {
        match self.end().await {
            Ok(transaction) => transaction.rollback().await,
            // It was rolled back with its session.
            Err(_) => Ok(()),
        }
    }

    /// The backend's transaction, which is about to end within its limit.
    async fn end(mut self) -> Result<Connection, DatabaseError> {
        if let Some(ending) = self.inner.guard.take().and_then(GuardLimit::stop) {
            let _ = ending.await;
            return Err(DatabaseError::GuardLimit { limit: self.guard_limit });
        }
        Ok(*self.inner.transaction.take().expect(UNTIL_ITS_END))
    }
}

impl std::fmt::Debug for Poisonable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poisonable").field("poisoned", &self.poisoned).finish_non_exhaustive()
    }
}
