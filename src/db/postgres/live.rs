//! The application's tables as PostgreSQL describes them.

use crate::aggregate::value::Kind;
use crate::db::{Catalog, Text};

/// A domain is its base type, an enum a text, an array JSON. `citext` ignores case, `char(n)` trailing spaces. A table in no schema of the
/// search path does not exist.
pub(super) static CATALOG: Catalog = Catalog {
    exact_names: true,
    columns: Text::new(
        "select a.attname::text, format_type(t.oid, null),
                case when t.typtype = 'e' then 'text' when format_type(t.oid, null) like '%[]' then 'jsonb' else t.typname::text end,
                case when t.typtype = 'e' then t.typname::text when format_type(t.oid, null) like '%[]'
                     then format_type(t.oid, null) end,
                (not a.attnotnull)::int::bigint, (a.atthasdef or a.attidentity <> '' or a.attgenerated <> '')::int::bigint,
                case when t.typname in ('citext', 'bpchar') then t.typname::text
                     when not c.collisdeterministic then c.collname::text end,
                case when a.attgenerated <> '' then 'generated' when a.attidentity = 'a' then 'generated always as identity' end,
                format_type(t.oid, case d.typtype when 'd' then d.typtypmod else a.atttypmod end)
           from pg_attribute a
           join pg_type d on d.oid = a.atttypid
           join pg_type t on t.oid = case d.typtype when 'd' then d.typbasetype else d.oid end
           left join pg_collation c on c.oid = a.attcollation
          where a.attrelid = to_regclass(coalesce('\"' || $1::text || '\".', '') || '\"' || replace($2::text, '.', '\".\"') || '\"')
            and a.attnum > 0 and not a.attisdropped order by a.attnum",
    ),
    indexes: Text::new(
        "select i.indexrelid::text,
                case when i.indisunique and i.indimmediate then case when i.indpred is null then 2 else 1 end else 0 end::bigint,
                a.attname::text
           from pg_index i
           cross join unnest(i.indkey::int2[]) with ordinality k (number, place)
           left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
          where i.indrelid = to_regclass(coalesce('\"' || $1::text || '\".', '') || '\"' || replace($2::text, '.', '\".\"') || '\"')
            and i.indisvalid and (i.indpred is null or i.indisunique) and k.place <= i.indnkeyatts order by i.indexrelid, k.place",
    ),
    references: Text::new(
        "select c.oid::text, f.relname::text, a.attname::text, b.attname::text
           from pg_constraint c
           join pg_class f on f.oid = c.confrelid
           cross join unnest(c.conkey, c.confkey) with ordinality k (own, other, place)
           join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.own
           join pg_attribute b on b.attrelid = c.confrelid and b.attnum = k.other
          where c.contype = 'f' and c.conrelid = to_regclass(coalesce('\"' || $1::text || '\".', '') || '\"' || replace($2::text, '.', '\".\"') || '\"')
          order by c.oid, k.place",
    ),
    storage: Some(Text::new(
        "select case when c.relpersistence = 'u' or exists (select from pg_partition_tree(c.oid) p
                          join pg_class q on q.oid = p.relid where q.relpersistence = 'u')
                     then 'it is unlogged, so it is empty after a crash of the server; run `alter table ' || c.relname || ' set logged`'
                end, row_security_active(c.oid)::int::bigint
           from pg_class c
          where c.oid = to_regclass(coalesce('\"' || $1::text || '\".', '') || '\"' || replace($2::text, '.', '\".\"') || '\"')",
    )),
    kinds,
};

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
