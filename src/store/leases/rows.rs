//! The tables of leases: the statements that look at rows, lock them, and write them.
//!
//! A statement covers any number of rows.

use std::collections::BTreeSet;

use crate::aggregate::value::{Kind, Value};
use crate::db::columns::there;
use crate::db::{Bind, Column, Connection, Row, RowLock, Sheet, Statement, Text};
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lease::engine::{LeaseRow, Past, Place};
use crate::lease::operations::LockHash;
use crate::store::leases::found::Strength;
use crate::store::leases::list::{Listed, Source, listed};
use crate::store::leases::read::{lease, past};
use crate::store::leases::write::{self, Writes};

/// The columns of the lock table, as [`lease`] reads them.
pub(in crate::store) const LEASE: [Column; 18] = [
    Column::key("kind"),
    Column::key("id"),
    Column::bytes("slot"),
    Column::number("generation"),
    Column::bytes("lock_hash"),
    Column::text("owner_id"),
    Column::text("owner_name"),
    Column::text("owner_role"),
    Column::number("shown_as"),
    Column::number("since"),
    Column::number("last_active"),
    Column::number("active_at"),
    Column::number("expires_at"),
    Column::number("ttl"),
    Column::number("idle_limit"),
    Column::number("hard_until"),
    Column::flag("ended"),
    Column::number("unclaimed"),
];

/// Those of the history, as [`past`] reads them.
pub(in crate::store) const PAST: [Column; 17] = [
    Column::bytes("lock_hash"),
    Column::key("kind"),
    Column::key("id"),
    Column::number("generation"),
    Column::text("owner_id"),
    Column::text("owner_name"),
    Column::text("owner_role"),
    Column::number("shown_as"),
    Column::number("since"),
    Column::number("ended_at"),
    Column::text("how"),
    Column::text("by_id"),
    Column::text("by_name"),
    Column::text("by_role"),
    Column::text("reason"),
    Column::flag("idle"),
    Column::flag("limited"),
];

const PLACE: &[Column] = LEASE.split_at(3).0;
const FLOOR: [Column; 2] = [Column::key("kind"), Column::number("generation")];
const ASKED: [Column; 3] = [Column::key("kind"), Column::key("id"), Column::bytes("lock_hash")];
const LOCK_HASH: &[Column] = ASKED.split_at(2).1;

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// The time after the last row was locked; `None` if nothing was asked.
    pub clock: Option<i64>,
    pub rows: Vec<LeaseRow>,
    pub past: Vec<Past>,
    /// The highest generations of swept rows, by type.
    pub floors: Vec<(String, i64)>,
}

/// What is asked about: the rows of a key, and what is stored of a lock id.
#[derive(Clone, Copy)]
pub(super) struct Asked<'o> {
    pub key: Option<&'o LockKey>,
    pub lock: Option<&'o LockHash>,
}

impl<'o> Asked<'o> {
    pub(super) fn key(key: &'o LockKey) -> Self {
        Asked { key: Some(key), lock: None }
    }

    fn values(&self) -> Vec<Bind<'o>> {
        let (kind, id) = (self.key.map(LockKey::kind), self.key.map(LockKey::id));
        let lock = self.lock.map_or(Value::Null(Kind::Bytes).into(), |lock| Bind::Bytes(lock));
        vec![Bind::key(kind), Bind::key(id), lock]
    }
}

fn look_text(asked: &Source<'_>) -> String {
    format!(
        "select {{now $1}} as clock, {{key swept.kind}} as swept, swept.generation as floor, {}, {}, {}
           from {}
           left join tenure_lock as l on {}
           left join tenure_lock as other on {}
           left join tenure_lock_history as past on {}
           left join tenure_lock_floor as swept on {}",
        Column::read(&LEASE, "l.", "", asked.sheet),
        Column::read(&LEASE, "other.", "other_", asked.sheet),
        Column::read(&PAST, "past.", "past_", asked.sheet),
        asked.list().unwrap_or_else(|| "(select 1 as one) as new".to_owned()),
        asked.equals("l.", &ASKED[..2]),
        asked.equals("other.", &ASKED[2..]),
        asked.equals("past.", &ASKED[2..]),
        asked.equals("swept.", &ASKED[..1]),
    )
}
listed!(LOOK, &ASKED, 2, look_text);

