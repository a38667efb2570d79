-- For MariaDB and MySQL alike. Tables are not made in a transaction here, so whatever is made is only made if it is missing:
-- then this can be done again after it was interrupted.
--
-- Keys are binary: in a text, 'a1', 'A1' and 'a1 ' would be one and the same, or two, depending on the server.

-- Offline locks. One row per key, kept after the lease has ended: the generation (the fencing number) must never fall.
-- Times are milliseconds since 1970, by the database's clock. There is no index on expires_at, on purpose: every
-- heartbeat would have to move in it.
create table if not exists tenure_lock (
    kind        varbinary(255)  not null,         -- the aggregate's type
    id          varbinary(1024) not null,         -- the aggregate's id
    slot        varbinary(32)   not null,         -- empty: the exclusive lock. Advisory leases: one slot each, the lock's hash
    generation  bigint          not null,         -- rises by one with every change of hands
    lock_hash   binary(32)      not null unique,  -- SHA-256 of the lock id, which is a secret
    owner_id    text            not null,
    owner_name  text            not null,
    since       bigint          not null,
    last_active bigint          not null,
    expires_at  bigint          not null,
    ttl         bigint          not null,         -- milliseconds
    hard_until  bigint          not null,         -- no heartbeat moves the expiry beyond this
    ended       boolean         not null default 0, -- 1: released or broken before it expired
    verdict     tinyint         not null default 0, -- on whoever asked last: 1 taken over, 2 kept, 0 refused
    primary key (kind, id, slot)
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin;

-- How leases ended: append-only. It answers whoever shows an old lock id, and who overwrote whom.
create table if not exists tenure_lock_history (
    lock_hash   binary(32)      not null primary key,
    kind        varbinary(255)  not null,
    id          varbinary(1024) not null,
    generation  bigint          not null,
    owner_id    text            not null,
    owner_name  text            not null,
    since       bigint          not null,
    ended_at    bigint          not null,
    how         varchar(10)     not null check (how in ('released', 'expired', 'broken')),
    by_id       text,                             -- who broke it
    by_name     text,
    reason      text
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin;

-- The last versions of aggregates whose mapping asks for them: the state as rows, and who saved it.
create table if not exists tenure_revision (
    kind        varbinary(255)  not null,
    id          varbinary(1024) not null,
    version     bigint          not null,
    shape       varchar(64)     not null,         -- which columns the state has; another release may have others
    state       longtext        not null,         -- JSON
    changed_at  bigint          not null,
    by_id       text,
    by_name     text,
    command     text,
    primary key (kind, id, version)
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin;
