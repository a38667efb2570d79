//! Lists of held and ended leases. A text contains only the requested filters, so that the database can use an index.

use crate::clock::{from_millis, millis};
use crate::db::columns::{person, there};
use crate::db::{Bind, Column, Connection, Row, RowLock, Sheet, Sql, Statement};
use crate::error::DatabaseError;
use crate::lease::cursor::Position;
use crate::lease::listing::{HistoryQuery, LeaseState, ListQuery, Listed, PastLease, PastRow, Successor};
use crate::lease::{LeaseLossReason, RanOut};
use crate::store::leases::{LEASE, PAST, lease, past};

/// A statement under construction.
#[derive(Default)]
struct Query<'v> {
    text: String,
    values: Vec<Bind<'v>>,
}

impl<'v> Query<'v> {
    /// The parameter of a value.
    fn place(&mut self, value: impl Into<Bind<'v>>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    fn statement(self, sheet: &Sheet) -> Statement<'v> {
        Statement::new(Sql::numbered(&sheet.write(&self.text), sheet).into(), self.values)
    }
}

/// The held leases, the longest-held first.
pub(crate) async fn held(db: &mut Connection, query: &ListQuery) -> Result<Vec<Listed>, DatabaseError> {
    let mut select = Query::default();
    let (now, age) = (select.place(db.now()), select.place(millis(query.held_for)));
    select.text = format!(
        "select clock.now as clock, {}
           from (select {{now {now}}} as now) as clock cross join tenure_lock as l
          where not l.ended and l.since <= clock.now - {age}",
        Column::read(&LEASE, "l.", "", db.sheet())
    );
    select.text += match query.state {
        None | Some(LeaseState::Held) => " and l.expires_at > clock.now",
        Some(LeaseState::RanOut) => " and l.expires_at <= clock.now",
    };
    if let Some(kind) = &query.kind {
        let kind = select.place(Bind::Key(kind));
        select.text += &format!(" and l.kind = {kind}");
    }
    if let Some(owner) = &query.owner {
        let owner = select.place(owner.as_str());
        select.text += &format!(" and {{same l.owner_id {owner}}}");
    }
    if let Some(prefix) = &query.id_prefix {
        let prefix = select.place(Bind::Key(prefix));
        select.text += &format!(" and substr(l.id, 1, length({{text {prefix}}})) = {prefix}");
    }
    if let Some(Position::Held { since, key, generation }) = &query.after {
        let after = [(*since).into(), Bind::Key(key.kind()), Bind::Key(key.id()), (*generation).into()];
        let after = after.map(|value| select.place(value)).join(", ");
        select.text += &format!(" and (l.since, l.kind, l.id, l.generation) > ({after})");
    }
    let limit = select.place(i64::from(query.limit));
    select.text += &format!(" order by l.since, l.kind, l.id, l.generation limit {limit}");
    let rows = db.read(select.statement(db.sheet()), RowLock::None).await?;
    rows.iter().map(|row| row.get(listed)).collect()
}

fn listed(row: &Row) -> Result<Listed, sqlx::Error> {
    let (lease, now) = (lease(row, "")?, there(row.number("clock"), "clock")?);
    let state = if lease.alive(now) { LeaseState::Held } else { LeaseState::RanOut };
    Ok(Listed { holder: lease.holder(now), state })
}

/// The ended leases of a key, the latest first, with the next holder: from the history if that lease has ended too, otherwise from the lock
/// table. The order is that of an index, whose entries end with the primary key.
pub(crate) async fn past_of(db: &mut Connection, query: &HistoryQuery) -> Result<Vec<PastRow>, DatabaseError> {
    let mut select = Query::default();
    let (kind, id) = (select.place(Bind::Key(query.key.kind())), select.place(Bind::Key(query.key.id())));
    let after = match &query.after {
        Some(Position::Past { generation, lock }) => {
            let (generation, lock) = (select.place(*generation), select.place(&lock[..]));
            format!(
                " and (past.generation < {generation} or (past.generation = {generation} and past.lock_hash < {lock}))"
            )
        }
        _ => String::new(),
    };
    let limit = select.place(i64::from(query.limit));
    select.text = format!(
        "select {}, coalesce(later.owner_id, held.owner_id) as next_id,
                coalesce(later.owner_name, held.owner_name) as next_name, coalesce(later.owner_role, held.owner_role) as next_role,
                coalesce(later.generation, held.generation) as next_generation, coalesce(later.since, held.since) as next_since
           from (select {}, (select min(other.generation) from tenure_lock_history as other
                          where other.kind = past.kind and other.id = past.id and other.generation > past.generation)
                        as later_generation
                   from tenure_lock_history as past where past.kind = {kind} and past.id = {id}{after}
                  order by past.generation desc, past.lock_hash desc limit {limit}) as page
           left join tenure_lock_history as later
             on later.kind = page.kind and later.id = page.id and later.generation = page.later_generation
           left join tenure_lock as held
             on held.kind = page.kind and held.id = page.id and held.generation = (
                select min(other.generation) from tenure_lock as other
                 where other.kind = page.kind and other.id = page.id and other.generation > page.generation
                   and not other.ended) and not held.ended
          order by page.generation desc, page.lock_hash desc",
        Column::read(&PAST, "page.", "", db.sheet()),
        Column::names(&PAST, "past.")
    );
    let rows = db.read(select.statement(db.sheet()), RowLock::None).await?;
    let mut entries = rows.iter().map(|row| row.get(past_row)).collect::<Result<Vec<_>, _>>()?;
    // Two advisory leases that were acquired at once may have one generation, and both follow the earlier lease.
    entries.dedup_by(|one, other| one.lock == other.lock);
    Ok(entries)
}

/// An entry of the history, with the columns of the next holder, which begin with `next_`.
fn past_row(row: &Row) -> Result<PastRow, sqlx::Error> {
    let past = past(row, "")?;
    let next = match person(row, "next")? {
        None => None,
        Some(owner) => {
            let generation = there(row.number("next_generation"), "next_generation")?;
            Some(Successor { owner, generation, since: from_millis(there(row.number("next_since"), "next_since")?) })
        }
    };
    let ended_at = from_millis(past.ended_at);
    let ran_out = RanOut::of(past.idle, past.limited);
    let entry = PastLease {
        key: past.key,
        owner: past.owner,
        generation: past.generation,
        since: from_millis(past.since),
        ended_at,
        why: LeaseLossReason::recorded(past.how.text(), ran_out, ended_at, past.by, past.reason),
        next,
    };
    Ok(PastRow { past: entry, lock: past.lock })
}
