//! What differs on MariaDB and MySQL in the texts of statements.

use super::deadline::Flavour;
use crate::aggregate::mapping::Column;
use crate::aggregate::value::Kind;
use crate::db::{Dialect, Inserts, RowLocks, Sheet};

pub(crate) static MARIADB: Sheet = Sheet {
    dialect: Dialect::MariaDb,
    numbers: false,
    quote: '`',
    // `now()` would be the start of the statement, which may have waited for a lock since.
    now: |given| format!("cast(coalesce({given}, unix_timestamp(sysdate(6)) * 1000) as signed)"),
    audited_at: |given| format!("coalesce(timestampadd(microsecond, {given} * 1000, {EPOCH}), sysdate(6))"),
    millis_of: |column| format!("timestampdiff(microsecond, {EPOCH}, {column}) div 1000"),
    on_conflict: |_| "on duplicate key update".to_owned(),
    new: |column| format!("values({column})"),
    greatest: "greatest",
    least: "least",
    key_text: |column| format!("convert({column} using utf8mb4)"),
    // The first condition uses the index, whose collation may ignore case.
    same: |column, place| format!("{column} = {place} and cast({column} as binary) = cast({place} as binary)"),
    bytes: |hex| format!("x'{hex}'"),
    read,
    constant: |number| number.to_string(),
    null: |_| "null",
    place,
    text: |place| place.to_owned(),
    rows: "",
    slow_subqueries: true,
    row_locks: Some(RowLocks {
        share: " lock in share mode",
        update: " for update",
        skip_locked: " for update skip locked",
        rereads_lock: false,
        lock_before_write: false,
    }),
    // A subquery of `returning` is read after the insert.
    inserts: Inserts::Returning,
};

pub(crate) static MYSQL: Sheet = Sheet {
    dialect: Dialect::MySql,
    row_locks: Some(RowLocks {
        share: " lock in share mode",
        update: " for update",
        skip_locked: " for update skip locked",
        rereads_lock: true,
        lock_before_write: true,
    }),
    inserts: Inserts::Silent,
    ..MARIADB
};

/// The sheet of a server.
pub(super) fn of(flavour: Flavour) -> &'static Sheet {
    match flavour {
        Flavour::MariaDb => &MARIADB,
        Flavour::MySql => &MYSQL,
    }
}

/// In UTC, like the session: a `timestamp` column is converted to it, a `datetime` column contains it.
const EPOCH: &str = "timestamp'1970-01-01 00:00:00'";

fn read(column: &Column, name: &str) -> String {
    match column.kind {
        // A number, because there are no booleans.
        Kind::Bool | Kind::Integer => format!("cast({name} as signed)"),
        // Like a cast, which MySQL has only since 8.0.17.
        Kind::Real => format!("{name} + 0e0"),
        Kind::Text | Kind::Json => format!("convert({name} using utf8mb4)"),
        // A UUID is `uuid` on MariaDB, or `binary(16)`. Both return its 16 bytes.
        Kind::Bytes | Kind::Uuid => format!("cast({name} as binary)"),
        Kind::Decimal | Kind::Date | Kind::DateTime | Kind::Time => format!("cast({name} as char)"),
        Kind::Timestamp => format!("timestampdiff(microsecond, {EPOCH}, {name})"),
    }
}

/// The driver sends the type of a value with every execution.
fn place(column: &Column, at: &str) -> String {
    match column.kind {
        Kind::Timestamp => format!("timestampadd(microsecond, {at}, {EPOCH})"),
        Kind::Date => format!("cast({at} as date)"),
        Kind::DateTime => format!("cast({at} as datetime(6))"),
        // MySQL 9 misreads a text that is bound to `cast(? as time(6))`: 09:00 as 00:00.
        Kind::Time => format!("cast(cast({at} as char) as time(6))"),
        _ => at.to_owned(),
    }
}
