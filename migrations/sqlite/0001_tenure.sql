-- Offline locks. One row per key, kept after the lease has ended: the generation (the fencing number) must never fall.
-- Times are milliseconds since 1970, by the database's clock. There is no index on expires_at, on purpose: every
-- heartbeat would have to move in it.
create table tenure_lock (
    kind        text    not null,                 -- the aggregate's type
    id          text    not null,                 -- the aggregate's id
    slot        blob    not null,                 -- empty: the exclusive lock. Advisory leases: one slot each, the lock's hash
    generation  integer not null,                 -- rises by one with every change of hands
    lock_hash   blob    not null unique,          -- SHA-256 of the lock id, which is a secret
    owner_id    text    not null,
    owner_name  text    not null,
    since       integer not null,
    last_active integer not null,
    expires_at  integer not null,
    ttl         integer not null,                 -- milliseconds
    hard_until  integer not null,                 -- no heartbeat moves the expiry beyond this
    ended       integer not null default 0,       -- 1: released or broken before it expired
    primary key (kind, id, slot)
) strict, without rowid;

-- How leases ended: append-only. It answers whoever shows an old lock id, and who overwrote whom.
create table tenure_lock_history (
    lock_hash   blob    not null primary key,
    kind        text    not null,
    id          text    not null,
    generation  integer not null,
    owner_id    text    not null,
    owner_name  text    not null,
    since       integer not null,
    ended_at    integer not null,
    how         text    not null check (how in ('released', 'expired', 'broken')),
    by_id       text,                             -- who broke it
    by_name     text,
    reason      text
) strict, without rowid;

-- The last versions of aggregates whose mapping asks for them: the state as rows, and who saved it.
create table tenure_revision (
    kind        text    not null,
    id          text    not null,
    version     integer not null,
    shape       text    not null,                 -- which columns the state has; another release may have others
    state       text    not null,                 -- JSON
    changed_at  integer not null,
    by_id       text,
    by_name     text,
    command     text,
    primary key (kind, id, version)
) strict;
