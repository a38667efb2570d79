//! The application's tables as MariaDB and MySQL describe them.

use crate::aggregate::value::Kind;
use crate::db::{Catalog, Text};

/// MySQL gives these names as bytes. Different texts are equal also by `utf8mb4_bin`, which ignores trailing spaces. A prefix of a column can
/// find rows, but it is unique for fewer of them than the column.
pub(super) static CATALOG: Catalog = Catalog {
    exact_names: false,
    columns: Text::new(
        "select convert(column_name using utf8mb4), lower(convert(data_type using utf8mb4)), lower(convert(data_type using utf8mb4)),
                null, cast(is_nullable = 'YES' as signed),
                cast(length(concat(coalesce(column_default, ''), extra)) > 0 as signed),
                case when collation_name like '%nopad_bin' or collation_name like '%0900_bin' or collation_name = 'binary' then null
                     else convert(collation_name using utf8mb4) end,
                case when coalesce(generation_expression, '') <> '' then 'generated' end, lower(convert(column_type using utf8mb4))
           from information_schema.columns
          where table_schema = coalesce($1, database()) and table_name = $2 order by ordinal_position",
    ),
    indexes: Text::new(
        "select convert(index_name using utf8mb4), cast(2 * (non_unique = 0 and sub_part is null) as signed),
                convert(column_name using utf8mb4)
           from information_schema.statistics
          where table_schema = coalesce($1, database()) and table_name = $2 order by index_name, seq_in_index",
    ),
    references: Text::new(
        "select convert(constraint_name using utf8mb4), convert(referenced_table_name using utf8mb4),
                convert(column_name using utf8mb4), convert(referenced_column_name using utf8mb4)
           from information_schema.key_column_usage
          where table_schema = coalesce($1, database()) and table_name = $2 and referenced_table_name is not null
          order by constraint_name, ordinal_position",
    ),
    // A view has no engine of its own.
    storage: Some(Text::new(
        "select case when own.engine is not null and coalesce(known.transactions, 'NO') <> 'YES'
                     then convert(concat('its engine is ', own.engine, ', which cannot roll back, so a refused change would stay; \
                                          run `alter table ', own.table_name, ' engine = InnoDB`') using utf8mb4) end,
                cast(0 as signed)
           from information_schema.tables own left join information_schema.engines known on known.engine = own.engine
          where own.table_schema = coalesce($1, database()) and own.table_name = $2",
    )),
    kinds,
};

/// The kinds that the statements of a mapping can write to a column of this type.
fn kinds(type_name: &str) -> Option<&'static [Kind]> {
    Some(match type_name {
        "tinyint" | "bit" => &[Kind::Bool, Kind::Integer],
        "smallint" | "mediumint" | "int" | "bigint" => &[Kind::Integer, Kind::Bool],
        "decimal" => &[Kind::Decimal, Kind::Integer, Kind::Real],
        "float" | "double" => &[Kind::Real],
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "enum" | "set" => &[Kind::Text, Kind::Json],
        // MariaDB's `json` is one.
        "longtext" => &[Kind::Text, Kind::Json],
        "json" => &[Kind::Json],
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => &[Kind::Bytes, Kind::Uuid],
        "uuid" => &[Kind::Uuid],
        "timestamp" => &[Kind::Timestamp],
        "datetime" => &[Kind::Timestamp, Kind::DateTime],
        "date" => &[Kind::Date],
        "time" => &[Kind::Time],
        _ => return None,
    })
}
