//! What differs on MariaDB and MySQL in the texts of statements.

use super::deadline::Flavour;
use super::live::CATALOG;
use crate::aggregate::mapping::Column;
use crate::aggregate::value::Kind;
use crate::db::{self, Dialect, Holds, Inserts, RowLock, RowLocks, Sheet};

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
    or_nothing: |table, column| format!("on duplicate key update {table}.{column} = {table}.{column}"),
    // A comparison of rows would not use the index.
    after: |[kind, id, slot], [a, b, c], after| {
        let (than, last) = if after { (">", ">") } else { ("<", "<=") };
        format!("({kind} {than} {a} or ({kind} = {a} and ({id} {than} {b} or ({id} = {b} and {slot} {last} {c}))))")
    },
    list,
    greatest: "greatest",
    key_text: |column| format!("convert({column} using utf8mb4)"),
    // The first condition uses the index, whose collation may ignore case.
    same: |column, place| format!("{column} = {place} and cast({column} as binary) = cast({place} as binary)"),
    bytes: |hex| format!("x'{hex}'"),
    read,
    constant: |number| number.to_string(),
    null: |_| "null",
    place,
    text: |place| place.to_owned(),
    has_nul: true,
    rows: "",
    slow_subqueries: true,
    row_locks: Some(ROW_LOCKS),
    // A subquery of `returning` is read after the insert.
    inserts: Inserts::Returning,
    catalog: &CATALOG,
};

pub(crate) static MYSQL: Sheet = Sheet {
    dialect: Dialect::MySql,
    // NOWAIT requires the newer spelling, which MariaDB does not have.
    row_locks: Some(RowLocks { share: " for share", rereads: RowLock::Share, lock_before_write: true, ..ROW_LOCKS }),
    inserts: Inserts::Silent,
    ..MARIADB
};

const ROW_LOCKS: RowLocks = RowLocks {
    share: " lock in share mode",
    // Never a shared lock: the same transaction may change the row next, and two transactions that share it would then deadlock; so would a
    // heartbeat that waits for it.
    key_share: " for update",
    no_key_update: " for update",
    update: " for update",
    skip_locked: " for update skip locked",
    no_key_update_skip_locked: " for update skip locked",
    may_be_hidden: false,
    with_clock: |columns, rows, given| format!("select {} as clock, {columns} from {rows}", (MARIADB.now)(given)),
    rereads: RowLock::None,
    lock_before_write: false,
};

/// The sheet of a server.
pub(crate) fn of(flavour: Flavour) -> &'static Sheet {
    match flavour {
        Flavour::MariaDb => &MARIADB,
        Flavour::MySql => &MYSQL,
    }
}

/// In UTC, like the session: a `timestamp` column is converted to it, a `datetime` column contains it.
const EPOCH: &str = "timestamp'1970-01-01 00:00:00'";

/// Keys are compared by their bytes, so that the primary key finds them.
fn list(place: &str, count: &str, columns: &[db::Column]) -> String {
    let read = |column: &db::Column| match column.holds {
        Holds::Key => format!("cast({0} as binary) as {0}", column.name),
        Holds::Bytes => format!("unhex({0}) as {0}", column.name),
        Holds::Text | Holds::Number | Holds::Flag => column.name.to_owned(),
    };
    let kind = |column: &db::Column| {
        let kind = match column.holds {
            Holds::Key => "varchar(1024) character set utf8mb4",
            Holds::Text => "text character set utf8mb4",
            Holds::Bytes => "varchar(64)",
            Holds::Number => "bigint",
            Holds::Flag => "tinyint",
        };
        format!("{0} {kind} path '$.{0}'", column.name)
    };
    let columns = |each: &dyn Fn(&db::Column) -> String| columns.iter().map(each).collect::<Vec<_>>().join(", ");
    let (read, kinds) = (columns(&read), columns(&kind));
    format!("(select {read} from json_table({place}, '$[*]' columns ({kinds})) as json limit {count}) as new")
}

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
