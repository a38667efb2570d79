//! The tables of leases: the statements that lock, read and write rows.
//!
//! Rows are written as one JSON text, so that one statement with a constant text covers any number of them.

use crate::clock::millis;
use crate::db::columns::{Columns, there};
use crate::db::{Bind, Column, Connection, LOCK, Row, RowLock, Sheet, Statement, Text};
use crate::error::DatabaseError;
use crate::lease::engine::{LeaseRow, Place};
use crate::lease::operations::LockHash;
use crate::lease::{LockId, LockKey};
use crate::store::Slice;
use crate::store::leases::read::{Trace, lease, place};
use crate::store::leases::{Found, Hold, Which, Writes};

/// The columns of the lock table, as [`lease`] reads them.
const LEASE: [Column; 17] = [
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

/// Those of the history, as [`past`](super::past) reads them.
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

/// The text that selects rows `l` of the lock table, and the time as `clock`; `$1` is that of a test, or null.
fn select(sheet: &Sheet, rows: &str) -> String {
    let columns = Column::read(&LEASE, "l.", "", sheet);
    match sheet.row_locks.as_ref().is_some_and(|locks| locks.computes_first) {
        true => format!(
            "with held as materialized (select {columns} from tenure_lock as l where {rows}{LOCK}) \
             select held.*, {{now $1}} as clock from held"
        ),
        false => format!("select {{now $1}} as clock, {columns} from tenure_lock as l where {rows}"),
    }
}

static EXCLUSIVE: Text = Text::made(|sheet| select(sheet, "l.kind = $2 and l.id = $3 and l.slot = {bytes}"));
static EXCLUSIVE_OF: Text =
    Text::made(|sheet| select(sheet, "l.kind = $2 and l.id = $3 and l.slot = {bytes} and l.generation = $4"));
static IN_SLOT: Text = Text::made(|sheet| select(sheet, "l.kind = $2 and l.id = $3 and l.slot = $4"));
static GENERATION: Text =
    Text::made(|sheet| select(sheet, "l.kind = $2 and l.id = $3 and l.generation = $4 order by l.slot"));
static SLOTS: Text =
    Text::made(|sheet| select(sheet, "l.kind = $2 and l.id = $3 and l.slot <> {bytes} order by l.slot"));
static ENDED_SLOTS: Text = Text::made(|sheet| {
    select(
        sheet,
        "l.kind = $2 and l.id = $3 and l.slot <> {bytes} and (l.ended or l.expires_at <= {now $1}) order by l.slot",
    )
});
static KEY: Text = Text::made(|sheet| select(sheet, "l.kind = $2 and l.id = $3 order by l.slot"));
static LOCK_ID: Text = Text::made(|sheet| select(sheet, "l.lock_hash = $2"));
static OWNER: Text = Text::made(|sheet| {
    select(sheet, "{same l.owner_id $2} and not l.ended and l.expires_at > {now $1} order by l.lock_hash")
});

/// As [`LOCK_ID`], found by the primary key: the subqueries read without locking, before the row is looked up. So the index of lock ids is
/// not locked, and the row may belong to another lock id by then.
static LOCK_ID_BY_KEY: Text = Text::made(|sheet| {
    select(
        sheet,
        "l.kind = (select other.kind from tenure_lock as other where other.lock_hash = $2)
         and l.id = (select other.id from tenure_lock as other where other.lock_hash = $2)
         and l.slot = (select other.slot from tenure_lock as other where other.lock_hash = $2)",
    )
});

/// The expiry has no index, so a sweep reads all rows, in the order of the primary key. The end of the slice is a condition of its own;
/// otherwise the primary key could not use it. Between the two ends there are at most `limit` rows: that informs the planner.
static OLD: Text = Text::made(|sheet| {
    select(
        sheet,
        "l.expires_at <= {now $1} - $2 and ({text $3} is null or l.kind = $3)
         and {after l.kind l.id l.slot $4 $5 $6} and {upto l.kind l.id l.slot $8 $9 $10}
         order by l.kind, l.id, l.slot limit $7",
    )
});
static OLD_OF_LAST_SLICE: Text = Text::made(|sheet| {
    select(
        sheet,
        "l.expires_at <= {now $1} - $2 and ({text $3} is null or l.kind = $3)
         and {after l.kind l.id l.slot $4 $5 $6} order by l.kind, l.id, l.slot limit $7",
    )
});
static END_OF_SLICE: Text = Text::new(
    "select {key l.kind} as kind, {key l.id} as id, l.slot from tenure_lock as l
      where {after l.kind l.id l.slot $1 $2 $3} and ({text $4} is null or l.kind = $4)
      order by l.kind, l.id, l.slot limit 1 offset $5",
);

static TRACE: Text = Text::made(|sheet| {
    format!(
        "select {{now $1}} as clock, swept.generation as floor, {}, {}
           from (select 1 as one) as one
           left join tenure_lock as l on l.lock_hash = $2
           left join tenure_lock_history as past on past.lock_hash = $2
           left join tenure_lock_floor as swept on swept.kind = $3",
        Column::read(&LEASE, "l.", "", sheet),
        Column::read(&PAST, "past.", "past_", sheet)
    )
});

impl Hold {
    fn row_lock(self, which: Which<'_>) -> RowLock {
        match (self, which) {
            (Hold::No, _) => RowLock::None,
            (_, Which::EndedSlots(_) | Which::Old { .. }) => RowLock::SkipLocked,
            // Waits for changes of the key columns, which every end of a lease is, and not for heartbeats, where the database can tell.
            (Hold::Guard, _) => RowLock::KeyShare,
            (Hold::Change, _) => RowLock::NoKeyUpdate,
            (Hold::Replace, _) => RowLock::Update,
        }
    }
}

/// Selects rows of the lock table.
///
/// Rows are locked by their primary key where a search would lock the index that it uses, so that sessions that find them by different
/// indexes cannot deadlock.
pub(super) async fn leases(
    db: &mut Connection,
    which: Which<'_>,
    hold: Hold,
) -> Result<Found<LeaseRow>, DatabaseError> {
    let (lock, now) = (hold.row_lock(which), db.now());
    let by_key = lock != RowLock::None && db.sheet().row_locks.as_ref().is_some_and(|locks| locks.index_entries);
    let statement = match which {
        Which::Exclusive(key) => EXCLUSIVE.with([now, Bind::Key(key.kind()), Bind::Key(key.id())]),
        Which::ExclusiveOf(key, generation) => {
            EXCLUSIVE_OF.with([now, Bind::Key(key.kind()), Bind::Key(key.id()), generation.into()])
        }
        Which::Generation(key, generation) => {
            let select = GENERATION.with([now, Bind::Key(key.kind()), Bind::Key(key.id()), generation.into()]);
            if by_key {
                let seen = fetch(db, select, RowLock::None, lease).await?;
                return lock_each(db, seen, lock).await;
            }
            select
        }
        Which::Slots(key) => SLOTS.with([now, Bind::Key(key.kind()), Bind::Key(key.id())]),
        Which::EndedSlots(key) => ENDED_SLOTS.with([now, Bind::Key(key.kind()), Bind::Key(key.id())]),
        Which::Old { slice, after, upto } => {
            let (age, most) = (millis(slice.older_than).into(), i64::from(slice.most).into());
            let [kind, id, slot] = place_values(after);
            let of = Bind::key(slice.kind);
            match upto.map(place_values) {
                Some([to, to_id, to_slot]) => OLD.with([now, age, of, kind, id, slot, most, to, to_id, to_slot]),
                None => OLD_OF_LAST_SLICE.with([now, age, of, kind, id, slot, most]),
            }
        }
        Which::Key(key) => KEY.with([now, Bind::Key(key.kind()), Bind::Key(key.id())]),
        Which::Lock(hash) if by_key => {
            let mut found = fetch(db, LOCK_ID_BY_KEY.with([now, Bind::Bytes(hash)]), lock, lease).await?;
            // It may belong to another lock id since the subqueries found it.
            found.rows.retain(|row| row.lock == hash);
            return Ok(found);
        }
        Which::Lock(hash) => LOCK_ID.with([now, Bind::Bytes(hash)]),
        Which::Owner(owner) => {
            let select = OWNER.with([now, owner.into()]);
            if by_key {
                let seen = fetch(db, select, RowLock::None, lease).await?;
                return lock_each(db, seen, lock).await;
            }
            select
        }
    };
    fetch(db, statement, lock, lease).await
}

fn place_values(place: &Place) -> [Bind<'_>; 3] {
    [Bind::Key(place.key.kind()), Bind::Key(place.key.id()), Bind::Bytes(&place.slot)]
}

/// Locks rows that were found without a lock, each by its primary key.
async fn lock_each(
    db: &mut Connection,
    seen: Found<LeaseRow>,
    lock: RowLock,
) -> Result<Found<LeaseRow>, DatabaseError> {
    let mut found = Found { rows: Vec::with_capacity(seen.rows.len()), clock: seen.clock };
    for row in seen.rows {
        let [kind, id, slot] = place_values(&row.place);
        let locked = fetch(db, IN_SLOT.with([db.now(), kind, id, slot]), lock, lease).await?;
        found.rows.extend(locked.rows);
        found.clock = found.clock.max(locked.clock);
    }
    Ok(found)
}

/// What is stored of a lock id: its row, its entry in the history, and the floor of the generations of this type. Takes no lock.
pub(super) async fn trace(db: &mut Connection, lock: &LockHash, kind: &str) -> Result<Found<Trace>, DatabaseError> {
    fetch(db, TRACE.with([db.now(), Bind::Bytes(lock), Bind::Key(kind)]), RowLock::None, Trace::of).await
}

async fn fetch<T>(
    db: &mut Connection,
    statement: Statement<'_>,
    lock: RowLock,
    read: fn(&Row) -> Result<T, sqlx::Error>,
) -> Result<Found<T>, DatabaseError> {
    let rows = db.read(statement, lock).await?;
    let mut found = Found { rows: Vec::with_capacity(rows.len()), clock: None };
    for row in &rows {
        let clock = row.get(|row| there(row.number("clock"), "clock"))?;
        found.rows.push(row.get(read)?);
        found.clock = found.clock.max(Some(clock));
    }
    Ok(found)
}

/// The last place of the slice that begins after this one; `None`: it is the last slice.
pub(super) async fn end_of_slice(
    db: &mut Connection,
    slice: &Slice<'_>,
    after: &Place,
) -> Result<Option<Place>, DatabaseError> {
    let ([kind, id, slot], skip) = (place_values(after), i64::from(slice.most) - 1);
    let rows = db.read(END_OF_SLICE.with([kind, id, slot, Bind::key(slice.kind), skip.into()]), RowLock::None).await?;
    rows.first().map(|row| row.get(place)).transpose()
}

/// The rows of a JSON text `$1` as rows `new`; `$2` is their number.
fn list(sheet: &Sheet, columns: &[Column]) -> String {
    (sheet.list)("$1", "$2", columns)
}

static FLOORS: Text = Text::made(|sheet| {
    format!(
        "insert into tenure_lock_floor (kind, generation) select new.kind, new.generation from {} where true order by new.kind
         {{on_conflict kind}} generation = {{greatest}}(tenure_lock_floor.generation, {{new generation}})",
        list(sheet, &FLOOR)
    )
});

/// Where a subquery would run for each row, the primary key is forced: a scan of a small table would wait for the rows of others.
static DELETE: Text = Text::made(|sheet| match sheet.slow_subqueries {
    true => format!(
        "delete l from {} straight_join tenure_lock as l force index (primary)
             on l.kind = new.kind and l.id = new.id and l.slot = new.slot",
        list(sheet, PLACE)
    ),
    false => format!(
        "delete from tenure_lock where (kind, id, slot) in (select new.kind, new.id, new.slot from {})",
        list(sheet, PLACE)
    ),
});

/// An entry for a lock id that already has one is not written.
static RECORD: Text = Text::made(|sheet| {
    let columns = Column::names(&PAST, "");
    let values = Column::names(&PAST, "new.");
    let list = list(sheet, &PAST);
    format!(
        "insert into tenure_lock_history ({columns}) select {values} from {list} where true
         {{or_nothing tenure_lock_history lock_hash}}"
    )
});

static UPDATE: Text = Text::made(|sheet| {
    let (list, own) = (list(sheet, &LEASE), &LEASE[PLACE.len()..]);
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
});

/// In the order of their keys, in which other sessions insert them, too.
static INSERT: Text = Text::made(|sheet| {
    let (columns, values) = (Column::names(&LEASE, ""), Column::names(&LEASE, "new."));
    let list = list(sheet, &LEASE);
    format!("insert into tenure_lock ({columns}) select {values} from {list} order by new.kind, new.id, new.slot")
});

/// Writes rows. Returns false if another session inserted one of them first; then the transaction must be rolled back.
pub(super) async fn write(db: &mut Connection, writes: &Writes) -> Result<bool, DatabaseError> {
    for (text, rows) in [
        (&FLOORS, writes.floors()),
        (&DELETE, writes.deleted()),
        (&RECORD, writes.past()),
        (&UPDATE, writes.updated()),
        (&INSERT, writes.inserted()),
    ] {
        let Some((rows, count)) = rows else { continue };
        match db.write(text.with([Bind::Text(&rows), count.into()])).await {
            Ok(_) => {}
            Err(error) if error.is_duplicate() => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// A row without an owner, under a lock id that no client has. The generations of a swept key continue.
static MAKE: Text = Text::new(
    "insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, since, last_active, expires_at, ttl,
                              hard_until, ended)
     values ($1, $2, {bytes}, coalesce((select swept.generation from tenure_lock_floor as swept where swept.kind = $1), 0), $3,
             '', '', 0, 0, 0, 0, 0, true)
     {or_nothing tenure_lock slot}",
);

/// Makes sure that the key has a row, which every acquisition or change of the key locks first. It is the row of an ended lease, so the key
/// stays free. Transactions that require that nobody holds the key lock it.
pub(crate) async fn make(db: &mut Connection, key: &LockKey) -> Result<(), DatabaseError> {
    let lock = LockId::random().hash().to_vec();
    db.write(MAKE.with([Bind::Key(key.kind()), Bind::Key(key.id()), Bind::Bytes(&lock)])).await.map(drop)
}
