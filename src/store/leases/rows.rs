//! The tables of leases: the statements that look at rows, lock them, and write them.
//!
//! A statement covers any number of rows: they are one parameter, a list in JSON.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::db::columns::{Columns, there};
use crate::db::{Bind, Column, Connection, Row, RowLock, Sheet, Statement, Text};
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lease::engine::{LeaseRow, Past, Place};
use crate::lease::operations::LockHash;
use crate::store::leases::found::Strength;
use crate::store::leases::read::{lease, past};
use crate::store::leases::write::{PlaceJson, Writes, hex, json};

/// The columns of the lock table, as [`lease`] reads them.
pub(in crate::store) const LEASE: [Column; 17] = [
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
];

/// Those of the history, as [`past`] reads them.
const PAST: [Column; 17] = [
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

/// A text for a list: `$1` is the list.
///
/// A database plans a statement for the number of its rows. One row has a text of its own, in which the number stands: PostgreSQL would
/// otherwise plan each execution anew, because it expects more rows of a parameter.
struct Listed {
    one: Text,
    many: Text,
}

/// The texts of a list, made with the place of its number.
macro_rules! listed {
    ($name:ident, $count:literal, $make:path) => {
        static $name: Listed =
            Listed { one: Text::made(|sheet| $make(sheet, "1")), many: Text::made(|sheet| $make(sheet, $count)) };
    };
}

impl Listed {
    /// For a list of this length. The number is the last parameter.
    fn with<'v, const N: usize>(&'static self, values: [Bind<'v>; N], count: i64) -> Statement<'v> {
        match count {
            1 => self.one.with(values),
            _ => self.many.with_last(values, count.into()),
        }
    }
}

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
}

#[derive(Serialize)]
struct AskedJson<'o> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'o str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'o str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lock_hash: Option<String>,
}

impl<'o> From<&Asked<'o>> for AskedJson<'o> {
    fn from(asked: &Asked<'o>) -> Self {
        let Asked { key, lock } = *asked;
        AskedJson { kind: key.map(LockKey::kind), id: key.map(LockKey::id), lock_hash: lock.map(|lock| hex(lock)) }
    }
}

fn look_text(sheet: &Sheet, count: &str) -> String {
    format!(
        "select {{now $2}} as clock, {{key swept.kind}} as swept, swept.generation as floor, {}, {}, {}
           from {}
           left join tenure_lock as l on l.kind = new.kind and l.id = new.id
           left join tenure_lock as other on other.lock_hash = new.lock_hash
           left join tenure_lock_history as past on past.lock_hash = new.lock_hash
           left join tenure_lock_floor as swept on swept.kind = new.kind",
        Column::read(&LEASE, "l.", "", sheet),
        Column::read(&LEASE, "other.", "other_", sheet),
        Column::read(&PAST, "past.", "past_", sheet),
        (sheet.list)("$1", count, &ASKED),
    )
}
listed!(LOOK, "$3", look_text);

/// Reads the rows of keys, and for lock ids their rows and their entries in the history, and the floors of the types. Takes no lock.
pub(super) async fn look(db: &mut Connection, asked: &[Asked<'_>]) -> Result<Read, DatabaseError> {
    let Some((list, count)) = json::<_, AskedJson<'_>>(asked) else { return Ok(Read::default()) };
    let rows = db.read(LOOK.with([Bind::Text(&list), db.now()], count), RowLock::None).await?;
    let mut read = Read::default();
    for row in &rows {
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
                read.floors.push((there(Columns::text(row, "swept"), "swept")?, floor));
            }
            Ok(())
        })?;
    }
    Ok(read)
}

impl Read {
    fn tell(&mut self, row: &Row) -> Result<(), DatabaseError> {
        let clock = row.get(|row| there(row.number("clock"), "clock"))?;
        self.clock = self.clock.max(Some(clock));
        Ok(())
    }
}

