//! The statements. Each reads the time once, so a row is either alive and changed, or not alive and acquired: never both. Rows that another
//! transaction has locked are skipped. They rely on the settings of their connections, see [`BATCHES`](super::super::connect).
//!
//! The fixed cost of a statement grows with its parts and their columns. So the frequent statements cover the usual cases only, and return
//! only the needed columns; rare cases have their own statements.

/// The time, read once.
macro_rules! clock {
    () => {
        "with clock as materialized (select tenure_now($1) as now)"
    };
}
pub(super) use clock;

/// Requests for keys, as they are bound.
macro_rules! asked {
    () => {
        "unnest($2::bigint[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::text[], $8::bigint[],
                 $9::bigint[], $10::text[], $11::bigint[], $12::bigint[])
              as asked (op, kind, id, lock_hash, owner_id, owner_name, ttl, most, owner_role, shown_as, idle_limit)"
    };
}
pub(super) use asked;

/// Acquires keys whose leases were ended before. Each row is looked up by itself, and then found by its physical place.
macro_rules! take {
    () => {
        concat!(
            ", asked as materialized (
            select asked.*, l.place
              from ",
            asked!(),
            ",
                   lateral (
                       select l.ctid as place from tenure_lock l
                        where l.kind = asked.kind and l.id = asked.id and l.slot = '' and l.ended and not l.shared
                          and l.lock_hash <> asked.lock_hash
                          and (select true from tenure_lock_history past where past.lock_hash = asked.lock_hash) is null
                          for update skip locked) l
        ), taken as (
            update tenure_lock l
               set generation = l.generation + 1, lock_hash = asked.lock_hash, owner_id = asked.owner_id,
                   owner_name = asked.owner_name, owner_role = asked.owner_role, shown_as = asked.shown_as,
                   since = clock.now, last_active = clock.now, active_at = clock.now,
                   expires_at = clock.now + asked.ttl, ttl = asked.ttl, idle_limit = asked.idle_limit,
                   hard_until = clock.now + asked.most, ended = false
              from asked, clock
             where l.ctid = asked.place
            returning asked.op, l.generation
        )"
        )
    };
}

/// The end of a lease at its idle limit, if the latest input was `idle` milliseconds ago; null without a limit. The `case` is needed because
/// `greatest` and `least` skip nulls.
macro_rules! idle_until {
    ($now:literal, $idle:literal) => {
        concat!(
            "case when l.idle_limit is not null then least(greatest(l.active_at, ",
            $now,
            " - ",
            $idle,
            "), 4000000000000000000) + greatest(least(l.idle_limit, 100000000000000), -100000000000000) end"
        )
    };
}

