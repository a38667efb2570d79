//! Lists of held and ended leases. The text of a statement contains only the requested filters, so that the server can use an index; the
//! numbers of the parameters never change. `$1` is the time of a test, or null.

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row};

use super::errors::classify;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lease::cursor::Position;
use crate::lease::listing::{HistoryQuery, LeaseState, ListQuery, Listed, PastRow};
use crate::storage::leases::{Dialect, lease, listed, past_row, presence};

const DIALECT: Dialect = Dialect {
    now: "clock.now",
    least: "least",
    greatest: "greatest",
    kind: |hex| format!("convert_from('\\x{hex}', 'UTF8')"),
};

/// The held leases, the longest-held first.
pub(super) async fn held(
    connection: &mut PgConnection,
    query: &ListQuery,
    now: Option<i64>,
) -> Result<Vec<Listed>, DatabaseError> {
    let mut text = String::from(
        "with clock as materialized (select tenure_now($1) as now)
         select l.*, clock.now from tenure_lock l, clock where not l.ended and l.since <= clock.now - $2",
    );
    text += match query.state {
        None | Some(LeaseState::Held) => " and l.expires_at > clock.now",
        Some(LeaseState::RanOut) => " and l.expires_at <= clock.now",
    };
    text += &presence(query, &DIALECT);
    let (since, key, generation) = match &query.after {
        Some(Position::Held { since, key, generation }) => (Some(since), Some(key), Some(generation)),
        _ => (None, None, None),
    };
    for (asked, condition) in [
        (query.kind.is_some(), " and l.kind = $3"),
        (query.owner.is_some(), " and l.owner_id = $4"),
        (query.id_prefix.is_some(), " and starts_with(l.id, $10)"),
        (key.is_some(), " and (l.since, l.kind, l.id, l.generation) > ($5, $6, $7, $8)"),
    ] {
        text += if asked { condition } else { "" };
    }
    text += " order by l.since, l.kind, l.id, l.generation limit $9";
    let select = sqlx::query(AssertSqlSafe(text))
        .bind(now)
        .bind(millis(query.held_for))
        .bind(&query.kind)
        .bind(&query.owner)
        .bind(since)
        .bind(key.map(LockKey::kind))
        .bind(key.map(LockKey::id))
        .bind(generation)
        .bind(i64::from(query.limit))
        .bind(&query.id_prefix);
    let rows = select.fetch_all(connection).await.map_err(classify)?;
    let entry = |row: &PgRow| -> Result<Listed, sqlx::Error> { Ok(listed(&lease(row)?, row.try_get("now")?)) };
    rows.iter().map(entry).collect::<Result<_, _>>().map_err(classify)
}

/// The ended leases, the latest first, with the next holder: from the history if that lease has ended too, otherwise from the lock table.
/// The order is that of an index, whose entries end with the primary key.
pub(super) async fn past(connection: &mut PgConnection, query: &HistoryQuery) -> Result<Vec<PastRow>, DatabaseError> {
    let (generation, lock) = match &query.after {
        Some(Position::Past { generation, lock }) => (Some(generation), Some(lock)),
        _ => (None, None),
    };
    let mut text = String::from(
        "select page.*, coalesce(later.owner_id, held.owner_id) as next_id,
                coalesce(later.owner_name, held.owner_name) as next_name,
                coalesce(later.owner_role, held.owner_role) as next_role,
                coalesce(later.generation, held.generation) as next_generation, coalesce(later.since, held.since) as next_since
           from (select past.* from tenure_lock_history as past where past.kind = $1 and past.id = $2",
    );
    if lock.is_some() {
        text += " and (past.generation, past.lock_hash) < ($3, $4)";
    }
    text += " order by past.generation desc, past.lock_hash desc limit $5) as page
           left join lateral (select * from tenure_lock_history as other
                               where other.kind = page.kind and other.id = page.id and other.generation > page.generation
                               order by other.generation limit 1) as later on true
           left join tenure_lock as held
             on held.kind = page.kind and held.id = page.id and held.generation = (
                select min(other.generation) from tenure_lock as other
                 where other.kind = page.kind and other.id = page.id and other.generation > page.generation
                   and not other.ended) and not held.ended
          order by page.generation desc, page.lock_hash desc";
    let select = sqlx::query(AssertSqlSafe(text))
        .bind(query.key.kind())
        .bind(query.key.id())
        .bind(generation)
        .bind(lock)
        .bind(i64::from(query.limit));
    select
        .fetch_all(connection)
        .await
        .map_err(classify)?
        .iter()
        .map(past_row)
        .collect::<Result<_, _>>()
        .map_err(classify)
}
