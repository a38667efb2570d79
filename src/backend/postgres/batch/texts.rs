//! The statements. Each reads the time once, so a row is either alive, and changed, or not, and taken: never both. Rows that
//! somebody has locked are skipped. The settings that they rely on are those of the connections, see
//! [`BATCHES`](super::super::connect).

/// The time, read once.
macro_rules! clock {
    () => {
        "with clock as materialized (select tenure_now($1) as now)"
    };
}

/// Leases to take. Each row is looked for once, by itself, and then found by its place. Joined to the questions, the planner may
/// read the whole table for each of them, as long as it takes it for empty. New rows are made in the order of their keys, so that two
/// batches cannot wait for each other in a circle.
macro_rules! take {
    () => {
        ", asked as materialized (
            select * from unnest($2::bigint[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::text[], $8::bigint[],
                                 $9::bigint[], $10::text[], $11::bigint[], $12::bigint[])
                   as asked (op, kind, id, lock_hash, owner_id, owner_name, ttl, most, owner_role, shown_as, idle_limit)
             where (select true from tenure_lock_history past where past.lock_hash = asked.lock_hash) is null
        ), known as materialized (
            select asked.*, l.place, l.alive
              from clock cross join asked left join lateral (
                       select l.ctid as place, not l.ended and l.expires_at > clock.now as alive
                         from tenure_lock l where l.kind = asked.kind and l.id = asked.id and l.slot = '' limit 1) l on true
        ), free as (
            select l.*, known.place, known.lock_hash as to_hash, known.owner_id as to_id, known.owner_name as to_name,
                   known.owner_role as to_role, known.shown_as as to_shown, known.ttl as to_ttl,
                   known.idle_limit as to_idle, known.most
              from known join tenure_lock l on l.ctid = known.place, clock
             where not known.alive and not l.shared and (l.ended or l.expires_at <= clock.now)
               and l.lock_hash <> known.lock_hash
               for update of l skip locked
        ), expired as (
            insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                             since, ended_at, how, idle)
            select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, expires_at,
                   'expired', coalesce(expires_at >= active_at + idle_limit, false)
              from free where not ended
                on conflict (lock_hash) do nothing
        ), taken as (
            update tenure_lock l
               set generation = l.generation + 1, lock_hash = to_hash, owner_id = to_id, owner_name = to_name,
                   owner_role = to_role, shown_as = to_shown, since = clock.now, last_active = clock.now,
                   active_at = clock.now, expires_at = clock.now + to_ttl, ttl = to_ttl, idle_limit = to_idle,
                   hard_until = clock.now + most, ended = false
              from free, clock
             where l.ctid = free.place
            returning l.*
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
            returning *
        )"
    };
}

/// What became of them, to be told by their lock ids; also who holds a key that was not free.
macro_rules! taken {
    () => {
        "select null::bigint as op, taken.*, clock.now from taken, clock
         union all
         select null::bigint, made.*, clock.now from made, clock
         union all
         select known.op, l.*, clock.now
           from known join tenure_lock l on l.ctid = known.place, clock
          where known.alive and l.lock_hash <> known.lock_hash"
    };
}

/// What becomes of a live lease `l` that is kept alive (verb 1), extended (2), let expire (3) or released (4). No sum gets too
/// large, also where somebody edited a time to live: one error would fail all of a batch.
macro_rules! changes {
    ($verb:literal, $by:literal, $now:literal) => {
        concat!(
            "set last_active = case when ",
            $verb,
            " < 3 then ",
            $now,
            " else l.last_active end,
                   active_at = case ",
            $verb,
            "
                       when 1 then greatest(l.active_at, ",
            $now,
            " - ",
            $by,
            ")
                       when 2 then ",
            $now,
            "
                       else l.active_at end,
                   expires_at = case ",
            $verb,
            "
                       when 1 then greatest(l.expires_at, least(",
            $now,
            " + least(l.ttl, 100000000000000), l.hard_until,
                                                                greatest(l.active_at, ",
            $now,
            " - ",
            $by,
            ") + l.idle_limit))
                       when 2 then greatest(l.expires_at,
                                            least(least(l.expires_at, ",
            $now,
            " + least(l.ttl, 100000000000000)) + ",
            $by,
            ",
                                                  ",
            $now,
            " + least(l.ttl, 100000000000000), l.hard_until))
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

/// Live leases to check (verb 0), keep alive (1), extend (2), let expire (3) or release (4).
macro_rules! change {
    ($op:literal, $hash:literal, $owner:literal, $verb:literal, $by:literal) => {
        concat!(
            ", shown as materialized (
            select shown.*, (select l.ctid from tenure_lock l where l.lock_hash = shown.lock_hash) as place from unnest(",
            $op, "::bigint[], ", $hash, "::bytea[], ", $owner, "::text[], ", $verb, "::int[], ", $by, "::bigint[])
                   as shown (op, lock_hash, owner_id, verb, by)
        ), held as (
            select shown.op, shown.verb, shown.by, l.ctid as place
              from shown join tenure_lock l on l.ctid = shown.place, clock
             where shown.verb > 0 and not l.ended and l.expires_at > clock.now
               and (shown.owner_id is null or l.owner_id = shown.owner_id)
               for no key update of l skip locked
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

macro_rules! changed {
    () => {
        "select changed.*, clock.now from changed, clock
         union all
         select shown.op, l.*, clock.now
           from shown join tenure_lock l on l.ctid = shown.place, clock
          where shown.verb = 0 and not l.ended and l.expires_at > clock.now
            and (shown.owner_id is null or l.owner_id = shown.owner_id)"
    };
}

pub(super) const TAKE: &str = concat!(clock!(), take!(), taken!());
pub(super) const CHANGE: &str = concat!(clock!(), change!("$2", "$3", "$4", "$5", "$6"), changed!());
pub(super) const BOTH: &str =
    concat!(clock!(), take!(), change!("$13", "$14", "$15", "$16", "$17"), taken!(), " union all ", changed!());

/// Where the row is of a live lock id `$2`, shown by the owner `$3`; it is locked then. That it is looked for by itself lets the
/// server look once, and find the row by its place.
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

/// One key, whose lease was ended before.
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
    returning l.*, n.now";
