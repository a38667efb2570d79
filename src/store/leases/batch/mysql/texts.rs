//! The SQL of batches. A message with several statements cannot be prepared, so the values are part of its text: as numbers, or in
//! hexadecimal, which needs no quotes in any mode of the server.

use std::collections::BTreeSet;
use std::fmt::{Display, Write};

use crate::db::mysql::deadline::Flavour;
use crate::lease::engine::{LeaseRow, Past};
use crate::lease::operations::LockHash;
use crate::lease::{LockKey, Owner, ShowOwner};
use crate::store::leases::push_hex;

/// The columns that [`lease`](crate::store::leases::lease) reads, of a table `l`.
pub(crate) const LEASE: &str = "convert(l.kind using utf8mb4) as kind, convert(l.id using utf8mb4) as id, l.slot, \
    l.generation, l.lock_hash, l.owner_id, l.owner_name, l.owner_role, l.shown_as, l.since, l.last_active, l.active_at, \
    l.expires_at, l.ttl, l.idle_limit, l.hard_until, l.ended";

/// As [`clock!`](crate::store::leases::batch::mysql::columns::clock).
fn clock(now: Option<i64>) -> String {
    now.map_or_else(|| "cast(unix_timestamp(sysdate(6)) * 1000 as signed)".into(), |now| now.to_string())
}

/// Bytes as a literal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut literal = String::with_capacity(3 + 2 * bytes.len());
    literal.push_str("x'");
    push_hex(&mut literal, bytes);
    literal.push('\'');
    literal
}

fn text(text: &str) -> String {
    format!("_utf8mb4 {}", hex(text.as_bytes()))
}

fn list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let mut list = String::new();
    for item in items {
        let comma = if list.is_empty() { "" } else { "," };
        write!(list, "{comma}{item}").expect("a string can be written to");
    }
    list
}

fn locks(locks: &[&LockHash]) -> String {
    list(locks.iter().map(|lock| hex(&lock[..])))
}

/// Reads lock ids. Takes no lock.
pub(super) fn seen_locks(shown: &[&LockHash], now: Option<i64>) -> String {
    format!("{} l.lock_hash in ({})", seen(now), locks(shown))
}

/// Reads keys, with all their slots. Takes no lock.
fn seen_keys(keys: &[&LockKey], now: Option<i64>) -> String {
    let keys = list(keys.iter().map(|key| format!("({},{})", kind(key), id(key))));
    format!("{} (l.kind, l.id) in ({keys})", seen(now))
}

fn seen(now: Option<i64>) -> String {
    format!("select 0 as what, {} as clock, {LEASE} from tenure_lock as l where", clock(now))
}

/// Begins, and locks the free keys and the live lock ids unless another transaction has locked them. A read without a lock selects those
/// rows first, so that neither the rows of others nor the index of lock ids are locked.
pub(super) fn look(keys: &[&LockKey], asked: &[&LockHash], shown: &[&LockHash], now: Option<i64>) -> String {
    let clock = clock(now);
    let mut wanted = Vec::new();
    if !keys.is_empty() {
        let keys =
            list(keys.iter().map(|key| format!("({},{},'')", hex(key.kind().as_bytes()), hex(key.id().as_bytes()))));
        wanted.push(format!(
            "select kind, id, slot from tenure_lock where (kind, id, slot) in ({keys}) and (ended or expires_at <= {clock})"
        ));
    }
    if !shown.is_empty() {
        wanted.push(format!(
            "select kind, id, slot from tenure_lock where lock_hash in ({}) and not ended and expires_at > {clock}",
            locks(shown)
        ));
    }
    // The limit prevents the server from merging it with the outer query, which locks.
    let mut look = format!(
        "start transaction; select 1 as what, {clock} as clock, {LEASE} from ({} limit 10000) as wanted \
         straight_join tenure_lock as l on l.kind = wanted.kind and l.id = wanted.id and l.slot = wanted.slot \
         for update skip locked",
        wanted.join(" union all ")
    );
    if !asked.is_empty() {
        // After the rows: a takeover of one of them has recorded its former owner by then.
        let asked = locks(asked);
        look += &format!(
            "; select 2 as what, {clock} as clock, past.lock_hash as used from (select 1) as one \
             left join tenure_lock_history as past on past.lock_hash in ({asked})"
        );
    }
    look
}

/// Reads keys that could not be locked: they are held, or have no row. Takes no lock.
pub(super) fn look_again(keys: &[&LockKey], now: Option<i64>) -> String {
    // After the rows: a row that was swept in between is below this floor.
    let kinds = list(keys.iter().map(|key| hex(key.kind().as_bytes())).collect::<BTreeSet<_>>());
    format!(
        "{}; select 3 as what, convert(kind using utf8mb4) as kind, generation from tenure_lock_floor where kind in ({kinds})",
        seen_keys(keys, now)
    )
}

