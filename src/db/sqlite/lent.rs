//! The state that the application can leave on the writing connection: pragmas, temporary tables, attached files.

use sqlx::{Row, SqliteConnection};

/// The state of a connection. First, what shuts others out is ended.
const STATE: &str = "
    pragma locking_mode = normal; pragma query_only = off;
    pragma analysis_limit; pragma automatic_index; pragma busy_timeout; pragma cache_size; pragma cache_spill;
    pragma cell_size_check; pragma checkpoint_fullfsync; pragma count_changes; pragma defer_foreign_keys;
    pragma foreign_keys; pragma full_column_names; pragma fullfsync; pragma ignore_check_constraints; pragma journal_mode;
    pragma journal_size_limit; pragma legacy_alter_table; pragma locking_mode; pragma max_page_count; pragma mmap_size;
    pragma query_only; pragma read_uncommitted; pragma recursive_triggers; pragma reverse_unordered_selects;
    pragma secure_delete; pragma short_column_names; pragma synchronous; pragma temp_store; pragma threads;
    pragma trusted_schema; pragma wal_autocheckpoint; pragma writable_schema;
    select 'a' like 'A'; select count(*) from sqlite_temp_schema;
    select count(*) from pragma_database_list where name not in ('main', 'temp')";

/// Reads the state, outside a transaction.
pub(crate) async fn state(connection: &mut SqliteConnection) -> Result<Vec<String>, sqlx::Error> {
    let rows = sqlx::raw_sql(STATE).fetch_all(connection).await?;
    rows.iter().map(|row| row.try_get_unchecked(0)).collect()
}

#[cfg(test)]
mod tests {
    use sqlx::Connection;

    use super::*;

    #[tokio::test]
    async fn each_answer_of_the_state_is_read() {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.expect("a database");
        let before = state(&mut connection).await.expect("a state");
        assert_eq!(before.len(), 34, "{before:?}");
        assert_eq!(before, state(&mut connection).await.expect("a state"), "reading it changes nothing");
        let own = "pragma case_sensitive_like = on; create temp table mine (a); pragma recursive_triggers = on;
                   pragma wal_autocheckpoint = 0";
        sqlx::raw_sql(own).execute(&mut connection).await.expect("own settings");
        let after = state(&mut connection).await.expect("a state");
        let changed = after.iter().zip(&before).filter(|(after, before)| after != before).count();
        assert_eq!((changed, after.len()), (4, before.len()), "{after:?}");
    }
}
