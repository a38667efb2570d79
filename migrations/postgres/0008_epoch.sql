-- The newest writer that any process has used, for databases whose URL names several hosts: one row. It is written when a process finds a
-- writer of a higher epoch.
create table tenure_epoch (
    only_row    boolean primary key default true check (only_row),
    cluster     text    collate "C" not null,     -- the system identifier
    instance    text    collate "C" not null,     -- the start of the server
    epoch       bigint  not null,                 -- the timeline
    no_grants_before bigint not null              -- milliseconds since 1970: no lease is granted before it
);