/// The text that selects rows `l` of the lock table, and the time as `clock`; `$2` is that of [`Connection::now`].
pub(super) fn select(sheet: &Sheet, rows: &str) -> String {
    let columns = Column::read(&LEASE, "l.", "", sheet);
    match &sheet.row_locks {
        Some(locks) => (locks.with_clock)(&columns, rows, "$2"),
        None => format!("select {{now $2}} as clock, {columns} from {rows}"),
    }
}

/// By their primary key, so that no index is locked in which others search. In the order of the keys, so that two sessions cannot
/// deadlock.
fn lock_text(sheet: &Sheet, count: &str) -> String {
    let list = (sheet.list)("$1", count, PLACE);
    match sheet.slow_subqueries {
        true => select(
            sheet,
            &format!(
                "{list} straight_join tenure_lock as l force index (primary)
                     on l.kind = new.kind and l.id = new.id and l.slot = new.slot"
            ),
        ),
        false => select(
            sheet,
            &format!(
                "tenure_lock as l where (l.kind, l.id, l.slot) in (select new.kind, new.id, new.slot from {list})
                  order by l.kind, l.id, l.slot"
            ),
        ),
    }
}
listed!(LOCK_PLACES, "$3", lock_text);

/// Where a search locks the index that it uses, a subquery finds the primary keys first, without a lock. A row may belong to another lock id
/// by the time at which it is locked.
fn lock_ids_text(sheet: &Sheet, count: &str) -> String {
    let list = (sheet.list)("$1", count, &[ASKED[2]]);
    match sheet.slow_subqueries {
        true => select(
            sheet,
            &format!(
                "(select found.kind, found.id, found.slot
                    from {list} straight_join tenure_lock as found on found.lock_hash = new.lock_hash
                   order by found.kind, found.id, found.slot limit {count}) as place
                 straight_join tenure_lock as l force index (primary)
                     on l.kind = place.kind and l.id = place.id and l.slot = place.slot"
            ),
        ),
        false => select(
            sheet,
            &format!(
                "tenure_lock as l where l.lock_hash in (select new.lock_hash from {list}) order by l.kind, l.id, l.slot"
            ),
        ),
    }
}
listed!(LOCK_IDS, "$3", lock_ids_text);

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
    let places: Vec<&Place> = places.iter().collect();
    let Some((list, count)) = json::<_, PlaceJson<'_>>(&places) else { return Ok(Read::default()) };
    let statement = LOCK_PLACES.with([Bind::Text(&list), db.now()], count);
    fetch(db, statement, strength.row_lock(waits)).await
}

/// As [`lock`], the rows of these lock ids.
pub(super) async fn lock_ids(
    db: &mut Connection,
    locks: &BTreeSet<&LockHash>,
    strength: Strength,
    waits: bool,
) -> Result<Read, DatabaseError> {
    let asked: Vec<Asked<'_>> = locks.iter().map(|lock| Asked { key: None, lock: Some(lock) }).collect();
    let Some((list, count)) = json::<_, AskedJson<'_>>(&asked) else { return Ok(Read::default()) };
    let statement = LOCK_IDS.with([Bind::Text(&list), db.now()], count);
    let mut read = fetch(db, statement, strength.row_lock(waits)).await?;
    read.rows.retain(|row| <&LockHash>::try_from(&row.lock[..]).is_ok_and(|lock| locks.contains(lock)));
    Ok(read)
}

static OWNER: Text = Text::made(|sheet| select(sheet, "tenure_lock as l where {same l.owner_id $1} and not l.ended"));

