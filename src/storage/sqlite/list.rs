//! Lists of held and ended leases. The text of a statement contains only the requested filters, so that SQLite can use an index; the
//! numbers of the parameters never change.

use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, SqliteConnection};

use super::errors::classify;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lease::cursor::Position;
use crate::lease::listing::{HistoryQuery, LeaseState, ListQuery, Listed, PastRow};
use crate::storage::leases::{Dialect, lease, listed, past_row, presence};

const DIALECT: Dialect =
    Dialect { now: "?1", least: "min", greatest: "max", kind: |hex| format!("cast(x'{hex}' as text)") };

/// The held leases, the longest-held first.
pub(super) async fn held(
    connection: &mut SqliteConnection,
    query: &ListQuery,
    now: i64,
) -> Result<Vec<Listed>, DatabaseError> {
    let mut text = String::from("select * from tenure_lock as l where ended = 0 and since <= ?2");
    text += match query.state {
        None | Some(LeaseState::Held) => " and expires_at > ?1",
        Some(LeaseState::RanOut) => " and expires_at <= ?1",
    };
    text += &presence(query, &DIALECT);
    let (since, key, generation) = match &query.after {
        Some(Position::Held { since, key, generation }) => (Some(since), Some(key), Some(generation)),
        _ => (None, None, None),
    };
    for (asked, condition) in [
        (query.kind.is_some(), " and kind = ?3"),
        (query.owner.is_some(), " and owner_id = ?4"),
        (query.id_prefix.is_some(), " and substr(id, 1, length(?10)) = ?10"),
        (key.is_some(), " and (since, kind, id, generation) > (?5, ?6, ?7, ?8)"),
    ] {
        text += if asked { condition } else { "" };
    }
    text += " order by since, kind, id, generation limit ?9";
    let select = sqlx::query(AssertSqlSafe(text))
        .bind(now)
        .bind(now.saturating_sub(millis(query.held_for)))
        .bind(&query.kind)
        .bind(&query.owner)
        .bind(since)
        .bind(key.map(LockKey::kind))
        .bind(key.map(LockKey::id))
        .bind(generation)
        .bind(query.limit)
        .bind(&query.id_prefix);
    let rows = select.fetch_all(connection).await.map_err(classify)?;
    let entry = |row: &SqliteRow| -> Result<Listed, sqlx::Error> { Ok(listed(&lease(row)?, now)) };
    rows.iter().map(entry).collect::<Result<_, _>>().map_err(classify)
}

/// The ended leases, the latest first, with the next holder: from the history if that lease has ended too, otherwise from the lock table.
/// The order is that of an index, whose entries end with the primary key.
pub(super) async fn past(
    connection: &mut SqliteConnection,
    query: &HistoryQuery,
) -> Result<Vec<PastRow>, DatabaseError> {
    let (generation, lock) = match &query.after {
        Some(Position::Past { generation, lock }) => (Some(generation), Some(lock)),
        _ => (None, None),
    };
    let mut text = String::from(
        "select page.*, coalesce(later.owner_id, held.owner_id) as next_id,
                coalesce(later.owner_name, held.owner_name) as next_name,
                coalesce(later.owner_role, held.owner_role) as next_role,
                coalesce(later.generation, held.generation) as next_generation, coalesce(later.since, held.since) as next_since
           from (select past.*, (select min(other.generation) from tenure_lock_history as other
                                  where other.kind = past.kind and other.id = past.id
                                    and other.generation > past.generation) as later_generation
                   from tenure_lock_history as past where past.kind = ?1 and past.id = ?2",
    );
    if lock.is_some() {
        text += " and (past.generation, past.lock_hash) < (?3, ?4)";
    }
    text += " order by past.generation desc, past.lock_hash desc limit ?5) as page
           left join tenure_lock_history as later
             on later.kind = page.kind and later.id = page.id and later.generation = page.later_generation
           left join tenure_lock as held
             on held.kind = page.kind and held.id = page.id and held.generation = (
                select min(other.generation) from tenure_lock as other
                 where other.kind = page.kind and other.id = page.id and other.generation > page.generation
                   and other.ended = 0) and held.ended = 0
          order by page.generation desc, page.lock_hash desc";
    let select = sqlx::query(AssertSqlSafe(text))
        .bind(query.key.kind())
        .bind(query.key.id())
        .bind(generation)
        .bind(lock)
        .bind(query.limit);
    select
        .fetch_all(connection)
        .await
        .map_err(classify)?
        .iter()
        .map(past_row)
        .collect::<Result<_, _>>()
        .map_err(classify)
}
