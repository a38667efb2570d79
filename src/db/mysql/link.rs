//! A connection of MariaDB or MySQL: a transaction, or a connection for reading.

use super::connection::OpenTransaction;
use super::errors::classify;
use super::session::{Session, Statement as Own};
use super::sheet;
use super::values::bind;
use crate::db::own_error::too_large;
use crate::db::{Mode, Row, RowLock, Sheet, Statement};
use crate::error::DatabaseError;

/// A connection.
pub(crate) type Link = Mode<Session, OpenTransaction>;

impl Link {
    pub(crate) fn sheet(&self) -> &'static Sheet {
        match self {
            Link::Reading(session) => sheet::of(session.flavour()),
            Link::Open(open) => sheet::of(open.flavour()),
        }
    }

    /// The statement with its values, if the server accepts so many bytes. It would end the connection in the middle of a larger message, and
    /// the reason would be lost.
    fn own(&mut self, statement: &Statement<'_>) -> Result<Own, DatabaseError> {
        let sql = statement.sql(self.sheet());
        let own = statement.values(sql).fold(Own::new(sql.text.clone()), bind);
        let largest = match self {
            Link::Reading(session) => session.largest_packet(),
            Link::Open(open) => open.session().largest_packet(),
        };
        if own.bytes() > largest { Err(too_large(own.bytes(), largest)) } else { Ok(own) }
    }

    pub(crate) async fn read(&mut self, statement: Statement<'_>, lock: RowLock) -> Result<Vec<Row>, DatabaseError> {
        let own = self.own(&statement)?;
        let rows = match self {
            Link::Reading(session) => session.fetch_all_locked(own, lock).await.map_err(classify)?,
            Link::Open(open) if !lock.waits() => open.session().fetch_all_locked(own, lock).await.map_err(classify)?,
            Link::Open(open) => {
                open.wait_for(async |session: &mut Session| session.fetch_all_locked(own, lock).await.map_err(classify))
                    .await?
            }
        };
        Ok(rows.into_iter().map(Row::MySql).collect())
    }

    pub(crate) async fn write(&mut self, statement: Statement<'_>) -> Result<u64, DatabaseError> {
        let own = self.own(&statement)?;
        let open = self.open()?;
        open.wait_for(async |session: &mut Session| session.write(own).await.map_err(classify)).await
    }

    pub(crate) async fn write_returning(&mut self, statement: Statement<'_>) -> Result<Vec<Row>, DatabaseError> {
        let own = self.own(&statement)?;
        let write = async |session: &mut Session| session.write_returning(own).await.map_err(classify);
        Ok(self.open()?.wait_for(write).await?.into_iter().map(Row::MySql).collect())
    }
}
