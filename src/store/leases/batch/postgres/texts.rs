//! The statements. Each reads the time once, so a row is either alive and changed, or not alive and acquired: never both. Rows that another
//! transaction has locked are skipped. They rely on the settings of their connections, see [`BATCHES`](crate::db::postgres::connect).
//!
//! The fixed cost of a statement grows with its parts and their columns. So the frequent statements cover the usual cases only, and return
//! only the needed columns; rare cases have their own statements. What a rule says stands once here, as a fragment of its statements.

use std::sync::LazyLock;

/// A statement, as the driver requires it.
pub(super) struct Text(LazyLock<String>);

impl Text {
    const fn new(text: fn() -> String) -> Self {
        Text(LazyLock::new(text))
    }

    pub(super) fn sql(&'static self) -> &'static str {
        &self.0
    }
}

/// The time, read once.
const CLOCK: &str = "with clock as materialized (select tenure_now($1) as now)";

/// The time, read once, as a table without a name of its own.
const NOW: &str = "(select tenure_now($1) as now offset 0) n";

/// Requests for keys, as they are bound.
const ASKED: &str = "unnest($2::bigint[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::text[], $8::bigint[],
                 $9::bigint[], $10::text[], $11::bigint[], $12::bigint[])
              as asked (op, kind, id, lock_hash, owner_id, owner_name, ttl, most, owner_role, shown_as, idle_limit)";

/// The row `l` of a key whose lease was ended, for a lock id that was never used.
fn was_ended(kind: &str, id: &str, lock: &str) -> String {
    format!(
        "l.kind = {kind} and l.id = {id} and l.slot = '' and l.ended and l.lock_hash <> {lock}
            and (select true from tenure_lock_history past where past.lock_hash = {lock}) is null"
    )
}

/// The row `l` of a live lock id, presented by its owner, or without one.
fn is_held(lock: &str, owner: &str, now: &str) -> String {
    format!(
        "l.lock_hash = {lock} and not l.ended and l.expires_at > {now} and ({owner} is null or l.owner_id = {owner})"
    )
}

/// The change of a row `l` by a grant; `to` is the table of the request, or a prefix of its columns.
fn grant(to: &str, now: &str) -> String {
    format!(
        "set generation = l.generation + 1, lock_hash = {to}lock_hash, owner_id = {to}owner_id,
                   owner_name = {to}owner_name, owner_role = {to}owner_role, shown_as = {to}shown_as,
                   since = {now}, last_active = {now}, active_at = {now},
                   expires_at = {now} + {to}ttl, ttl = {to}ttl, idle_limit = {to}idle_limit,
                   hard_until = {now} + {to}most, ended = false"
    )
}

/// The change of a live lease `l` that is kept alive (verb 1), extended (2), let expire (3) or released (4). No sum overflows, even if
/// a time was edited by hand: one error would fail the whole batch. The `case` of an idle limit is needed because `greatest` and `least` skip nulls.
fn change(verb: &str, by: &str, now: &str) -> String {
    let longest = 100_000_000_000_000_i64;
    let most = |active_at: &str| {
        format!(
            "{now} + least(l.ttl, {longest}), l.hard_until,
                         case when l.idle_limit is not null
                              then least({active_at}, 4000000000000000000) + greatest(least(l.idle_limit, {longest}), -{longest})
                              end"
        )
    };
    let (kept, extended) = (format!("greatest(l.active_at, {now} - {by})"), format!("greatest(l.active_at, {now})"));
    format!(
        "set last_active = case when {verb} < 3 then coalesce(nullif({now}, l.since), l.since + 1) else l.last_active end,
                   active_at = case {verb} when 1 then {kept} when 2 then {extended} else l.active_at end,
                   expires_at = case {verb}
                       when 1 then greatest(l.expires_at, least({}))
                       when 2 then greatest(l.expires_at, least(least(l.expires_at, {now} + least(l.ttl, {longest})) + {by}, {}))
                       when 3 then least(l.expires_at, {now} + {by})
                       else l.expires_at end,
                   ended = {verb} = 4",
        most(&kept),
        most(&extended)
    )
}

/// The history entries of released leases, from a table with the time.
fn record_released(released: &str) -> String {
    format!(
        "insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                          since, ended_at, how)
         select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, now, 'released'
           from {released}"
    )
}

