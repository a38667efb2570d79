//! What decides on every new connection whether it may be used: settings that keep what was acknowledged, because a role, a database or the
//! server may get others while the program runs; and whether the server accepts writes, because one address may lead to another server.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::db::diagnosis::Setting;
use crate::error::DatabaseError;

/// The refusals of new connections. A pool would repeat them until its time is over, and then report that it gave up. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refusals(Arc<(Mutex<Option<DatabaseError>>, Notify)>);

impl Refusals {
    /// Refuses a new connection if one of its settings is not good.
    pub(crate) fn check(&self, settings: &[Setting]) -> Result<(), sqlx::Error> {
        match settings.iter().find(|setting| !setting.good) {
            Some(bad) => Err(self.refuse(DatabaseError::Schema(bad.to_string()))),
            None => Ok(()),
        }
    }

    /// Refuses a new connection for this reason.
    pub(crate) fn refuse(&self, reason: DatabaseError) -> sqlx::Error {
        let (last, notify) = &*self.0;
        let text = reason.to_string();
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
        notify.notify_waiters();
        sqlx::Error::Configuration(text.into())
    }

    /// Waits for a connection; a refusal meanwhile is the answer.
    pub(crate) async fn or<T>(
        &self,
        classify: fn(sqlx::Error) -> DatabaseError,
        acquire: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, DatabaseError> {
        let (last, notify) = &*self.0;
        tokio::select! {
            biased;
            acquired = acquire => acquired.map_err(classify),
            () = notify.notified() => {
                let last = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
                Err(last.expect("it is set before anybody is notified"))
            }
        }
    }
}
