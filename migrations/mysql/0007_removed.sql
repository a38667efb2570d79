-- Aggregates that were deleted, and the version that each had: one that is inserted under the same id goes on from there, so a
-- version that was seen of the first never fits the second. One small row per deleted id; delete by hand what is older than
-- any form that may still be sent.
create table if not exists tenure_removed (
    kind        varbinary(255)  not null,
    id          varbinary(1024) not null,
    version     bigint          not null,
    removed_at  bigint          not null,         -- milliseconds since 1970
    primary key (kind, id)
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin;

-- A lease that ran out at its absolute limit, not for want of signs of life: it cannot be resumed.
alter table tenure_lock_history
    add column /*M! if not exists */ limited boolean not null default false;