/// Reads the rows of keys, and for lock ids their rows and their entries in the history, and the floors of the types. Takes no lock.
pub(super) async fn look(db: &mut Connection, asked: &[Asked<'_>]) -> Result<Read, DatabaseError> {
    let rows: Vec<_> = asked.iter().map(Asked::values).collect();
    let Some(statement) = LOOK.with(Some(db.now()), rows) else { return Ok(Read::default()) };
    let mut read = Read::default();
    for row in &db.read(statement, RowLock::None).await? {
        read.tell(row)?;
        row.get(|row| {
            if row.bytes("lock_hash")?.is_some() {
                read.rows.push(lease(row, "")?);
            }
            if row.bytes("other_lock_hash")?.is_some() {
                read.rows.push(lease(row, "other_")?);
            }
            if row.bytes("past_lock_hash")?.is_some() {
                read.past.push(past(row, "past_")?);
            }
            if let Some(floor) = row.number("floor")? {
                read.floors.push((there(row.text("swept"), "swept")?, floor));
            }
            Ok(())
        })?;
    }
    Ok(read)
}

impl Read {
    fn tell(&mut self, row: &Row) -> Result<(), DatabaseError> {
        let clock = row.get(|row| there(row.number("clock"), "clock"))?;
        self.clock = Some(clock);
        Ok(())
    }
}

/// The text that selects rows `l` of the lock table, and the time as `clock`; `$1` is that of [`Connection::now`].
pub(super) fn select(sheet: &Sheet, rows: &str) -> String {
    let columns = Column::read(&LEASE, "l.", "", sheet);
    match &sheet.row_locks {
        Some(locks) => (locks.with_clock)(&columns, rows, "$1"),
        None => format!("select {{now $1}} as clock, {columns} from {rows}"),
    }
}

/// The rows `l` of these places, by their primary key, so that no index is locked in which others search. In the order of the keys, so that
/// two sessions cannot deadlock.
fn lock_text(places: &Source<'_>) -> String {
    let rows = match places.list() {
        None => format!("tenure_lock as l where {}", places.equals("l.", PLACE)),
        Some(list) if places.sheet.slow_subqueries => joined(&list, places),
        Some(list) => format!(
            "tenure_lock as l where (l.kind, l.id, l.slot) in (select new.kind, new.id, new.slot from {list})
              order by l.kind, l.id, l.slot"
        ),
    };
    select(places.sheet, &rows)
}
listed!(LOCK_PLACES, PLACE, 2, lock_text);

/// Where a subquery would run for each row, rows `l` are found by a join. The primary key is forced: a scan of a small table would wait for
/// the rows of others.
fn joined(list: &str, places: &Source<'_>) -> String {
    format!("{list} straight_join tenure_lock as l force index (primary) on {}", places.equals("l.", PLACE))
}

/// Where a search locks the index that it uses, a subquery finds the primary keys first, without a lock. A row may belong to another lock id
/// by the time at which it is locked.
fn lock_ids_text(locks: &Source<'_>) -> String {
    let lock = locks.value("lock_hash");
    let rows = match (locks.sheet.slow_subqueries, locks.list()) {
        (true, list) => {
            let found = list.map_or_else(
                || format!("tenure_lock as found where found.lock_hash = {lock}"),
                |list| format!("{list} straight_join tenure_lock as found on found.lock_hash = {lock}"),
            );
            format!(
                "(select found.kind, found.id, found.slot from {found}
                   order by found.kind, found.id, found.slot limit {}) as place
                 straight_join tenure_lock as l force index (primary)
                     on l.kind = place.kind and l.id = place.id and l.slot = place.slot",
                locks.count()
            )
        }
        (false, None) => format!("tenure_lock as l where l.lock_hash = {lock}"),
        (false, Some(list)) => {
            format!("tenure_lock as l where l.lock_hash in (select {lock} from {list}) order by l.kind, l.id, l.slot")
        }
    };
    select(locks.sheet, &rows)
}
listed!(LOCK_IDS, LOCK_HASH, 2, lock_ids_text);

impl Strength {
    fn row_lock(self, waits: bool) -> RowLock {
        match (self, waits) {
            // Waits for changes of the key columns, which every end of a lease is, and not for heartbeats, where the database can tell.
            (Strength::Guard, _) => RowLock::KeyShare,
            (Strength::Change, true) => RowLock::NoKeyUpdate,
            (Strength::Change, false) => RowLock::NoKeyUpdateSkipLocked,
            (Strength::Replace, true) => RowLock::Update,
            (Strength::Replace, false) => RowLock::SkipLocked,
        }
    }
}

/// Locks the rows of these places. If it does not wait, it skips those that another session has locked.
pub(super) async fn lock(
    db: &mut Connection,
    places: &BTreeSet<Place>,
    strength: Strength,
    waits: bool,
) -> Result<Read, DatabaseError> {
    let rows: Vec<Vec<Bind<'_>>> = places.iter().map(|place| write::place(place).into()).collect();
    let Some(statement) = LOCK_PLACES.with(Some(db.now()), rows) else { return Ok(Read::default()) };
    fetch(db, statement, strength.row_lock(waits)).await
}

