//! Deleting old rows. Rows of the lock table that another session has locked are left for the next sweep; the rows that are locked here are
//! sent as one JSON text, with binary values in hexadecimal.

use std::collections::BTreeSet;

use sqlx::Row;
use sqlx::mysql::MySqlRow;

use super::columns::clock;
use super::deadline::{Flavour, RowLock};
use super::errors::classify;
use super::session::{Session, Statement};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::storage::{RowPlace, Slice, SweptRows};

const HISTORY: &str = concat!(
    "delete from tenure_lock_history where ended_at <= ",
    clock!("?"),
    " - ? and (? is null or kind = ?) order by ended_at limit ?"
);

/// Deletes ended leases from the history.
pub(super) async fn history(session: &mut Session, slice: &Slice<'_>, now: Option<i64>) -> Result<u64, DatabaseError> {
    delete(session, HISTORY, slice, now).await
}

const REQUESTS: &str = concat!(
    "delete from tenure_lock_request where expires_at <= ",
    clock!("?"),
    " - ? and (? is null or kind = ?) limit ?"
);

/// Deletes expired requests.
pub(super) async fn requests(session: &mut Session, slice: &Slice<'_>, now: Option<i64>) -> Result<u64, DatabaseError> {
    delete(session, REQUESTS, slice, now).await
}

async fn delete(
    session: &mut Session,
    statement: &'static str,
    slice: &Slice<'_>,
    now: Option<i64>,
) -> Result<u64, DatabaseError> {
    let kind = slice.kind.map(str::as_bytes);
    let delete = Statement::new(statement).bind(now).bind(millis(slice.older_than)).bind(kind).bind(kind);
    session.write(delete.bind(slice.most)).await.map_err(classify)
}

/// The expiry has no index, so all rows are read, in the order of the primary key. (`(kind, id, slot) > (?, ?, ?)` would not use the index
/// here.)
macro_rules! after {
    () => {
        "(kind > ? or (kind = ? and (id > ? or (id = ? and slot > ?)))) and (? is null or kind = ?)"
    };
}

const UPTO: &str =
    concat!("select kind, id, slot from tenure_lock where ", after!(), " order by kind, id, slot limit 1 offset ?");

macro_rules! gone_rows {
    ($upto:literal) => {
        concat!(
            "select kind, id, slot from tenure_lock where ",
            after!(),
            $upto,
            " and expires_at <= ",
            clock!("?"),
            " - ? order by kind, id, slot"
        )
    };
}

/// The end of the slice is a condition of its own; otherwise the primary key could not use it.
const SLICE: &str = gone_rows!(" and (kind < ? or (kind = ? and (id < ? or (id = ? and slot <= ?))))");
const LAST_SLICE: &str = gone_rows!("");

/// The locked rows, bound as one JSON text.
macro_rules! gone {
    () => {
        "(select unhex(kind) as kind, unhex(id) as id, unhex(slot) as slot
            from json_table(?, '$[*]' columns (kind varchar(510) path '$[0]', id varchar(2048) path '$[1]',
                                               slot varchar(64) path '$[2]')) as json) as gone
         straight_join tenure_lock as lease
                    on lease.kind = gone.kind and lease.id = gone.id and lease.slot = gone.slot"
    };
}

/// Of the locked rows, in a later statement, which sees the leases that were granted beside them before. The row of the exclusive lock
/// stays as long as other leases on the key exist: it is what excludes an exclusive request.
const NEEDED: &str = concat!(
    "select lease.kind, lease.id, lease.slot from ",
    gone!(),
    " where lease.slot = '' and exists (
        select 1 from tenure_lock as beside
         where beside.kind = lease.kind and beside.id = lease.id and beside.slot <> '' and beside.expires_at > ",
    clock!("?"),
    " - ?)"
);

/// As [`NEEDED`], by a locking read, see [`afterwards`](super::load::afterwards).
const NEEDED_ON_MYSQL: &str = concat!(
    "select lease.kind, lease.id, lease.slot from ",
    gone!(),
    " straight_join tenure_lock as beside on beside.kind = lease.kind and beside.id = lease.id
      where lease.slot = '' and beside.slot <> '' and beside.expires_at > ",
    clock!("?"),
    " - ? for share"
);