/// Reads the rows of an owner whose leases were not ended. Takes no lock.
pub(super) async fn of_owner(db: &mut Connection, owner: &str) -> Result<Read, DatabaseError> {
    let statement = OWNER.with([owner.into(), db.now()]);
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

fn floors_text(sheet: &Sheet, count: &str) -> String {
    format!(
        "insert into tenure_lock_floor (kind, generation) select new.kind, new.generation from {} where true order by new.kind
         {{on_conflict kind}} generation = {{greatest}}(tenure_lock_floor.generation, {{new generation}})",
        (sheet.list)("$1", count, &FLOOR)
    )
}
listed!(FLOORS, "$2", floors_text);

/// Where a subquery would run for each row, the primary key is forced: a scan of a small table would wait for the rows of others.
fn delete_text(sheet: &Sheet, count: &str) -> String {
    match sheet.slow_subqueries {
        true => format!(
            "delete l from {} straight_join tenure_lock as l force index (primary)
             on l.kind = new.kind and l.id = new.id and l.slot = new.slot",
            (sheet.list)("$1", count, PLACE)
        ),
        false => format!(
            "delete from tenure_lock where (kind, id, slot) in (select new.kind, new.id, new.slot from {})",
            (sheet.list)("$1", count, PLACE)
        ),
    }
}
listed!(DELETE, "$2", delete_text);

/// An entry for a lock id that already has one is not written.
fn record_text(sheet: &Sheet, count: &str) -> String {
    let columns = Column::names(&PAST, "");
    let values = Column::names(&PAST, "new.");
    let list = (sheet.list)("$1", count, &PAST);
    format!(
        "insert into tenure_lock_history ({columns}) select {values} from {list} where true
         {{or_nothing tenure_lock_history lock_hash}}"
    )
}
listed!(RECORD, "$2", record_text);

fn update_text(sheet: &Sheet, count: &str) -> String {
    let (list, own) = ((sheet.list)("$1", count, &LEASE), &LEASE[PLACE.len()..]);
    let set = |prefix: &str| {
        let set = own.iter().map(|column| format!("{prefix}{0} = new.{0}", column.name));
        set.collect::<Vec<_>>().join(", ")
    };
    match sheet.slow_subqueries {
        true => format!(
            "update {list} straight_join tenure_lock as l force index (primary)
                 on l.kind = new.kind and l.id = new.id and l.slot = new.slot set {}",
            set("l.")
        ),
        false => format!(
            "update tenure_lock as l set {} from {list}
              where l.kind = new.kind and l.id = new.id and l.slot = new.slot",
            set("")
        ),
    }
}
listed!(UPDATE, "$2", update_text);

/// In the order of their keys, in which other sessions insert them, too.
fn insert_text(sheet: &Sheet, count: &str) -> String {
    let (columns, values) = (Column::names(&LEASE, ""), Column::names(&LEASE, "new."));
    let list = (sheet.list)("$1", count, &LEASE);
    format!("insert into tenure_lock ({columns}) select {values} from {list} order by new.kind, new.id, new.slot")
}
listed!(INSERT, "$2", insert_text);

/// Writes rows. If another session inserted one of them first, the transaction has to be rolled back.
pub(super) async fn write(db: &mut Connection, writes: &Writes) -> Result<(), DatabaseError> {
    for (text, rows, complete) in [
        (&FLOORS, writes.floors(), false),
        (&DELETE, writes.deleted(), true),
        // An entry for a lock id that already has one is not written.
        (&RECORD, writes.past(), false),
        (&UPDATE, writes.updated(), true),
        (&INSERT, writes.inserted(), true),
    ] {
        let Some((rows, count)) = rows else { continue };
        let written = match db.write(text.with([Bind::Text(&rows)], count)).await {
            Err(error) if error.is_duplicate() => return Err(DatabaseError::SerializationFailure),
            written => written?,
        };
        // What was locked is there, and what is inserted is new: a row that is missing was kept back by the database.
        if complete && i64::try_from(written) != Ok(count) {
            let kept =
                "the database did not write all rows of tenure_lock: look for a trigger, a rule or a policy on it";
            return Err(DatabaseError::Schema(kept.into()));
        }
    }
    Ok(())
}
