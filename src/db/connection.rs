//! A connection of any of the databases.

use crate::clock::ManualClock;
use crate::db::{Bind, Row, RowLock, Sheet, Statement};
use crate::error::DatabaseError;
use crate::storage::EndSession;
#[cfg(feature = "mysql")]
use crate::storage::mysql;
#[cfg(feature = "postgres")]
use crate::storage::postgres;
#[cfg(feature = "sqlite")]
use crate::storage::sqlite;
use crate::store::operation::OperationId;

/// A connection: an open transaction, or one for reading.
///
/// Each statement ends at the transaction's deadline. If its caller is dropped, the statement is ended or completed before the connection
/// is used again, and an open transaction is rolled back.
pub(crate) struct Connection {
    link: Link,
    /// The clock of a test.
    clock: Option<ManualClock>,
}

/// The database's own part.
pub(crate) enum Link {
    #[cfg(feature = "sqlite")]
    Sqlite(sqlite::Link),
    #[cfg(feature = "postgres")]
    Postgres(postgres::Link),
    #[cfg(feature = "mysql")]
    MySql(mysql::Link),
}

/// The same on each database's own part.
macro_rules! on_each {
    ($link:expr, $own:ident => $work:expr) => {
        match $link {
            #[cfg(feature = "sqlite")]
            Link::Sqlite($own) => $work,
            #[cfg(feature = "postgres")]
            Link::Postgres($own) => $work,
            #[cfg(feature = "mysql")]
            Link::MySql($own) => $work,
        }
    };
}

impl Connection {
    pub(crate) fn new(link: Link, clock: Option<ManualClock>) -> Self {
        Connection { link, clock }
    }

    /// What its texts differ in.
    pub(crate) fn sheet(&self) -> &'static Sheet {
        on_each!(&self.link, link => link.sheet())
    }

    /// The value of the parameter of `{now}`: the time of a test, or null. On SQLite always a time, because it runs in this process; read it
    /// after any wait.
    pub(crate) fn now(&self) -> Bind<'static> {
        self.given().into()
    }

    fn given(&self) -> Option<i64> {
        match &self.link {
            #[cfg(feature = "sqlite")]
            Link::Sqlite(_) => Some(sqlite::now(self.clock.as_ref())),
            #[allow(unreachable_patterns, reason = "a build may have SQLite only")]
            _ => self.clock.as_ref().map(ManualClock::millis),
        }
    }

    /// Reads rows. With a lock it waits for other transactions, and returns the rows as they are after that.
    pub(crate) async fn read(&mut self, statement: Statement<'_>, lock: RowLock) -> Result<Vec<Row>, DatabaseError> {
        on_each!(&mut self.link, link => link.read(statement, lock).await)
    }

    /// Writes, and may wait for other transactions. Returns the number of rows that it found, also unchanged ones.
    pub(crate) async fn write(&mut self, statement: Statement<'_>) -> Result<u64, DatabaseError> {
        on_each!(&mut self.link, link => link.write(statement).await)
    }

    /// As [`write`](Self::write), for a statement that returns rows.
    pub(crate) async fn write_returning(&mut self, statement: Statement<'_>) -> Result<Vec<Row>, DatabaseError> {
        on_each!(&mut self.link, link => link.write_returning(statement).await)
    }

    /// The session of its transaction, seen from another connection.
    pub(crate) fn session(&self) -> Option<Box<dyn EndSession>> {
        on_each!(&self.link, link => link.session())
    }

    /// Rolls back and begins again, on the same connection and with the rest of the same budget. Only for databases that abort transactions
    /// in deadlocks.
    pub(crate) async fn begin_again(&mut self) -> Result<(), DatabaseError> {
        on_each!(&mut self.link, link => link.begin_again().await)
    }

    /// Commits the transaction; with an operation id, stores it in the same transaction.
    pub(crate) async fn commit(self, operation: Option<&OperationId>) -> Result<(), DatabaseError> {
        let carried = operation.map(|operation| operation.carried(self.sheet(), self.given()));
        on_each!(self.link, link => link.commit(carried).await)
    }

    /// Rolls back, and waits for its completion.
    pub(crate) async fn rollback(self) -> Result<(), DatabaseError> {
        on_each!(self.link, link => link.rollback().await)
    }
}

#[cfg(feature = "sqlite")]
impl Connection {
    /// The open transaction of SQLite.
    pub(crate) fn sqlite(&mut self) -> &mut sqlite::OpenTransaction {
        match &mut self.link {
            Link::Sqlite(sqlite::Link::Open(open)) => open,
            _ => unreachable!("only SQLite's own transaction asks for it"),
        }
    }
}

#[cfg(feature = "postgres")]
impl Connection {
    /// The open transaction of PostgreSQL.
    pub(crate) fn postgres(&mut self) -> &mut postgres::OpenTransaction {
        match &mut self.link {
            Link::Postgres(postgres::Link::Open(open)) => open,
            _ => unreachable!("only PostgreSQL's own transaction asks for it"),
        }
    }
}

#[cfg(feature = "mysql")]
impl Connection {
    /// The open transaction of MariaDB or MySQL.
    pub(crate) fn mysql(&mut self) -> &mut mysql::OpenTransaction {
        match &mut self.link {
            Link::MySql(mysql::Link::Open(open)) => open,
            _ => unreachable!("only MariaDB's and MySQL's own transaction asks for it"),
        }
    }
}
