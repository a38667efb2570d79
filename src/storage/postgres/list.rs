//! Lists of held and ended leases. The text of a statement contains only the requested filters, so that the server can use an index; the
//! numbers of the parameters never change. `$1` is the time of a test, or null.

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row};

use super::errors::classify;
use super::leases::{lease, person, ran_out};
use crate::clock::{from_millis, millis};
use crate::error::DatabaseError;
use crate::lease::cursor::Place;
use crate::lease::listing::{HistoryQuery, LeaseState, ListQuery, Listed, PastLease, PastRow, Successor};
use crate::lease::presence::Presence;
use crate::lease::{LeaseLossReason, LockKey, Owner};

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
        None => " and l.expires_at > clock.now",
        Some(LeaseState::Held) => " and l.expires_at > clock.now and l.ttl > 0",
        Some(LeaseState::Reserved) => " and l.expires_at > clock.now and l.ttl = 0",
        Some(LeaseState::RanOut) => " and l.expires_at <= clock.now and l.ttl > 0",
    };
    text += &query.presence.map(|of| presence(of, query)).unwrap_or_default();
    let (since, key, generation) = match &query.after {
        Some(Place::Held { since, key, generation }) => (Some(since), Some(key), Some(generation)),
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
    let listed = |row: &PgRow| {
        let stored = lease(row)?;
        let state = match stored.alive {
            true if stored.reserved => LeaseState::Reserved,
            true => LeaseState::Held,
            false => LeaseState::RanOut,
        };
        Ok(Listed { holder: stored.holder, state })
    };
    rows.iter().map(listed).collect()
}

/// As [`Holder::presence`](crate::lease::Holder::presence): two and a half intervals without a heartbeat, and the interval is a fifth of
/// the ttl between a second and a minute unless the type sets another; and five minutes without input, or two intervals.
fn presence(of: Presence, query: &ListQuery) -> String {
    let mut five = String::from("case l.kind");
    for (kind, every) in &query.heartbeats {
        let kind: String = kind.bytes().map(|byte| format!("{byte:02x}")).collect();
        five += &format!(" when convert_from('\\x{kind}', 'UTF8') then {}", 5 * millis(*every));
    }
    five += " when null then null else greatest(5000, least(l.ttl, 300000)) end";
    let silent = format!("(l.ttl > 0 and 2 * (clock.now - l.last_active) > {five})");
    let idle = format!("(l.ttl > 0 and 5 * (clock.now - l.active_at) >= greatest(1500000, 2 * {five}))");
    match of {
        Presence::Unreachable => format!(" and {silent}"),
        Presence::Idle => format!(" and {idle} and not {silent}"),
        Presence::Active => format!(" and not {idle} and not {silent}"),
    }
}

/// The ended leases, the latest first, with the next holder: from the history if that lease has ended too, otherwise from the lock table.
/// The order is that of an index, whose entries end with the primary key.
pub(super) async fn past(connection: &mut PgConnection, query: &HistoryQuery) -> Result<Vec<PastRow>, DatabaseError> {
    let by = if query.key.is_some() { "generation" } else { "ended_at" };
    let (at, lock) = match &query.after {
        Some(Place::Past { at, lock }) => (Some(at), Some(lock)),
        _ => (None, None),
    };
    let mut text = String::from(
        "select page.*, coalesce(later.owner_id, held.owner_id) as next_id,
                coalesce(later.owner_name, held.owner_name) as next_name,
                coalesce(later.owner_role, held.owner_role) as next_role,
                coalesce(later.generation, held.generation) as next_generation, coalesce(later.since, held.since) as next_since
           from (select past.* from tenure_lock_history as past where true",
    );
    for (asked, condition) in [
        (query.key.is_some(), " and past.kind = $1 and past.id = $2"),
        (query.kind.is_some(), " and past.kind = $3"),
        (query.owner.is_some(), " and past.owner_id = $4"),
        (query.id_prefix.is_some(), " and starts_with(past.id, $8)"),
    ] {
        text += if asked { condition } else { "" };
    }
    if lock.is_some() {
        text += &format!(" and (past.{by}, past.lock_hash) < ($5, $6)");
    }
    text += &format!(
        " order by past.{by} desc, past.lock_hash desc limit $7) as page
           left join lateral (select * from tenure_lock_history as other
                               where other.kind = page.kind and other.id = page.id and other.generation > page.generation
                               order by other.generation limit 1) as later on true
           left join tenure_lock as held
             on held.kind = page.kind and held.id = page.id and held.generation = (
                select min(other.generation) from tenure_lock as other
                 where other.kind = page.kind and other.id = page.id and other.generation > page.generation
                   and not other.ended) and not held.ended
          order by page.{by} desc, page.lock_hash desc"
    );
    let select = sqlx::query(AssertSqlSafe(text))
        .bind(query.key.as_ref().map(LockKey::kind))
        .bind(query.key.as_ref().map(LockKey::id))
        .bind(&query.kind)
        .bind(&query.owner)
        .bind(at)
        .bind(lock)
        .bind(i64::from(query.limit))
        .bind(&query.id_prefix);
    select.fetch_all(connection).await.map_err(classify)?.iter().map(past_row).collect()
}

fn past_row(row: &PgRow) -> Result<PastRow, DatabaseError> {
    let text = |column| row.try_get::<String, _>(column).map_err(classify);
    let at = |column| row.try_get::<i64, _>(column).map(from_millis).map_err(classify);
    let (ended_at, reason) = (at("ended_at")?, row.try_get("reason").map_err(classify)?);
    let next = match person(row, "next")? {
        None => None,
        Some(owner) => {
            let generation = row.try_get("next_generation").map_err(classify)?;
            Some(Successor { owner, generation, since: at("next_since")? })
        }
    };
    let past = PastLease {
        key: LockKey::new(text("kind")?, text("id")?),
        owner: person(row, "owner")?.unwrap_or_else(|| Owner::new("", "")),
        generation: row.try_get("generation").map_err(classify)?,
        since: at("since")?,
        ended_at,
        why: LeaseLossReason::recorded(&text("how")?, ran_out(row)?, ended_at, person(row, "by")?, reason),
        next,
    };
    Ok(PastRow { past, lock: row.try_get("lock_hash").map_err(classify)? })
}
