//! Operations that have a connection or a transaction of their own.

use std::time::Duration;

use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Row, Rows, Table};
use crate::aggregate::schema::LiveTable;
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::db::{Backend, Purpose, RowLock, erased};
use crate::error::DatabaseError;
use crate::lease::engine::Place;
use crate::lease::listing::{HistoryQuery, ListQuery, Listed, PastRow};
use crate::lease::{HeldByType, LockKey};
use crate::store::operation::OperationId;
use crate::store::{Slice, SweptRows};
use crate::store::{counts, leases, lists, live, load, operation, revisions, sweep};
use crate::version::conflict::Change;

/// Runs an operation of the lock manager again if the database aborted it in a deadlock, or another session was first: nothing was changed.
/// The budget of the operation may end it earlier. (The application's units of work are not repeated: only the application knows whether they
/// may be.)
macro_rules! again {
    ($work:expr) => {{
        let mut attempt = 1;
        loop {
            match $work.await {
                Err(DatabaseError::Deadlock | DatabaseError::SerializationFailure)
                    if attempt < $crate::store::ATTEMPTS =>
                {
                    tokio::time::sleep($crate::db::patience::jitter() * attempt).await;
                    attempt += 1;
                }
                done => break done,
            }
        }
    }};
}
pub(super) use again;

/// Runs an operation in a transaction of its own, and commits it.
macro_rules! alone {
    ($backend:expr, $db:ident => $operation:expr) => {
        again!(erased(async {
            let mut $db = $backend.begin_own(Purpose::USUAL).await?;
            let answer = $operation.await?;
            $db.commit(None).await?;
            Ok(answer)
        }))
    };
}

/// Aggregates, without a lock.
impl Backend {
    /// Loads a consistent state of an aggregate.
    pub(crate) async fn load(&self, mapping: &'static Mapping, id: &[Value]) -> Result<Option<Stored>, DatabaseError> {
        erased(load::load(&mut self.reader().await?, mapping, id, RowLock::None)).await
    }

    /// Loads several aggregates, in the order of the ids, each in a consistent state.
    pub(crate) async fn load_many(
        &self,
        mapping: &'static Mapping,
        ids: &[Row],
    ) -> Result<Vec<Option<Stored>>, DatabaseError> {
        erased(load::load_many(&mut self.reader().await?, mapping, ids, RowLock::None)).await
    }

    /// The recorded changes of an aggregate, newest first: from its revisions, or its audit columns.
    pub(crate) async fn changes(
        &self,
        mapping: &'static Mapping,
        key: &LockKey,
        id: &[Value],
        limit: u32,
    ) -> Result<Vec<Change>, DatabaseError> {
        erased(revisions::changes(&mut self.reader().await?, mapping, key, id, limit)).await
    }

    /// The state of an aggregate at a version; `None` if it is not stored.
    pub(crate) async fn state_at(
        &self,
        mapping: &'static Mapping,
        key: &LockKey,
        at: Version,
    ) -> Result<Option<Rows>, DatabaseError> {
        erased(revisions::state(&mut self.reader().await?, mapping, key, at)).await
    }

    /// Describes a table of the application; `None` if it does not exist.
    pub(crate) async fn live_table(&self, table: &Table) -> Result<Option<LiveTable>, DatabaseError> {
        erased(live::table(&mut self.reader().await?, &table.name)).await
    }

    /// Whether the transaction with this operation id was committed. If it was not, it never will be: this call reserves the id.
    pub(crate) async fn settle(&self, operation: &OperationId) -> Result<bool, DatabaseError> {
        alone!(self, db => operation::settle(&mut db, operation))
    }

    /// Deletes operation ids that are older than this; returns their number.
    pub(crate) async fn forget_operations(&self, older_than: Duration) -> Result<u64, DatabaseError> {
        alone!(self, db => operation::forget(&mut db, older_than))
    }
}

/// Leases.
impl Backend {
    /// Makes sure that the key has a row, in a transaction of its own.
    pub(crate) async fn make_row(&self, key: &LockKey) -> Result<(), DatabaseError> {
        alone!(self, db => leases::make(&mut db, key))
    }

    /// The held leases, the longest-held first.
    pub(crate) async fn list(&self, query: &ListQuery) -> Result<Vec<Listed>, DatabaseError> {
        erased(lists::held(&mut self.reader().await?, query)).await
    }

    /// The ended leases of a key, the latest first.
    pub(crate) async fn history(&self, query: &HistoryQuery) -> Result<Vec<PastRow>, DatabaseError> {
        erased(lists::past_of(&mut self.reader().await?, query)).await
    }

    /// Deletes history that is older than this, in one slice; returns the number.
    pub(crate) async fn sweep_history(&self, slice: &Slice<'_>) -> Result<u64, DatabaseError> {
        alone!(self, db => sweep::history(&mut db, slice))
    }

    /// Deletes the rows of leases that ended longer ago than this, in one slice of all rows, and records their highest generations.
    pub(crate) async fn sweep_rows(&self, slice: &Slice<'_>, after: &Place) -> Result<SweptRows, DatabaseError> {
        alone!(self, db => leases::sweep(&mut db, slice, after))
    }

    /// The number of leases that an owner holds.
    pub(crate) async fn count_held(&self, owner: &str) -> Result<u64, DatabaseError> {
        #[cfg(test)]
        if let Backend::Simulated(link) = self {
            return link.count_held(owner).await;
        }
        erased(counts::held(&mut self.own_reader().await?, owner)).await
    }

    /// The number of held leases, by type.
    pub(crate) async fn held_by_type(&self) -> Result<Vec<HeldByType>, DatabaseError> {
        erased(counts::held_by_type(&mut self.own_reader().await?)).await
    }
}