/// The change of a live lease `l` that is kept alive (verb 1), extended (2), let expire (3) or released (4). No sum overflows, even if
/// a time was edited by hand: one error would fail the whole batch.
macro_rules! changes {
    ($verb:literal, $by:literal, $now:literal) => {
        concat!(
            "set last_active = case when ",
            $verb,
            " < 3 then coalesce(nullif(",
            $now,
            ", l.since), l.since + 1) else l.last_active end,
                   active_at = case ",
            $verb,
            "
                       when 1 then greatest(l.active_at, ",
            $now,
            " - ",
            $by,
            ")
                       when 2 then greatest(l.active_at, ",
            $now,
            ")
                       else l.active_at end,
                   expires_at = case ",
            $verb,
            "
                       when 1 then greatest(l.expires_at, least(",
            $now,
            " + least(l.ttl, 100000000000000), l.hard_until, ",
            idle_until!($now, $by),
            "))
                       when 2 then greatest(l.expires_at,
                                            least(least(l.expires_at, ",
            $now,
            " + least(l.ttl, 100000000000000)) + ",
            $by,
            ",
                                                  ",
            $now,
            " + least(l.ttl, 100000000000000), l.hard_until, ",
            idle_until!($now, "0"),
            "))
                       when 3 then least(l.expires_at, ",
            $now,
            " + ",
            $by,
            ")
                       else l.expires_at end,
                   ended = ",
            $verb,
            " = 4"
        )
    };
}

/// Live leases to keep alive (verb 1), extend (2), let expire (3) or release (4).
macro_rules! change {
    ($op:literal, $hash:literal, $owner:literal, $verb:literal, $by:literal) => {
        concat!(
            ", held as materialized (
            select shown.*, l.place
              from clock, unnest(",
            $op, "::bigint[], ", $hash, "::bytea[], ", $owner, "::text[], ", $verb, "::int[], ", $by, "::bigint[])
                   as shown (op, lock_hash, owner_id, verb, by), lateral (
                       select l.ctid as place from tenure_lock l
                        where l.lock_hash = shown.lock_hash and not l.ended and l.expires_at > clock.now
                          and (shown.owner_id is null or l.owner_id = shown.owner_id)
                          for no key update skip locked) l
        ), changed as (
            update tenure_lock l
            ",
            changes!("held.verb", "held.by", "clock.now"),
            "
              from held, clock
             where l.ctid = held.place
            returning held.op, l.*
        ), released as (
            insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                             since, ended_at, how)
            select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, clock.now, 'released'
              from changed, clock where ended
        )"
        )
    };
}

/// It returns the generation of a granted lease; the rest is as requested.
pub(super) const TAKE: &str =
    concat!(clock!(), take!(), "select taken.op, taken.generation as granted, clock.now from taken, clock");
pub(super) const CHANGE: &str =
    concat!(clock!(), change!("$2", "$3", "$4", "$5", "$6"), "select changed.*, clock.now from changed, clock");
pub(super) const BOTH: &str = concat!(
    clock!(),
    take!(),
    change!("$13", "$14", "$15", "$16", "$17"),
    "select changed.*, null::bigint as granted, clock.now from changed, clock
     union all
     select taken.op, (null::tenure_lock).*, taken.generation, clock.now from taken, clock"
);

/// Live leases to check.
pub(super) const CHECK: &str = concat!(
    clock!(),
    "select shown.op, l.*, clock.now
       from clock, unnest($2::bigint[], $3::bytea[], $4::text[]) as shown (op, lock_hash, owner_id), lateral (
                select * from tenure_lock l
                 where l.lock_hash = shown.lock_hash and not l.ended and l.expires_at > clock.now
                   and (shown.owner_id is null or l.owner_id = shown.owner_id) limit 1) l"
);

/// The physical place of the row of a live lock id `$2`, presented by the owner `$3`; it is locked. As a separate subquery it runs once,
/// and the server finds the row by its place.
macro_rules! held {
    () => {
        " from (select tenure_now($1) as now offset 0) n
         where l.ctid = (select s.ctid from tenure_lock s
                          where s.lock_hash = $2 and not s.ended and s.expires_at > tenure_now($1)
                            and ($3::text is null or s.owner_id = $3)
                            for no key update skip locked)"
    };
}

/// One lock id, checked.
pub(super) const CHECK_ONE: &str = "
    select l.*, n.now
      from (select tenure_now($1) as now offset 0) n, tenure_lock l
     where l.lock_hash = $2 and not l.ended and l.expires_at > n.now and ($3::text is null or l.owner_id = $3)";

/// One lease, kept alive, extended or let expire.
pub(super) const CHANGE_ONE: &str =
    concat!("update tenure_lock l ", changes!("$4::int", "$5::bigint", "n.now"), held!(), " returning l.*, n.now");

/// One lease, released.
pub(super) const RELEASE_ONE: &str = concat!(
    "with released as (
         update tenure_lock l set ended = true",
    held!(),
    "    returning l.*, n.now
     ), past as (
         insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since,
                                          ended_at, how)
         select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, now, 'released'
           from released
     )
     select * from released"
);

/// One key whose lease was ended before.
pub(super) const TAKE_ONE: &str = "
    update tenure_lock l
       set generation = l.generation + 1, lock_hash = $4, owner_id = $5, owner_name = $6, owner_role = $7, shown_as = $8,
           since = n.now, last_active = n.now, active_at = n.now, expires_at = n.now + $9, ttl = $9, idle_limit = $10,
           hard_until = n.now + $11, ended = false
      from (select tenure_now($1) as now offset 0) n
     where l.ctid = (select s.ctid from tenure_lock s
                      where s.kind = $2 and s.id = $3 and s.slot = '' and s.ended and not s.shared and s.lock_hash <> $4
                        and not exists (select from tenure_lock_history past where past.lock_hash = $4)
                        for update skip locked)
    returning l.generation as granted, n.now";
