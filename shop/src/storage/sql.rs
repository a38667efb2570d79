//! One text of a statement for all databases: `?` is a value. What they spell differently is here.

use sqlx::AssertSqlSafe;
use tenure::Database;

/// How a database spells a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
    MySql,
}

impl Dialect {
    pub(super) fn of(db: &Database) -> Dialect {
        if db.postgres().is_ok() {
            Dialect::Postgres
        } else if db.mysql().is_ok() {
            Dialect::MySql
        } else {
            Dialect::Sqlite
        }
    }

    /// The text, with the database's own placeholders. None of the shop's texts has another `?`.
    pub(super) fn write(self, text: &str) -> AssertSqlSafe<String> {
        let mut parts = text.split('?');
        let mut sql = parts.next().unwrap_or_default().to_owned();
        for (at, part) in parts.enumerate() {
            match self {
                Dialect::Postgres => sql += &format!("${}", at + 1),
                Dialect::Sqlite | Dialect::MySql => sql.push('?'),
            }
            sql += part;
        }
        AssertSqlSafe(sql)
    }

    /// An insert that changes these columns if there is a row with this key.
    pub(super) fn upsert(self, insert: &str, key: &str, changes: &[&str]) -> String {
        let set = |new: fn(&str) -> String| changes.iter().map(|name| new(name)).collect::<Vec<_>>().join(", ");
        match self {
            Dialect::MySql => {
                let set = set(|name| format!("{name} = values({name})"));
                format!("{insert} on duplicate key update {set}")
            }
            Dialect::Sqlite | Dialect::Postgres => {
                let set = set(|name| format!("{name} = excluded.{name}"));
                format!("{insert} on conflict ({key}) do update set {set}")
            }
        }
    }

    /// A time, in microseconds since 1970.
    pub(super) fn micros(self, column: &str) -> String {
        match self {
            Dialect::Sqlite => column.to_owned(),
            Dialect::Postgres => format!("(extract(epoch from {column}) * 1000000)::bigint"),
            Dialect::MySql => format!("timestampdiff(microsecond, '1970-01-01', {column})"),
        }
    }
}

/// The keys of a list, and a placeholder for each. Their number is a power of two, so that few texts are prepared.
pub(super) fn list<T: Clone>(keys: &[T]) -> (String, Vec<T>) {
    let mut padded = keys.to_vec();
    if let Some(last) = keys.last() {
        padded.resize(keys.len().next_power_of_two(), last.clone());
    }
    (vec!["?"; padded.len()].join(", "), padded)
}

/// The same on each database's own connection.
macro_rules! on_each {
    ($db:expr, $on:expr, $own:ident => $work:expr) => {
        match $crate::storage::sql::Dialect::of($db) {
            $crate::storage::sql::Dialect::Sqlite => {
                let $own = $on.sqlite()?;
                $work
            }
            $crate::storage::sql::Dialect::Postgres => {
                let $own = $on.postgres()?;
                $work
            }
            $crate::storage::sql::Dialect::MySql => {
                let $own = $on.mysql()?;
                $work
            }
        }
    };
}

/// The rows of a query with these values, and then those of a list.
macro_rules! read {
    ($db:expr, $fetch:ident, $text:expr, ($($value:expr),*) $(, $list:expr)?) => {
        $crate::storage::sql::on_each!($db, $db, own => {
            let query = sqlx::query_as($crate::storage::sql::Dialect::of($db).write($text));
            $(let query = query.bind($value);)*
            $(let query = $list.into_iter().fold(query, |query, value| query.bind(value));)?
            query.$fetch(own).await.map_err($crate::storage::failed)
        })
    };
}

/// Runs a statement with these values in a transaction, and returns how many rows it changed.
macro_rules! execute {
    ($db:expr, $tx:expr, $text:expr, ($($value:expr),*)) => {
        $crate::storage::sql::on_each!($db, $tx, own => {
            let statement = sqlx::query($crate::storage::sql::Dialect::of($db).write($text));
            $(let statement = statement.bind($value);)*
            statement.execute(own).await.map(|done| done.rows_affected()).map_err($crate::storage::failed)
        })
    };
}

pub(super) use {execute, on_each, read};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_database_has_its_own_placeholders() {
        let text = "select a from b where c = ? and d = ?";
        assert_eq!(Dialect::MySql.write(text).0, text);
        assert_eq!(Dialect::Sqlite.write(text).0, text);
        assert_eq!(Dialect::Postgres.write(text).0, "select a from b where c = $1 and d = $2");
    }

    #[test]
    fn a_list_is_padded_with_its_last_key() {
        assert_eq!(list(&["a", "b", "c"]), ("?, ?, ?, ?".to_owned(), vec!["a", "b", "c", "c"]));
        assert_eq!(list(&["a"]), ("?".to_owned(), vec!["a"]));
    }
}
