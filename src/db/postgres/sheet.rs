//! What differs on PostgreSQL in the texts of statements.

use super::live::CATALOG;
use crate::aggregate::mapping::Column;
use crate::aggregate::value::Kind;
use crate::db::{self, Dialect, Holds, Inserts, LOCK, RowLock, RowLocks, Sheet};

pub(crate) static SHEET: Sheet = Sheet {
    dialect: Dialect::Postgres,
    numbers: true,
    quote: '"',
    // As a subquery it is read once, so that an index can be used.
    now: |given| format!("(select tenure_now({given}))"),
    audited_at: |given| format!("('epoch'::timestamptz + tenure_now({given}::bigint) * interval '1 millisecond')"),
    millis_of: |column| format!("(extract(epoch from {column}) * 1000)::bigint"),
    on_conflict: |columns| format!("on conflict ({columns}) do update set"),
    new: |column| format!("excluded.{column}"),
    or_nothing: |_, _| "on conflict do nothing".to_owned(),
    after: |columns, places, after| {
        let than = if after { ">" } else { "<=" };
        format!("({}) {than} ({})", columns.join(", "), places.join(", "))
    },
    list,
    greatest: "greatest",
    key_text: |column| column.to_owned(),
    same: |column, place| format!("{column} = {place}"),
    bytes: |hex| format!("'\\x{hex}'"),
    read,
    constant: |number| format!("{number}::bigint"),
    null,
    place,
    text: |place| format!("{place}::text"),
    has_nul: false,
    rows: "",
    slow_subqueries: false,
    row_locks: Some(RowLocks {
        share: " for share",
        key_share: " for key share",
        no_key_update: " for no key update",
        update: " for update",
        skip_locked: " for update skip locked",
        no_key_update_skip_locked: " for no key update skip locked",
        // Row security lets a lock through only where it lets an update through.
        may_be_hidden: true,
        // It computes its columns before it has the lock, which may take a while. So it is a subquery, and the time is read after each row.
        with_clock: |columns, rows, given| {
            format!(
                "with held as materialized (select {columns} from {rows}{LOCK}) \
                 select held.*, tenure_now({given}) as clock from held"
            )
        },
        rereads: RowLock::None,
        lock_before_write: false,
    }),
    // The function sees what was committed while the insert waited, which the insert's own snapshot does not.
    inserts: Inserts::OrNothing("tenure_removed_version"),
    catalog: &CATALOG,
};

fn list(place: &str, count: &str, columns: &[db::Column]) -> String {
    let read = |column: &db::Column| match column.holds {
        Holds::Key => format!("{0} collate \"C\" as {0}", column.name),
        Holds::Text | Holds::Number => column.name.to_owned(),
        Holds::Bytes => format!("decode({0}, 'hex') as {0}", column.name),
        Holds::Flag => format!("{0}::boolean as {0}", column.name),
    };
    let kind = |column: &db::Column| match column.holds {
        Holds::Key | Holds::Text | Holds::Bytes => format!("{} text", column.name),
        Holds::Number => format!("{} bigint", column.name),
        Holds::Flag => format!("{} int", column.name),
    };
    let columns = |each: &dyn Fn(&db::Column) -> String| columns.iter().map(each).collect::<Vec<_>>().join(", ");
    let (read, kinds) = (columns(&read), columns(&kind));
    format!("(select {read} from json_to_recordset({place}::text::json) as json ({kinds}) limit {count}) as new")
}

fn read(column: &Column, name: &str) -> String {
    match column.kind {
        // An array of PostgreSQL is sent as JSON.
        Kind::Json if column.is_array() => format!("to_json({name})::text"),
        Kind::Bool => format!("{name}::boolean"),
        Kind::Integer => format!("{name}::bigint"),
        Kind::Real => format!("{name}::float8"),
        Kind::Bytes => name.to_owned(),
        Kind::Text | Kind::Decimal | Kind::Uuid | Kind::Json | Kind::Time => format!("{name}::text"),
        // Their text depends on `DateStyle`, but JSON is always in ISO 8601, also for infinity, and for years before Christ, which
        // `to_char` does not mark.
        Kind::Date | Kind::DateTime => format!("to_json({name}) #>> '{{}}'"),
        Kind::Timestamp => format!("(extract(epoch from {name}) * 1000000)::bigint"),
    }
}

fn null(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "null::boolean",
        Kind::Integer | Kind::Timestamp => "null::bigint",
        Kind::Real => "null::float8",
        Kind::Bytes => "null::bytea",
        _ => "null::text",
    }
}

fn place(column: &Column, at: &str) -> String {
    match (column.kind, &column.sql_type) {
        (Kind::Json, Some(array)) if column.is_array() => {
            let items = format!("array(select jsonb_array_elements_text({at}::text::jsonb))::{array}");
            return format!("case when {at}::text is not null then {items} end");
        }
        (_, Some(cast)) => {
            let cast = cast.split('.').map(|part| format!("\"{part}\"")).collect::<Vec<_>>().join(".");
            return format!("{at}::text::{cast}");
        }
        (_, None) => {}
    }
    match column.kind {
        Kind::Bool => format!("{at}::boolean"),
        Kind::Integer => format!("{at}::bigint"),
        Kind::Real => format!("{at}::float8"),
        Kind::Text => format!("{at}::text"),
        Kind::Bytes => format!("{at}::bytea"),
        Kind::Decimal => format!("{at}::text::numeric"),
        Kind::Uuid => format!("{at}::text::uuid"),
        // An assignment to a column of type `json` converts it.
        Kind::Json => format!("{at}::text::jsonb"),
        // A number would have to be multiplied, which is exact only up to the year 2255.
        Kind::Timestamp => format!("{at}::text::timestamptz"),
        Kind::Date => format!("{at}::text::date"),
        Kind::DateTime => format!("{at}::text::timestamp"),
        Kind::Time => format!("{at}::text::time"),
    }
}
