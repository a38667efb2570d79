//! Lists of held and ended leases. The text of a statement contains only the requested filters, so that the server can use an index.

use sqlx::Row;
use sqlx::mysql::MySqlRow;

use super::batch::texts::LEASE;
use super::columns::clock;
use super::errors::classify;
use super::session::{Session, Statement};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::cursor::Position;
use crate::lease::listing::{HistoryQuery, LeaseState, ListQuery, Listed, PastRow};
use crate::storage::leases::{Dialect, lease, listed, past_row, presence};

/// A statement under construction, with its values.
struct Text(Statement, String);

impl Text {
    fn new(text: &str) -> Self {
        Text(Statement::new(""), text.to_owned())
    }

    fn and(mut self, part: &str, bind: impl FnOnce(Statement) -> Statement) -> Self {
        self.1 += part;
        Text(bind(self.0), self.1)
    }

    fn and_if<T>(self, value: Option<T>, part: &str, bind: impl FnOnce(Statement, T) -> Statement) -> Self {
        match value {
            Some(value) => self.and(part, |statement| bind(statement, value)),
            None => self,
        }
    }

    async fn rows(self, session: &mut Session) -> Result<Vec<MySqlRow>, DatabaseError> {
        session.fetch_all(self.0.saying(self.1)).await.map_err(classify)
    }
}

const DIALECT: Dialect =
    Dialect { now: "moment.now", least: "least", greatest: "greatest", kind: |hex| format!("x'{hex}'") };

/// The held leases, the longest-held first.
pub(super) async fn held(
    session: &mut Session,
    query: &ListQuery,
    now: Option<i64>,
) -> Result<Vec<Listed>, DatabaseError> {
    let state = match query.state {
        None | Some(LeaseState::Held) => " and l.expires_at > moment.now",
        Some(LeaseState::RanOut) => " and l.expires_at <= moment.now",
    };
    let after = match &query.after {
        Some(Position::Held { since, key, generation }) => Some((*since, key, *generation)),
        _ => None,
    };
    let text = Text::new("select moment.now as clock, ")
        .and(LEASE, |statement| statement)
        .and(concat!(" from (select ", clock!("?"), " as now) as moment join tenure_lock as l"), |s| s.bind(now))
        .and(" where not l.ended and l.since <= moment.now - ?", |s| s.bind(millis(query.held_for)))
        .and(state, |statement| statement)
        .and(&presence(query, &DIALECT), |statement| statement)
        .and_if(query.kind.as_ref(), " and l.kind = ?", |s, kind| s.bind(kind.as_bytes()))
        .and_if(query.owner.as_ref(), " and l.owner_id = ?", |s, owner| s.bind(owner.as_str()))
        .and_if(query.id_prefix.as_ref(), " and left(l.id, length(?)) = ?", |s, prefix| {
            s.bind(prefix.as_bytes()).bind(prefix.as_bytes())
        })
        .and_if(after, " and (l.since, l.kind, l.id, l.generation) > (?, ?, ?, ?)", |s, (since, key, generation)| {
            s.bind(since).bind(key.kind().as_bytes()).bind(key.id().as_bytes()).bind(generation)
        })
        .and(" order by l.since, l.kind, l.id, l.generation limit ?", |s| s.bind(query.limit));
    let entry = |row: &MySqlRow| -> Result<Listed, sqlx::Error> { Ok(listed(&lease(row)?, row.try_get("clock")?)) };
    text.rows(session).await?.iter().map(entry).collect::<Result<_, _>>().map_err(classify)
}

/// The ended leases, the latest first, with the next holder: from the history if that lease has ended too, otherwise from the lock table.
/// The order is that of an index, whose entries end with the primary key.
pub(super) async fn past(session: &mut Session, query: &HistoryQuery) -> Result<Vec<PastRow>, DatabaseError> {
    let after = match &query.after {
        Some(Position::Past { generation, lock }) => Some((*generation, lock)),
        _ => None,
    };
    let text = Text::new("").and(
        "select convert(page.kind using utf8mb4) as kind, convert(page.id using utf8mb4) as id, page.lock_hash,
                page.generation, page.owner_id, page.owner_name, page.owner_role, page.shown_as, page.since, page.ended_at, page.how,
                page.idle, page.limited, page.by_id, page.by_name, page.by_role, page.reason, coalesce(later.owner_id, held.owner_id) as next_id,
                coalesce(later.owner_name, held.owner_name) as next_name,
                coalesce(later.owner_role, held.owner_role) as next_role,
                coalesce(later.generation, held.generation) as next_generation, coalesce(later.since, held.since) as next_since
           from (select past.*, (select min(other.generation) from tenure_lock_history as other
                                  where other.kind = past.kind and other.id = past.id
                                    and other.generation > past.generation) as later_generation
                   from tenure_lock_history as past where past.kind = ? and past.id = ?",
        |s| s.bind(query.key.kind().as_bytes()).bind(query.key.id().as_bytes()),
    )
    .and_if(after, " and (past.generation < ? or (past.generation = ? and past.lock_hash < ?))", |s, (generation, lock)| {
        s.bind(generation).bind(generation).bind(&lock[..])
    })
    .and(
        " order by past.generation desc, past.lock_hash desc limit ?) as page
              left join tenure_lock_history as later
                on later.kind = page.kind and later.id = page.id and later.generation = page.later_generation
              left join tenure_lock as held
             on held.kind = page.kind and held.id = page.id and held.generation = (
                select min(other.generation) from tenure_lock as other
                 where other.kind = page.kind and other.id = page.id and other.generation > page.generation
                   and not other.ended) and not held.ended
             order by page.generation desc, page.lock_hash desc",
        |s| s.bind(query.limit),
    );
    let mut past: Vec<PastRow> =
        text.rows(session).await?.iter().map(past_row).collect::<Result<_, _>>().map_err(classify)?;
    // Two advisory leases that were acquired at once may have one generation, and both follow the earlier lease.
    past.dedup_by(|one, other| one.lock == other.lock);
    Ok(past)
}
