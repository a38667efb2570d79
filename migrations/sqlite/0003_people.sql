-- How a lease can end: also taken over, and handed over to somebody who asked. (A check cannot be changed in place.)
create table tenure_lock_history_0003 (
    lock_hash   blob    not null primary key,
    kind        text    not null,
    id          text    not null,
    generation  integer not null,
    owner_id    text    not null,
    owner_name  text    not null,
    since       integer not null,
    ended_at    integer not null,
    how         text    not null check (how in ('released', 'expired', 'broken', 'taken over', 'handed over')),
    by_id       text,                             -- who broke it or took it over, or whom it was handed over to
    by_name     text,
    reason      text
) strict, without rowid;
insert into tenure_lock_history_0003 select * from tenure_lock_history;
drop table tenure_lock_history;
alter table tenure_lock_history_0003 rename to tenure_lock_history;

-- To release all that somebody holds. It changes only with a change of hands. A row of tenure_lock whose ttl is 0 is a
-- reservation: held by nobody's lock id, for whom the key was handed over to, until they take it or it runs out.
create index tenure_lock_owner on tenure_lock (owner_id);

-- Who asks the holder of a lease for it. A request is about one lease, and ends with its generation.
create table tenure_lock_request (
    kind        text    not null,
    id          text    not null,
    asker_id    text    not null,
    asker_name  text    not null,
    generation  integer not null,
    note        text    not null,
    since       integer not null,
    expires_at  integer not null,                 -- unless the asker repeats it
    later_until integer,                          -- the answer "later", as long as it holds
    declined    text,                             -- the answer "no"
    primary key (kind, id, asker_id)
) strict, without rowid;
