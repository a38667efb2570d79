-- The newest writer that any process has used, for databases whose URL names several hosts: one row. It is written when a process finds
-- another writer.
create table if not exists tenure_epoch (
    only_row    tinyint         not null primary key,
    cluster     varchar(255)    not null,
    instance    varchar(512)    not null,         -- the server
    epoch       bigint          not null,         -- the number of changes of the writer
    no_grants_before bigint     not null          -- milliseconds since 1970: no lease is granted before it
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin;
