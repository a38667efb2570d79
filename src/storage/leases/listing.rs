//! Rows and conditions of the lists of leases, the same on every database.

use sqlx::Error;

use crate::clock::{from_millis, millis};
use crate::lease::engine::LeaseRow;
use crate::lease::listing::{LeaseState, ListQuery, Listed, PastLease, PastRow, Successor};
use crate::lease::presence::Presence;
use crate::lease::{LeaseLossReason, RanOut};
use crate::storage::sql::columns::{Columns, person, there};

/// An entry of the list of held leases.
pub(in crate::storage) fn listed(row: &LeaseRow, now: i64) -> Listed {
    let state = match row.alive(now) {
        true => LeaseState::Held,
        false => LeaseState::RanOut,
    };
    Listed { holder: row.holder(now), state }
}

/// An entry of the history, with the columns of the next holder, which begin with `next_`.
pub(in crate::storage) fn past_row(row: &impl Columns) -> Result<PastRow, Error> {
    let past = super::read::past(row, "")?;
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

/// What differs between the databases in [`presence`].
pub(in crate::storage) struct Dialect {
    /// The time of the statement.
    pub now: &'static str,
    /// The functions of the least and the greatest value.
    pub least: &'static str,
    pub greatest: &'static str,
    /// A type, whose UTF-8 is given in hexadecimal, as a value that can be compared with the column `kind`.
    pub kind: fn(&str) -> String,
}

/// A condition on rows `l` of the lock table. As [`Holder::presence`](crate::lease::Holder::presence): two and a half intervals without a
/// heartbeat, and the interval is a fifth of the ttl between a second and a minute unless the type sets another; and five minutes without
/// input, or two intervals.
pub(in crate::storage) fn presence(query: &ListQuery, dialect: &Dialect) -> String {
    let Some(of) = query.presence else { return String::new() };
    let Dialect { now, least, greatest, kind: literal } = dialect;
    let mut five = String::from("case l.kind");
    for (kind, every) in &query.heartbeats {
        let kind: String = kind.bytes().map(|byte| format!("{byte:02x}")).collect();
        five += &format!(" when {} then {}", literal(&kind), 5 * millis(*every));
    }
    five += &format!(" when null then null else {greatest}(5000, {least}(l.ttl, 300000)) end");
    let silent = format!("(2 * ({now} - l.last_active) > {five})");
    let idle = format!("(5 * ({now} - l.active_at) >= {greatest}(1500000, 2 * {five}))");
    match of {
        Presence::Unreachable => format!(" and {silent}"),
        Presence::Idle => format!(" and {idle} and not {silent}"),
        Presence::Active => format!(" and not {idle} and not {silent}"),
    }
}