/// The key was not acquired since, so its expiry is not recorded yet.
const RECORD_EXPIRED: &str = concat!(
    "insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                      since, ended_at, how, idle, limited)
     select lease.lock_hash, lease.kind, lease.id, lease.generation, lease.owner_id, lease.owner_name,
            lease.owner_role, lease.shown_as, lease.since, lease.expires_at, 'expired',
            coalesce(lease.expires_at >= lease.active_at + lease.idle_limit, 0), lease.expires_at >= lease.hard_until
       from ",
    gone!(),
    " where not lease.ended on duplicate key update tenure_lock_history.lock_hash = tenure_lock_history.lock_hash"
);

/// The floor that keeps generations from falling.
const RAISE_FLOOR: &str = concat!(
    "insert into tenure_lock_floor (kind, generation)
     select highest.kind, highest.generation from
            (select lease.kind, max(lease.generation) as generation from ",
    gone!(),
    " group by lease.kind order by lease.kind) as highest
         on duplicate key update
            tenure_lock_floor.generation = greatest(tenure_lock_floor.generation, highest.generation)"
);

const ROWS: &str = concat!("delete lease from ", gone!());

/// Deletes the rows of ended leases, among the next rows.
pub(super) async fn rows(
    session: &mut Session,
    slice: &Slice<'_>,
    after: &RowPlace,
    now: Option<i64>,
) -> Result<SweptRows, DatabaseError> {
    let kind = slice.kind.map(str::as_bytes);
    let after = |text: &'static str| {
        let (of, id, slot) = (after.kind.as_bytes(), after.id.as_bytes(), &after.slot[..]);
        Statement::new(text).bind(of).bind(of).bind(id).bind(id).bind(slot).bind(kind).bind(kind)
    };
    let last = after(UPTO).bind(slice.most.saturating_sub(1));
    let upto = session.fetch_optional(last).await.map_err(classify)?.as_ref().map(place).transpose()?;
    let gone = match &upto {
        Some(RowPlace { kind, id, slot }) => {
            let (of, id) = (kind.as_bytes(), id.as_bytes());
            after(SLICE).bind(of).bind(of).bind(id).bind(id).bind(&slot[..])
        }
        None => after(LAST_SLICE),
    };
    let gone = gone.bind(now).bind(millis(slice.older_than));
    let gone = session.fetch_all_locked(gone, RowLock::SkipLocked).await.map_err(classify)?;
    let mut swept = 0;
    if !gone.is_empty() {
        let gone: Vec<_> = gone.iter().map(place).collect::<Result<_, _>>()?;
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let hex = |place: &RowPlace| [hex(place.kind.as_bytes()), hex(place.id.as_bytes()), hex(&place.slot)];
        let mut gone: BTreeSet<_> = gone.iter().map(hex).collect();
        let needed = match session.flavour() {
            Flavour::MariaDb => NEEDED,
            Flavour::MySql => NEEDED_ON_MYSQL,
        };
        let needed = Statement::new(needed).bind(serde_json::json!(gone).to_string());
        let needed = session.fetch_all(needed.bind(now).bind(millis(slice.older_than))).await.map_err(classify)?;
        for row in &needed {
            gone.remove(&hex(&place(row)?));
        }
        let gone = serde_json::json!(gone).to_string();
        for statement in [RECORD_EXPIRED, RAISE_FLOOR, ROWS] {
            swept = session.write(Statement::new(statement).bind(gone.as_str())).await.map_err(classify)?;
        }
    }
    Ok(SweptRows { swept, upto })
}

fn place(row: &MySqlRow) -> Result<RowPlace, DatabaseError> {
    let bytes = |column| row.try_get::<Vec<u8>, _>(column).map_err(classify);
    let text = |column| Ok::<_, DatabaseError>(String::from_utf8_lossy(&bytes(column)?).into_owned());
    Ok(RowPlace { kind: text("kind")?, id: text("id")?, slot: bytes("slot")? })
}
