//! Acquiring keys in any state: without a row, ended, expired, or held by another owner.

use super::texts::{asked, clock};

/// Each row is looked up once, by itself, and then found by its physical place. Joined to the requests, the planner may read the whole
/// table for each of them while its statistics say that it is empty. New rows are inserted in the order of their keys, so that two batches
/// cannot deadlock. It returns the granted leases, by their lock ids, and the conflicting ones.
pub(super) const TAKE_ANY: &str = concat!(
    clock!(),
    ", asked as materialized (
        select * from ",
    asked!(),
    "
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
                                         since, ended_at, how, idle, limited)
        select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, expires_at,
               'expired', coalesce(expires_at >= active_at::numeric + idle_limit, false), expires_at >= hard_until
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
    )
    select null::bigint as op, taken.*, clock.now from taken, clock
     union all
     select null::bigint, made.*, clock.now from made, clock
     union all
     select known.op, l.*, clock.now
       from known join tenure_lock l on l.ctid = known.place, clock
      where known.alive and l.lock_hash <> known.lock_hash"
);
