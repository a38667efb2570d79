//! The application's tables as SQLite describes them.

use crate::aggregate::value::Kind;
use crate::db::{Catalog, Text};

/// A primary key may be NULL unless it was declared otherwise; a row with NULL has no id, and is never found. An integer that is the whole key
/// is an alias of the rowid, which SQLite generates, and has no index of its own.
pub(super) static CATALOG: Catalog = Catalog {
    exact_names: false,
    columns: Text::new(
        "select own.name, own.type, own.type, null, own.`notnull` = 0 and own.pk = 0,
                own.dflt_value is not null or own.hidden <> 0 or (own.pk = 1 and lower(own.type) = 'integer'
                    and not exists (select 1 from pragma_table_xinfo($2, $1) as other where other.pk > 1)),
                (select info.coll from pragma_index_list($2, $1) as list, pragma_index_xinfo(list.name, $1) as info
                  where info.key and list.`unique` and not list.partial and info.name = own.name
                    and lower(info.coll) <> 'binary' limit 1),
                case when own.hidden in (2, 3) then 'generated' end, null
           from pragma_table_xinfo($2, $1) as own order by own.cid",
    ),
    indexes: Text::new(
        "select index_name, is_unique, column_name
           from (select list.name as index_name, list.`unique` * (2 - list.partial) as is_unique, info.name as column_name, info.seqno as place
                   from pragma_index_list($2, $1) as list, pragma_index_xinfo(list.name, $1) as info
                  where info.key and (list.`unique` or not list.partial)
                 union all select '', 2, name, pk from pragma_table_xinfo($2, $1) where pk > 0)
          order by index_name, place",
    ),
    references: Text::new(
        "select cast(fk.id as text), fk.`table`, fk.`from`,
                coalesce(fk.`to`, (select name from pragma_table_xinfo(fk.`table`, $1) where pk = fk.seq + 1))
           from pragma_foreign_key_list($2, $1) as fk order by fk.id, fk.seq",
    ),
    storage: None,
    kinds,
};

/// The kinds that a column of this declared type stores unchanged, by its affinity: a text in a column of numbers becomes a
/// number if it looks like one.
fn kinds(declared: &str) -> Option<&'static [Kind]> {
    let declared = declared.to_ascii_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
    Some(if has(&["INT"]) {
        &[Kind::Bool, Kind::Integer, Kind::Timestamp]
    } else if has(&["CHAR", "CLOB", "TEXT"]) {
        &[Kind::Text, Kind::Decimal, Kind::Bytes, Kind::Uuid, Kind::Json, Kind::Date, Kind::DateTime, Kind::Time]
    } else if declared.is_empty() || has(&["BLOB"]) {
        return None;
    } else if has(&["REAL", "FLOA", "DOUB"]) {
        &[Kind::Real]
    } else {
        // `numeric`, and every other word: `boolean`, `date`, `json`, `uuid`.
        &[
            Kind::Bool,
            Kind::Integer,
            Kind::Bytes,
            Kind::Uuid,
            Kind::Json,
            Kind::Timestamp,
            Kind::Date,
            Kind::DateTime,
            Kind::Time,
        ]
    })
}