/// As [`lock`], the rows of these lock ids.
pub(super) async fn lock_ids(
    db: &mut Connection,
    locks: &BTreeSet<&LockHash>,
    strength: Strength,
    waits: bool,
) -> Result<Read, DatabaseError> {
    let rows: Vec<Vec<Bind<'_>>> = locks.iter().map(|lock| vec![Bind::Bytes(&lock[..])]).collect();
    let Some(statement) = LOCK_IDS.with(Some(db.now()), rows) else { return Ok(Read::default()) };
    let mut read = fetch(db, statement, strength.row_lock(waits)).await?;
    read.rows.retain(|row| <&LockHash>::try_from(&row.lock[..]).is_ok_and(|lock| locks.contains(lock)));
    Ok(read)
}

static OWNER: Text = Text::made(|sheet| select(sheet, "tenure_lock as l where {same l.owner_id $2} and not l.ended"));

/// Reads the rows of an owner whose leases were not ended. Takes no lock.
pub(super) async fn of_owner(db: &mut Connection, owner: &str) -> Result<Read, DatabaseError> {
    let statement = OWNER.with([db.now(), owner.into()]);
    fetch(db, statement, RowLock::None).await
}

pub(super) async fn fetch(db: &mut Connection, statement: Statement<'_>, lock: RowLock) -> Result<Read, DatabaseError> {
    let rows = db.read(statement, lock).await?;
    let mut read = Read { rows: Vec::with_capacity(rows.len()), ..Read::default() };
    for row in &rows {
        read.tell(row)?;
        read.rows.push(row.get(|row| lease(row, ""))?);
    }
    Ok(read)
}

fn floors_text(floors: &Source<'_>) -> String {
    format!(
        "insert into tenure_lock_floor ({}) {}
         {{on_conflict kind}} generation = {{greatest}}(tenure_lock_floor.generation, {{new generation}})",
        Column::names(&FLOOR, ""),
        floors.rows()
    )
}
listed!(FLOORS, &FLOOR, 1, floors_text);

fn delete_text(places: &Source<'_>) -> String {
    match places.list() {
        None => format!("delete from tenure_lock where {}", places.equals("", PLACE)),
        Some(list) if places.sheet.slow_subqueries => format!("delete l from {}", joined(&list, places)),
        Some(list) => {
            format!("delete from tenure_lock where (kind, id, slot) in (select new.kind, new.id, new.slot from {list})")
        }
    }
}
listed!(DELETE, PLACE, 1, delete_text);

/// An entry for a lock id that already has one is not written.
fn record_text(past: &Source<'_>) -> String {
    format!(
        "insert into tenure_lock_history ({}) {} {{or_nothing tenure_lock_history lock_hash}}",
        Column::names(&PAST, ""),
        past.rows()
    )
}
listed!(RECORD, &PAST, 1, record_text);

fn update_text(leases: &Source<'_>) -> String {
    let set = |prefix: &str| {
        let own = LEASE[PLACE.len()..].iter();
        own.map(|column| format!("{prefix}{} = {}", column.name, leases.value(column.name)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let place = leases.equals("l.", PLACE);
    match leases.list() {
        None => format!("update tenure_lock as l set {} where {place}", set("")),
        Some(list) if leases.sheet.slow_subqueries => format!("update {} set {}", joined(&list, leases), set("l.")),
        Some(list) => format!("update tenure_lock as l set {} from {list} where {place}", set("")),
    }
}
listed!(UPDATE, &LEASE, 1, update_text);

/// In the order of their keys, in which other sessions insert them, too.
fn insert_text(leases: &Source<'_>) -> String {
    let order = if leases.list().is_some() { "order by new.kind, new.id, new.slot" } else { "" };
    format!("insert into tenure_lock ({}) {} {order}", Column::names(&LEASE, ""), leases.rows())
}
listed!(INSERT, &LEASE, 1, insert_text);

/// Writes rows. If another session inserted one of them first, the transaction has to be rolled back.
pub(super) async fn write(db: &mut Connection, writes: &Writes) -> Result<(), DatabaseError> {
    for (text, rows, complete) in [
        (&FLOORS, values(&writes.floors, write::floor), false),
        (&DELETE, values(&writes.deleted, |place| write::place(place).into()), true),
        // An entry for a lock id that already has one is not written.
        (&RECORD, values(&writes.past, write::past), false),
        (&UPDATE, values(&writes.updated, write::lease), true),
        (&INSERT, values(&writes.inserted, write::lease), true),
    ] {
        let count = rows.len();
        let Some(statement) = text.with(None, rows) else { continue };
        let written = match db.write(statement).await {
            Err(error) if error.is_duplicate() => return Err(DatabaseError::SerializationFailure),
            written => written?,
        };
        // What was locked is there, and what is inserted is new: a row that is missing was kept back by the database.
        if complete && usize::try_from(written) != Ok(count) {
            let kept =
                "the database did not write all rows of tenure_lock: look for a trigger, a rule or a policy on it";
            return Err(DatabaseError::Schema(kept.into()));
        }
    }
    Ok(())
}

fn values<'r, R>(rows: &'r [R], values: impl Fn(&'r R) -> Vec<Bind<'r>>) -> Vec<Vec<Bind<'r>>> {
    rows.iter().map(values).collect()
}
