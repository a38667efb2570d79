-- Rows of tenure_lock may be swept, long after their leases have ended: here stays how high their generations were, by type. A
-- new row of that type begins above it, so that no generation is ever seen twice, or falls.
create table tenure_lock_floor (
    kind        text    not null primary key,
    generation  integer not null
) strict, without rowid;

-- Rows of the history lie in the order in which they were written. They lay in the order of their lock ids, which are random: each
-- release wrote a page of its own, and each index held a copy of the lock id.
create table tenure_lock_history_0006 (
    row         integer primary key,
    lock_hash   blob    not null unique,
    kind        text    not null,
    id          text    not null,
    generation  integer not null,
    owner_id    text    not null,
    owner_name  text    not null,
    since       integer not null,
    ended_at    integer not null,
    how         text    not null check (how in ('released', 'expired', 'broken', 'taken over', 'handed over')),
    by_id       text,                             -- who broke it or took it over, or got it
    by_name     text,
    reason      text,
    idle        integer not null default 0,       -- it expired without input, not without signs of life
    owner_role  text,
    by_role     text,
    shown_as    integer not null default 0
) strict;
insert into tenure_lock_history_0006 (lock_hash, kind, id, generation, owner_id, owner_name, since, ended_at, how, by_id,
                                      by_name, reason, idle, owner_role, by_role, shown_as)
select lock_hash, kind, id, generation, owner_id, owner_name, since, ended_at, how, by_id, by_name, reason, idle, owner_role,
       by_role, shown_as
  from tenure_lock_history order by ended_at;
drop table tenure_lock_history;
alter table tenure_lock_history_0006 rename to tenure_lock_history;

-- How leases ended, of one key in their order, with whoever held it next; of one owner and of all, the latest first. The last
-- one also finds what is to be swept. Each costs every release a little.
create index tenure_lock_history_key on tenure_lock_history (kind, id, generation);
create index tenure_lock_history_owner on tenure_lock_history (owner_id, ended_at);
create index tenure_lock_history_at on tenure_lock_history (ended_at);
