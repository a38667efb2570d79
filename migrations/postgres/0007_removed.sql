-- Aggregates that were deleted, and the version that each had: one that is inserted under the same id goes on from there, so a
-- version that was seen of the first never fits the second. One small row per deleted id; delete by hand what is older than
-- any form that may still be sent.
create table tenure_removed (
    kind        text    collate "C" not null,
    id          text    collate "C" not null,
    version     bigint  not null,
    removed_at  bigint  not null,                 -- milliseconds since 1970
    primary key (kind, id)
);

-- Asked by `insert … returning`, after the insert has waited for the transaction that deletes. Being volatile, it sees what was
-- committed during that wait, which the insert's own snapshot does not.
create function tenure_removed_version(of_kind text, of_id text) returns bigint language plpgsql volatile as
$$ begin return (select version from tenure_removed where kind = of_kind and id = of_id); end $$;

-- A lease that ran out at its absolute limit, not for want of signs of life: it cannot be resumed.
alter table tenure_lock_history add column limited boolean not null default false;
