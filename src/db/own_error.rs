//! The meaning of an error that comes without its database: of the application's own statement, or of the driver itself.

use std::sync::Arc;

use crate::error::{DatabaseError, DoesNotFit, Error, UpdateError};

/// The meaning of any driver's error.
pub(super) fn meaning(error: Arc<sqlx::Error>) -> DatabaseError {
    if let Some(reported) = error.as_database_error() {
        #[cfg(feature = "sqlite")]
        if reported.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
            return super::sqlite::errors::classify(error);
        }
        #[cfg(feature = "postgres")]
        if reported.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() {
            return super::postgres::errors::classify(error);
        }
        #[cfg(feature = "mysql")]
        if reported.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>().is_some() {
            return super::mysql::errors::classify(error);
        }
        return DatabaseError::Other(error);
    }
    unreported(error)
}

/// A value that a database refused as one that its column cannot store.
pub(super) fn does_not_fit(column: Option<&str>, error: &sqlx::Error) -> DatabaseError {
    let problem = error.as_database_error().map_or_else(|| error.to_string(), |error| error.message().to_owned());
    misfit(column, problem)
}

fn misfit(column: Option<&str>, problem: String) -> DatabaseError {
    DatabaseError::DoesNotFit(Box::new(DoesNotFit { table: None, column: column.map(str::to_owned), problem }))
}

/// Values that are together larger than the server's limit of a message.
#[cfg(feature = "mysql")]
pub(super) fn too_large(bytes: usize, largest: usize) -> DatabaseError {
    misfit(
        None,
        format!("its values have {bytes} bytes, and the server accepts {largest} in a message (`max_allowed_packet`)"),
    )
}

/// The meaning of an error that no database reported.
pub(super) fn unreported(error: Arc<sqlx::Error>) -> DatabaseError {
    match &*error {
        sqlx::Error::PoolTimedOut => DatabaseError::Busy("no connection of the pool became free in time"),
        sqlx::Error::PoolClosed => DatabaseError::Closed,
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
            DatabaseError::ConnectionLost(error.to_string())
        }
        _ => DatabaseError::Other(error),
    }
}

/// The application's own statements: their errors are classified like tenure's own. So [`Database::retry`](crate::Database::retry) retries
/// after a deadlock, a serialization failure or a lost connection, and a [`Constraint`](DatabaseError::Constraint) has its name.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use tenure::{Database, Error, Transaction, error::{ConstraintKind, DatabaseError}};
/// # let directory = tempfile::tempdir()?;
/// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
/// async fn record(tx: &mut Transaction, message: i64) -> Result<(), Error> {
///     sqlx::query("insert into outbox values (?)").bind(message).execute(tx.sqlite()?).await?;
///     Ok(())
/// }
/// # let mut tx = db.begin().await?;
/// # sqlx::query("create table outbox (message_id integer unique)").execute(tx.sqlite()?).await?;
/// record(&mut tx, 1).await?;
/// let Err(Error::Database(DatabaseError::Constraint(refused))) = record(&mut tx, 1).await else { panic!() };
/// assert!(refused.is(ConstraintKind::Unique, "outbox.message_id"));
/// # Ok(()) }
/// # #[cfg(not(feature = "sqlite"))] fn main() {}
/// ```
impl From<sqlx::Error> for DatabaseError {
    fn from(error: sqlx::Error) -> Self {
        meaning(Arc::new(error))
    }
}

/// As [`DatabaseError`] does.
impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        Error::Database(error.into())
    }
}

/// As [`DatabaseError`] does.
impl<E> From<sqlx::Error> for UpdateError<E> {
    fn from(error: sqlx::Error) -> Self {
        UpdateError::Failed(error.into())
    }
}