/// The columns of the lock table, named: a wider table changes no answer.
fn lease(table: &str) -> String {
    COLUMNS.map(|(name, _)| format!("{table}{name}")).join(", ")
}

/// Nulls in their place.
fn no_lease() -> String {
    COLUMNS.map(|(_, kind)| format!("null::{kind}")).join(", ")
}

const COLUMNS: [(&str, &str); 17] = [
    ("kind", "text"),
    ("id", "text"),
    ("slot", "bytea"),
    ("generation", "bigint"),
    ("lock_hash", "bytea"),
    ("owner_id", "text"),
    ("owner_name", "text"),
    ("owner_role", "text"),
    ("shown_as", "bigint"),
    ("since", "bigint"),
    ("last_active", "bigint"),
    ("active_at", "bigint"),
    ("expires_at", "bigint"),
    ("ttl", "bigint"),
    ("idle_limit", "bigint"),
    ("hard_until", "bigint"),
    ("ended", "boolean"),
];

/// Acquires keys whose leases were ended before. Each row is looked up by itself, and then found by its physical place.
fn take() -> String {
    let (free, grant) = (was_ended("asked.kind", "asked.id", "asked.lock_hash"), grant("asked.", "clock.now"));
    format!(
        ", asked as materialized (
            select asked.*, l.place
              from {ASKED},
                   lateral (select l.ctid as place from tenure_lock l where {free} for update skip locked) l
        ), taken as (
            update tenure_lock l {grant} from asked, clock where l.ctid = asked.place returning asked.op, l.generation
        )"
    )
}

/// Changes live leases, whose columns are bound from the parameter `first` on.
fn change_many(first: u8) -> String {
    let [op, lock, owner, verb, by] = [0, 1, 2, 3, 4].map(|next| format!("${}", first + next));
    let held = is_held("shown.lock_hash", "shown.owner_id", "clock.now");
    let (change, record) = (change("held.verb", "held.by", "clock.now"), record_released("changed, clock where ended"));
    format!(
        ", held as materialized (
            select shown.*, l.place
              from clock, unnest({op}::bigint[], {lock}::bytea[], {owner}::text[], {verb}::int[], {by}::bigint[])
                   as shown (op, lock_hash, owner_id, verb, by),
                   lateral (select l.ctid as place from tenure_lock l where {held} for no key update skip locked) l
        ), changed as (
            update tenure_lock l {change} from held, clock where l.ctid = held.place returning held.op, {}
        ), released as ({record})",
        lease("l.")
    )
}

/// It returns the generation of a granted lease; the rest is as requested.
pub(super) static TAKE: Text = Text::new(|| {
    format!("{CLOCK}{} select taken.op, taken.generation as granted, clock.now from taken, clock", take())
});
pub(super) static CHANGE: Text =
    Text::new(|| format!("{CLOCK}{} select changed.*, clock.now from changed, clock", change_many(2)));
pub(super) static BOTH: Text = Text::new(|| {
    format!(
        "{CLOCK}{}{} select changed.*, null::bigint as granted, clock.now from changed, clock
          union all
         select taken.op, {}, taken.generation, clock.now from taken, clock",
        take(),
        change_many(13),
        no_lease()
    )
});

/// Live leases to check.
pub(super) static CHECK: Text = Text::new(|| {
    let held = is_held("shown.lock_hash", "shown.owner_id", "clock.now");
    format!(
        "{CLOCK} select shown.op, {own}, clock.now
           from clock, unnest($2::bigint[], $3::bytea[], $4::text[]) as shown (op, lock_hash, owner_id),
                lateral (select {own} from tenure_lock l where {held} limit 1) l",
        own = lease("l.")
    )
});

/// One lock id, checked.
pub(super) static CHECK_ONE: Text = Text::new(|| {
    let held = is_held("$2", "$3::text", "n.now");
    format!("select {}, n.now from {NOW}, tenure_lock l where {held}", lease("l."))
});

/// The physical place of the row of a live lock id `$2`, presented by the owner `$3`; it is locked. As a separate subquery it runs once,
/// and the server finds the row by its place.
fn held_one() -> String {
    let held = is_held("$2", "$3::text", "tenure_now($1)");
    format!("(select l.ctid from tenure_lock l where {held} for no key update skip locked)")
}

