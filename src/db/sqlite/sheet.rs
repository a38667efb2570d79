//! What differs on SQLite in the texts of statements.

use super::live::CATALOG;
use crate::db::{Column, Dialect, Holds, Inserts, Sheet};

pub(crate) static SHEET: Sheet = Sheet {
    dialect: Dialect::Sqlite,
    numbers: true,
    quote: '`',
    now: |given| given.to_owned(),
    audited_at: |given| format!("{given} * 1000"),
    millis_of: |column| format!("{column} / 1000"),
    on_conflict: |columns| format!("on conflict ({columns}) do update set"),
    new: |column| format!("excluded.{column}"),
    or_nothing: |_, _| "on conflict do nothing".to_owned(),
    after: |columns, places, after| {
        let than = if after { ">" } else { "<=" };
        format!("({}) {than} ({})", columns.join(", "), places.join(", "))
    },
    list,
    greatest: "max",
    key_text: |column| column.to_owned(),
    same: |column, place| format!("{column} = {place}"),
    bytes: |hex| format!("x'{hex}'"),
    read: |_, name| name.to_owned(),
    constant: |number| number.to_string(),
    null: |_| "null",
    place: |_, place| place.to_owned(),
    text: |place| place.to_owned(),
    has_nul: true,
    rows: "values ",
    slow_subqueries: false,
    row_locks: None,
    inserts: Inserts::Returning,
    catalog: &CATALOG,
};

fn list(place: &str, count: &str, columns: &[Column]) -> String {
    let read = |column: &Column| match column.holds {
        Holds::Bytes => format!("unhex(value ->> '{0}') as {0}", column.name),
        _ => format!("value ->> '{0}' as {0}", column.name),
    };
    let columns = columns.iter().map(read).collect::<Vec<_>>().join(", ");
    format!("(select {columns} from jsonb_each({place}) limit {count}) as new")
}
