//! A connection of any of the databases.

#[cfg(feature = "sea-orm")]
use sea_orm::{DbBackend, ExecResult, QueryResult};

use crate::clock::ManualClock;
#[cfg(feature = "mysql")]
use crate::db::mysql;
#[cfg(feature = "postgres")]
use crate::db::postgres;
#[cfg(feature = "sea-orm")]
use crate::db::sea_orm::Failure;
#[cfg(feature = "sqlite")]
use crate::db::sqlite;
use crate::db::{Bind, Row, RowLock, SessionEnd, Sheet, Statement, erased};
use crate::error::DatabaseError;
#[cfg(test)]
use crate::simulation;

/// A connection: an open transaction, or one for reading.
///
/// Each statement that waits ends at the transaction's deadline. If its caller is dropped, the statement is ended or completed before the
/// connection is used again, and an open transaction is rolled back.
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
    #[cfg(test)]
    Simulated(simulation::Work),
}

/// What a connection is for.
pub(crate) enum Mode<R, O> {
    Reading(R),
    /// An open transaction.
    Open(O),
}

impl<R, O> Mode<R, O> {
    /// The transaction, for writing.
    pub(crate) fn open(&mut self) -> Result<&mut O, DatabaseError> {
        match self {
            Mode::Reading(_) => Err(DatabaseError::ReadOnly),
            Mode::Open(open) => Ok(open),
        }
    }
}

/// The same on each database's open transaction, or something else on a connection for reading.
macro_rules! on_open {
    ($link:expr, $open:ident => $work:expr, else $other:expr) => {
        match $link {
            #[cfg(feature = "sqlite")]
            Link::Sqlite(Mode::Open($open)) => $work,
            #[cfg(feature = "postgres")]
            Link::Postgres(Mode::Open($open)) => $work,
            #[cfg(feature = "mysql")]
            Link::MySql(Mode::Open($open)) => $work,
            #[cfg(test)]
            Link::Simulated($open) => $work,
            _ => $other,
        }
    };
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
            #[cfg(test)]
            Link::Simulated($own) => $work,
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

    /// As [`now`](Self::now), for a text.
    pub(crate) fn given(&self) -> Option<i64> {
        match &self.link {
            #[cfg(feature = "sqlite")]
            Link::Sqlite(_) => Some(sqlite::now(self.clock.as_ref())),
            _ => self.clock.as_ref().map(ManualClock::millis),
        }
    }

    /// Reads rows. With a lock it waits for other transactions, and returns the rows as they are after that.
    pub(crate) async fn read(&mut self, statement: Statement<'_>, lock: RowLock) -> Result<Vec<Row>, DatabaseError> {
        erased(async { on_each!(&mut self.link, link => link.read(statement, lock).await) }).await
    }

    /// Writes, and may wait for other transactions. Returns the number of rows that it found, also unchanged ones.
    pub(crate) async fn write(&mut self, statement: Statement<'_>) -> Result<u64, DatabaseError> {
        erased(async { on_each!(&mut self.link, link => link.write(statement).await) }).await
    }

    /// As [`write`](Self::write), for a statement that returns rows.
    pub(crate) async fn write_returning(&mut self, statement: Statement<'_>) -> Result<Vec<Row>, DatabaseError> {
        erased(async { on_each!(&mut self.link, link => link.write_returning(statement).await) }).await
    }

    /// What ends the session of its transaction, on another connection. Nothing is open on a connection for reading.
    pub(crate) fn session_end(&self) -> Option<SessionEnd> {
        on_open!(&self.link, open => Some(erased(open.session_end())), else None)
    }

    /// The simulated transaction that it is.
    #[cfg(test)]
    pub(crate) fn simulated(&mut self) -> Option<&mut simulation::Work> {
        match &mut self.link {
            Link::Simulated(work) => Some(work),
            _ => None,
        }
    }

    /// Commits the transaction. A statement without parameters that it carries runs in the message of the COMMIT, where the database allows
    /// it; it ends with a semicolon.
    pub(crate) async fn commit(self, carried: Option<String>) -> Result<(), DatabaseError> {
        erased(async { on_open!(self.link, open => open.commit(carried).await, else Ok(())) }).await
    }

    /// Rolls back, and waits for its completion.
    pub(crate) async fn rollback(self) -> Result<(), DatabaseError> {
        erased(async { on_open!(self.link, open => open.rollback().await, else Ok(())) }).await
    }
}

/// The application's own statements in the same transaction. `None`: it is another database.
impl Connection {
    #[cfg(feature = "sqlite")]
    pub(crate) fn as_sqlite(&mut self) -> Option<&mut sqlx::SqliteConnection> {
        match &mut self.link {
            Link::Sqlite(Mode::Open(open)) => Some(open.lend()),
            _ => None,
        }
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn as_postgres(&mut self) -> Option<&mut sqlx::PgConnection> {
        match &mut self.link {
            Link::Postgres(Mode::Open(open)) => open.lend(),
            _ => None,
        }
    }

    #[cfg(feature = "mysql")]
    pub(crate) fn as_mysql(&mut self) -> Option<&mut sqlx::MySqlConnection> {
        match &mut self.link {
            Link::MySql(Mode::Open(open)) => open.session().lend(),
            _ => None,
        }
    }
}

/// The same on the open transaction of each database. A unit of work of the application has one.
#[cfg(feature = "sea-orm")]
macro_rules! on_database {
    ($link:expr, $open:ident => $work:expr) => {
        match $link {
            #[cfg(feature = "sqlite")]
            Link::Sqlite(Mode::Open($open)) => $work,
            #[cfg(feature = "postgres")]
            Link::Postgres(Mode::Open($open)) => $work,
            #[cfg(feature = "mysql")]
            Link::MySql(Mode::Open($open)) => $work,
            _ => unreachable!("a unit of work has an open transaction of a database"),
        }
    };
}

/// SeaORM's statements in the same transaction.
#[cfg(feature = "sea-orm")]
impl Connection {
    /// The SQL dialect for SeaORM.
    pub(crate) fn dialect(&self) -> DbBackend {
        on_database!(&self.link, open => open.dialect())
    }

    /// Runs a statement that returns no rows.
    pub(crate) async fn sea_orm_execute(&mut self, statement: sea_orm::Statement) -> Result<ExecResult, Failure> {
        erased(async { on_database!(&mut self.link, open => open.sea_orm_execute(statement).await) }).await
    }

    /// Runs a text unprepared: several statements, or one that cannot be prepared.
    pub(crate) async fn sea_orm_execute_unprepared(&mut self, sql: &str) -> Result<ExecResult, Failure> {
        erased(async { on_database!(&mut self.link, open => open.sea_orm_execute_unprepared(sql).await) }).await
    }

    /// Runs a statement and reads all its rows.
    pub(crate) async fn sea_orm_query(&mut self, statement: sea_orm::Statement) -> Result<Vec<QueryResult>, Failure> {
        erased(async { on_database!(&mut self.link, open => open.sea_orm_query(statement).await) }).await
    }
}
