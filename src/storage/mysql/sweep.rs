//! Deleting old entries of the history.

use super::columns::clock;
use super::errors::classify;
use super::session::{Session, Statement};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::storage::Slice;

const HISTORY: &str = concat!(
    "delete from tenure_lock_history where ended_at <= ",
    clock!("?"),
    " - ? and (? is null or kind = ?) order by ended_at limit ?"
);

/// Deletes ended leases from the history.
pub(super) async fn history(session: &mut Session, slice: &Slice<'_>, now: Option<i64>) -> Result<u64, DatabaseError> {
    let kind = slice.kind.map(str::as_bytes);
    let delete = Statement::new(HISTORY).bind(now).bind(millis(slice.older_than)).bind(kind).bind(kind);
    session.write(delete.bind(slice.most)).await.map_err(classify)
}
