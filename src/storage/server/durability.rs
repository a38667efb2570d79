//! Settings that decide whether a server keeps what it acknowledged are read on every new connection: a role, a database or the server
//! may get others while the program runs.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::error::DatabaseError;
use crate::storage::diagnosis::Setting;

/// The refusals of new connections. A pool would repeat them until its time is over, and then report that it gave up. Clones share them.
#[derive(Debug, Clone, Default)]
pub(in crate::storage) struct Refusals(Arc<(Mutex<String>, Notify)>);

impl Refusals {
    /// Refuses a new connection if one of its settings is not good.
    pub(in crate::storage) fn check(&self, settings: &[Setting]) -> Result<(), sqlx::Error> {
        let Some(bad) = settings.iter().find(|setting| !setting.good) else { return Ok(()) };
        let (reason, notify) = &*self.0;
        *reason.lock().unwrap_or_else(PoisonError::into_inner) = bad.to_string();
        notify.notify_waiters();
        Err(sqlx::Error::Configuration(bad.to_string().into()))
    }

    /// Waits for a connection; a refusal meanwhile is the answer.
    pub(in crate::storage) async fn or<T>(
        &self,
        classify: fn(sqlx::Error) -> DatabaseError,
        acquire: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, DatabaseError> {
        let (reason, notify) = &*self.0;
        tokio::select! {
            biased;
            acquired = acquire => acquired.map_err(classify),
            () = notify.notified() => {
                Err(DatabaseError::Schema(reason.lock().unwrap_or_else(PoisonError::into_inner).clone()))
            }
        }
    }
}
