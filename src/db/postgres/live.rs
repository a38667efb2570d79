//! The application's tables as PostgreSQL describes them.

use sqlx::{PgConnection, Row as _};

use super::errors::classify;
use crate::aggregate::schema::{LiveColumn, LiveTable};
use crate::aggregate::value::Kind;
use crate::error::DatabaseError;

/// The columns; for a domain, its base type. `citext` ignores case, `char(n)` trailing spaces.
const COLUMNS: &str = "
    select a.attname::text, format_type(t.oid, null), t.typname::text, t.typtype = 'e', not a.attnotnull,
           a.atthasdef or a.attidentity <> '' or a.attgenerated <> '',
           case when t.typname in ('citext', 'bpchar') then t.typname::text
                when not c.collisdeterministic then c.collname::text end
      from pg_attribute a
      join pg_type d on d.oid = a.atttypid
      join pg_type t on t.oid = case d.typtype when 'd' then d.typbasetype else d.oid end
      left join pg_collation c on c.oid = a.attcollation
     where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped order by a.attnum";

const INDEXES: &str = "
    select i.indisunique and i.indimmediate and i.indpred is null, array(
               select a.attname::text from unnest(i.indkey::int2[]) with ordinality k (number, place)
                 join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
                where k.place <= i.indnkeyatts order by k.place)
      from pg_index i
     where i.indrelid = to_regclass($1) and i.indisvalid and i.indpred is null and not 0 = any (i.indkey::int2[])";

/// Describes a table, named in quotes; `None` if it does not exist, or if it is in no schema of the search path.
pub(crate) async fn table(connection: &mut PgConnection, name: &str) -> Result<Option<LiveTable>, DatabaseError> {
    let rows = sqlx::query(COLUMNS).bind(name).fetch_all(&mut *connection).await.map_err(classify)?;
    if rows.is_empty() {
        return Ok(None);
    }
    let mut table = LiveTable { exact_names: true, ..LiveTable::default() };
    for row in &rows {
        let type_name: String = row.try_get(2).map_err(classify)?;
        let is_enum: bool = row.try_get(3).map_err(classify)?;
        let shown: String = row.try_get(1).map_err(classify)?;
        let (kinds, cast) = match () {
            () if is_enum => (Some(&[Kind::Text][..]), Some(type_name)),
            () if shown.ends_with("[]") => (Some(&[Kind::Json][..]), Some(shown.clone())),
            () => (kinds(&type_name), None),
        };
        table.columns.push(LiveColumn {
            name: row.try_get(0).map_err(classify)?,
            type_name: shown,
            kinds,
            cast,
            nullable: row.try_get(4).map_err(classify)?,
            filled: row.try_get(5).map_err(classify)?,
            folds: row.try_get(6).map_err(classify)?,
        });
    }
    for row in sqlx::query(INDEXES).bind(name).fetch_all(connection).await.map_err(classify)? {
        let columns: Vec<String> = row.try_get(1).map_err(classify)?;
        if row.try_get(0).map_err(classify)? {
            table.unique.push(columns.clone());
        }
        table.indexes.push(columns);
    }
    Ok(Some(table))
}

/// The kinds that the statements of a mapping can write to a column of this type.
fn kinds(type_name: &str) -> Option<&'static [Kind]> {
    Some(match type_name {
        "bool" => &[Kind::Bool],
        "int2" | "int4" | "int8" => &[Kind::Integer],
        "numeric" => &[Kind::Decimal, Kind::Integer, Kind::Real],
        "float4" | "float8" => &[Kind::Real],
        "text" | "varchar" | "bpchar" | "citext" | "name" => &[Kind::Text],
        "bytea" => &[Kind::Bytes],
        "uuid" => &[Kind::Uuid],
        "json" | "jsonb" => &[Kind::Json],
        "timestamptz" => &[Kind::Timestamp],
        "timestamp" => &[Kind::DateTime],
        "date" => &[Kind::Date],
        "time" => &[Kind::Time],
        _ => return None,
    })
}
