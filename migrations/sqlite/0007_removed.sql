-- Aggregates that were deleted, and the version that each had: one that is inserted under the same id goes on from there, so a
-- version that was seen of the first never fits the second. One small row per deleted id; delete by hand what is older than
-- any form that may still be sent.
create table tenure_removed (
    kind        text    not null,
    id          text    not null,
    version     integer not null,
    removed_at  integer not null,                 -- milliseconds since 1970
    primary key (kind, id)
) strict, without rowid;

-- A lease that ran out at its absolute limit, not for want of signs of life: it cannot be resumed.
alter table tenure_lock_history add column limited integer not null default 0;
