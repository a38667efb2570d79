-- All of tenure's own tables. Times are milliseconds since 1970, by the database's clock. Numbers 1 to 8 of the
-- ledger belonged to checkouts before the first release; a database that has them is refused.

-- The time of a statement, in milliseconds since 1970: of this server's clock at the moment of the call, or as given
-- by a test. `now()` would be the start of the transaction, which may have waited for a lock since.
create function tenure_now(given bigint) returns bigint language sql volatile as
$$ select coalesce(given, (extract(epoch from clock_timestamp()) * 1000)::bigint) $$;

-- Offline locks. One row per key, kept after the lease has ended: the generation (the fencing number) must never
-- fall. There is no index on expires_at, on purpose: with one, no heartbeat could be a HOT update. The lock hash has
-- a unique index, so that taking over is an update of a key, and waits for each transaction that holds the row FOR KEY
-- SHARE.
create table tenure_lock (
    kind        text collate "C" not null,       -- the aggregate's type
    id          text collate "C" not null,       -- the aggregate's id
    slot        bytea not null,                  -- empty: the exclusive lock; an advisory lease has a slot of its own, its lock hash
    generation  bigint not null,                 -- rises by one at each change of hands
    lock_hash   bytea not null unique,           -- SHA-256 of the lock id, which is a secret
    owner_id    text not null,                   -- who holds it
    owner_name  text not null,                   -- as shown to others
    since       bigint not null,                 -- when it was granted
    last_active bigint not null,                 -- the last heartbeat of its form
    expires_at  bigint not null,                 -- free from then on, without a further heartbeat
    ttl         bigint not null,                 -- what a heartbeat sets, in milliseconds
    hard_until  bigint not null,                 -- no heartbeat moves the expiry beyond this
    ended       boolean not null default false,  -- released or broken before it expired
    active_at   bigint not null default 0,       -- the last input of its person
    idle_limit  bigint,                          -- how long it goes on without input, in milliseconds; null: no limit
    owner_role  text,                            -- the role of the owner
    shown_as    bigint not null default 0,       -- what others see of the owner: 0 the name, 1 the role, 2 nothing
    unclaimed   bigint not null default 0,       -- how many requests got this lease while no heartbeat came; 0: one did
    primary key (kind, id, slot)
) with (fillfactor = 75);

-- To release all that an owner holds. It changes only with a change of hands, so heartbeats stay HOT updates.
create index tenure_lock_owner on tenure_lock (owner_id);

-- How leases ended: append-only. It explains an old lock id, and says who overwrote whom. Two indexes: the ends of one
-- key in their order; and all, the latest first, which also finds what is to be swept. Each costs every release a little.
create table tenure_lock_history (
    lock_hash  bytea not null primary key,      -- of the lease that ended
    kind       text collate "C" not null,       -- the aggregate's type
    id         text collate "C" not null,       -- the aggregate's id
    generation bigint not null,                 -- of that lease
    owner_id   text collate "C" not null,       -- who held it
    owner_name text not null,                   -- as shown to others
    since      bigint not null,                 -- when it was granted
    ended_at   bigint not null,                 -- when it ended
    how        text not null check (how in ('released', 'expired', 'broken', 'taken over')),
    by_id      text,                            -- who broke it or took it over
    by_name    text,                            -- as shown to others
    reason     text,                            -- what they gave as the reason
    idle       boolean not null default false,  -- it expired without input, not without heartbeats
    owner_role text,                            -- the role of the owner
    by_role    text,                            -- the role of who broke or took it
    shown_as   bigint not null default 0,       -- what others see of the owner, as in tenure_lock
    limited    boolean not null default false   -- it expired at its absolute limit: it cannot be resumed
);
create index tenure_lock_history_key on tenure_lock_history (kind, id, generation);
create index tenure_lock_history_at on tenure_lock_history (ended_at);

-- Rows of tenure_lock may be swept, long after their leases have ended: this keeps how high their generations were,
-- by type. A new row of that type begins above it, so that no generation is ever seen twice, or falls.
create table tenure_lock_floor (
    kind       text collate "C" not null primary key,  -- the aggregates' type
    generation bigint not null                         -- the highest of a swept row
);

-- The last versions of aggregates whose mapping asks for them: the state as rows, and who saved it.
create table tenure_revision (
    kind       text collate "C" not null,  -- the aggregate's type
    id         text collate "C" not null,  -- the aggregate's id
    version    bigint not null,            -- of this state
    shape      text not null,              -- which columns the state has; another release may have others
    state      text not null,              -- JSON
    changed_at bigint not null,            -- when it was saved
    by_id      text,                       -- who saved it
    by_name    text,                       -- as shown to others
    command    text,                       -- what they did, in the words of the application
    primary key (kind, id, version)
);

-- Aggregates that were deleted, and the version that each had: one that is inserted under the same id goes on from
-- there, so a version that was seen of the first never fits the second. One small row per deleted id; delete by hand
-- what is older than any form that may still be sent.
create table tenure_removed (
    kind       text collate "C" not null,  -- the aggregate's type
    id         text collate "C" not null,  -- the aggregate's id
    version    bigint not null,            -- the last one that it had
    removed_at bigint not null,            -- when it was deleted
    primary key (kind, id)
);

-- Asked by `insert ... returning`, after the insert has waited for the transaction that deletes. Being volatile, it
-- sees what was committed during that wait, which the insert's own snapshot does not.
create function tenure_removed_version(of_kind text, of_id text) returns bigint language plpgsql volatile as
$$ begin return (select version from tenure_removed where kind = of_kind and id = of_id); end $$;

-- Transactions that asked for it leave their operation id with their COMMIT, so that it can be found out what became
-- of a commit whose answer was lost.
create table tenure_operation (
    id        bytea not null primary key,  -- 16 random bytes
    committed boolean not null,            -- false: somebody asked before it was committed, so it never will be
    at        bigint not null              -- when it was written
);