const INSERT: &str = "insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, \
    shown_as, since, last_active, active_at, expires_at, ttl, idle_limit, hard_until, ended) values";

const OVERWRITE: &str = "on duplicate key update generation = values(generation), lock_hash = values(lock_hash), \
    owner_id = values(owner_id), owner_name = values(owner_name), owner_role = values(owner_role), \
    shown_as = values(shown_as), since = values(since), last_active = values(last_active), \
    active_at = values(active_at), expires_at = values(expires_at), ttl = values(ttl), idle_limit = values(idle_limit), \
    hard_until = values(hard_until), ended = values(ended)";

/// The update if the same lock id inserted the row a moment before: it counts as a heartbeat, like every repeated request. So the earlier
/// caller, who is gone, does not give back the lease that this request returns. Rows of other owners, and the row of this lock id on
/// another key, stay unchanged.
const REPEATED: &str = "on duplicate key update tenure_lock.last_active = if(tenure_lock.lock_hash = values(lock_hash) \
    and tenure_lock.kind = values(kind) and tenure_lock.id = values(id) and tenure_lock.slot = values(slot) and not tenure_lock.ended and tenure_lock.expires_at > values(since) \
    and cast(tenure_lock.owner_id as binary) = cast(values(owner_id) as binary), \
    greatest(tenure_lock.last_active, tenure_lock.since + 1), tenure_lock.last_active)";

/// Writes and commits the history entries, the locked rows and the new rows, in that order. Another session may have inserted a new row
/// first, so new rows are read again.
pub(super) fn write(
    ended: &[Past],
    locked: &[&LeaseRow],
    new: &[&LeaseRow],
    flavour: Flavour,
    now: Option<i64>,
) -> String {
    let mut write = String::new();
    if !ended.is_empty() {
        let ended = list(ended.iter().map(|past| {
            let (lock, kind, id, owner) =
                (hex(&past.lock), kind(&past.key), id(&past.key), owner(&past.owner, past.shown));
            let (generation, since, at, how) = (past.generation, past.since, past.ended_at, past.how.text());
            let (idle, limited) = (i8::from(past.idle), i8::from(past.limited));
            format!("({lock},{kind},{id},{generation},{owner},{since},{at},'{how}',{idle},{limited})")
        }));
        write += &format!(
            "insert into tenure_lock_history \
             (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, ended_at, how, idle, limited) \
             values {ended} on duplicate key update tenure_lock_history.lock_hash = tenure_lock_history.lock_hash; "
        );
    }
    if !locked.is_empty() {
        write += &format!("{INSERT} {} {OVERWRITE}; ", list(locked.iter().copied().map(row)));
    }
    if !new.is_empty() {
        let keys: Vec<_> = new.iter().map(|row| &row.place.key).collect();
        write += &format!(
            "{}{INSERT} {} {REPEATED}; {}; ",
            patience(flavour),
            list(new.iter().copied().map(row)),
            seen_keys(&keys, now)
        );
    }
    write + "commit"
}

/// Waits for a row that another session has just inserted, until it commits or ends.
fn patience(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::MariaDb => "set statement innodb_lock_wait_timeout = 1 for ",
        Flavour::MySql => "set innodb_lock_wait_timeout = 1; ",
    }
}

fn row(row: &LeaseRow) -> String {
    let (kind, id, slot, lock) = (kind(&row.place.key), id(&row.place.key), hex(&row.place.slot), hex(&row.lock));
    let (owner, ended) = (owner(&row.owner, row.shown), i8::from(row.ended));
    let LeaseRow { generation, since, last_active, active_at, expires_at, ttl, hard_until, .. } = row;
    let idle_limit = row.idle_limit.map_or_else(|| "null".to_owned(), |limit| limit.to_string());
    format!(
        "({kind},{id},{slot},{generation},{lock},{owner},{since},{last_active},{active_at},{expires_at},{ttl},\
         {idle_limit},{hard_until},{ended})"
    )
}

fn kind(key: &LockKey) -> String {
    hex(key.kind().as_bytes())
}

fn id(key: &LockKey) -> String {
    hex(key.id().as_bytes())
}

/// Id, name, role, and visibility.
fn owner(owner: &Owner, shown: ShowOwner) -> String {
    let role = owner.role.as_deref().map_or_else(|| "null".to_owned(), text);
    format!("{},{},{role},{}", text(&owner.id), text(&owner.name), shown.stored())
}
