-- How a lease can end: also taken over, and handed over to somebody who asked; by_id and by_name are then whoever took it
-- over, or got it.
alter table tenure_lock_history drop constraint tenure_lock_history_how_check;
alter table tenure_lock_history add constraint tenure_lock_history_how_check
    check (how in ('released', 'expired', 'broken', 'taken over', 'handed over'));

-- To release all that somebody holds. It changes only with a change of hands, so heartbeats stay HOT updates. A row of
-- tenure_lock whose ttl is 0 is a reservation: held by nobody's lock id, for whom the key was handed over to, until they
-- take it or it runs out.
create index tenure_lock_owner on tenure_lock (owner_id);

-- Who asks the holder of a lease for it. A request is about one lease, and ends with its generation.
create table tenure_lock_request (
    kind        text    collate "C" not null,
    id          text    collate "C" not null,
    asker_id    text    collate "C" not null,
    asker_name  text    not null,
    generation  bigint  not null,
    note        text    not null,
    since       bigint  not null,
    expires_at  bigint  not null,                 -- unless the asker repeats it
    later_until bigint,                           -- the answer "later", as long as it holds
    declined    text,                             -- the answer "no"
    primary key (kind, id, asker_id)
);
