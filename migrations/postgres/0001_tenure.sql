-- The time of a statement, in milliseconds since 1970: of this server's clock at the moment of the call, or as given by
-- a test. `now()` would be the start of the transaction, which may have waited for a lock since.
create function tenure_now(given bigint) returns bigint language sql volatile as
$$ select coalesce(given, (extract(epoch from clock_timestamp()) * 1000)::bigint) $$;

-- Offline locks. One row per key, kept after the lease has ended: the generation (the fencing number) must never fall.
-- There is no index on expires_at, on purpose: with one, no heartbeat could be a HOT update. The lock hash has a unique
-- index, so that taking over is an update of a key, and waits for whoever holds the row FOR KEY SHARE.
create table tenure_lock (
    kind        text    collate "C" not null,     -- the aggregate's type
    id          text    collate "C" not null,     -- the aggregate's id
    slot        bytea   not null,                 -- empty: the exclusive lock. Advisory leases: one slot each, the lock's hash
    generation  bigint  not null,                 -- rises by one with every change of hands
    lock_hash   bytea   not null unique,          -- SHA-256 of the lock id, which is a secret
    owner_id    text    not null,
    owner_name  text    not null,
    since       bigint  not null,
    last_active bigint  not null,
    expires_at  bigint  not null,
    ttl         bigint  not null,                 -- milliseconds
    hard_until  bigint  not null,                 -- no heartbeat moves the expiry beyond this
    ended       boolean not null default false,   -- released or broken before it expired
    primary key (kind, id, slot)
) with (fillfactor = 75);

-- How leases ended: append-only. It answers whoever shows an old lock id, and who overwrote whom.
create table tenure_lock_history (
    lock_hash   bytea   not null primary key,
    kind        text    not null,
    id          text    not null,
    generation  bigint  not null,
    owner_id    text    not null,
    owner_name  text    not null,
    since       bigint  not null,
    ended_at    bigint  not null,
    how         text    not null check (how in ('released', 'expired', 'broken')),
    by_id       text,                             -- who broke it
    by_name     text,
    reason      text
);

-- The last versions of aggregates whose mapping asks for them: the state as rows, and who saved it.
create table tenure_revision (
    kind        text    collate "C" not null,
    id          text    collate "C" not null,
    version     bigint  not null,
    shape       text    not null,                 -- which columns the state has; another release may have others
    state       text    not null,                 -- JSON
    changed_at  bigint  not null,
    by_id       text,
    by_name     text,
    command     text,
    primary key (kind, id, version)
);