/// One lease, kept alive, extended or let expire.
pub(super) static CHANGE_ONE: Text = Text::new(|| {
    let change = change("$4::int", "$5::bigint", "n.now");
    format!("update tenure_lock l {change} from {NOW} where l.ctid = {} returning {}, n.now", held_one(), lease("l."))
});

/// One lease, released.
pub(super) static RELEASE_ONE: Text = Text::new(|| {
    format!(
        "with released as (
             update tenure_lock l set ended = true from {NOW} where l.ctid = {} returning {}, n.now
         ), past as ({})
         select released.* from released",
        held_one(),
        lease("l."),
        record_released("released")
    )
});

/// One key whose lease was ended before.
pub(super) static TAKE_ONE: Text = Text::new(|| {
    format!(
        "update tenure_lock l {}
           from (select tenure_now($1) as now, $4::bytea as lock_hash, $5::text as owner_id, $6::text as owner_name,
                        $7::text as owner_role, $8::bigint as shown_as, $9::bigint as ttl, $10::bigint as idle_limit,
                        $11::bigint as most offset 0) asked
          where l.ctid = (select l.ctid from tenure_lock l where {} for update skip locked)
         returning l.generation as granted, asked.now",
        grant("asked.", "asked.now"),
        was_ended("$2", "$3", "$4")
    )
});

/// Acquires keys in any state: without a row, ended, expired, or held by another owner.
///
/// Each row is looked up once, by itself, and then found by its physical place. Joined to the requests, the planner may read the whole
/// table for each of them while its statistics say that it is empty. New rows are inserted in the order of their keys, so that two batches
/// cannot deadlock. It returns the granted leases, by their lock ids, and the conflicting ones.
pub(super) static TAKE_ANY: Text = Text::new(|| {
    let grant = grant("to_", "clock.now");
    format!(
        "{CLOCK}, asked as materialized (
            select * from {ASKED}
             where (select true from tenure_lock_history past where past.lock_hash = asked.lock_hash) is null
        ), known as materialized (
            select asked.*, l.place, l.alive
              from clock cross join asked left join lateral (
                       select l.ctid as place, not l.ended and l.expires_at > clock.now as alive
                         from tenure_lock l where l.kind = asked.kind and l.id = asked.id and l.slot = '' limit 1) l on true
        ), free as (
            select {own}, known.place, known.lock_hash as to_lock_hash, known.owner_id as to_owner_id,
                   known.owner_name as to_owner_name, known.owner_role as to_owner_role, known.shown_as as to_shown_as,
                   known.ttl as to_ttl, known.idle_limit as to_idle_limit, known.most as to_most
              from known join tenure_lock l on l.ctid = known.place, clock
             where not known.alive and (l.ended or l.expires_at <= clock.now)
               and l.lock_hash <> known.lock_hash
               for update of l skip locked
        ), expired as (
            insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                             since, ended_at, how, idle, limited)
            select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, expires_at,
                   'expired', coalesce(expires_at >= active_at::numeric + idle_limit, false), expires_at >= hard_until
              from free where not ended
                on conflict (lock_hash) do nothing
        ), taken as (
            update tenure_lock l {grant} from free, clock where l.ctid = free.place returning {own}
        ), made as (
            insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as,
                                     since, last_active, active_at, expires_at, ttl, idle_limit, hard_until)
            select known.kind, known.id, '',
                   1 + greatest((select max(generation) from tenure_lock l
                                  where l.kind = known.kind and l.id = known.id),
                                (select generation from tenure_lock_floor floor where floor.kind = known.kind), 0),
                   known.lock_hash, known.owner_id, known.owner_name, known.owner_role, known.shown_as,
                   clock.now, clock.now, clock.now, clock.now + known.ttl, known.ttl, known.idle_limit,
                   clock.now + known.most
              from known, clock
             where known.place is null
             order by known.kind, known.id
                on conflict do nothing
            returning {made}
        )
        select null::bigint as op, taken.*, clock.now from taken, clock
         union all
        select null::bigint, made.*, clock.now from made, clock
         union all
        select known.op, {own}, clock.now
          from known join tenure_lock l on l.ctid = known.place, clock
         where known.alive and l.lock_hash <> known.lock_hash",
        own = lease("l."),
        made = lease("")
    )
});
