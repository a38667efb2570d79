-- All of tenure's own tables. Times are milliseconds since 1970, by the database's clock. Numbers 1 to 8 of the
-- ledger belonged to checkouts before the first release; a database that has them is refused.

-- Offline locks. One row per key, kept after the lease has ended: the generation (the fencing number) must never
-- fall. There is no index on expires_at, on purpose: every heartbeat would have to move in it.
create table tenure_lock (
    kind        text not null,               -- the aggregate's type
    id          text not null,               -- the aggregate's id
    slot        blob not null,               -- empty: the exclusive lock; an advisory lease has a slot of its own, its lock hash
    generation  integer not null,            -- rises by one at each change of hands
    lock_hash   blob not null unique,        -- SHA-256 of the lock id, which is a secret
    owner_id    text not null,               -- who holds it
    owner_name  text not null,               -- as shown to others
    since       integer not null,            -- when it was granted
    last_active integer not null,            -- the last heartbeat of its form
    expires_at  integer not null,            -- free from then on, without a further heartbeat
    ttl         integer not null,            -- what a heartbeat sets, in milliseconds
    hard_until  integer not null,            -- no heartbeat moves the expiry beyond this
    ended       integer not null default 0,  -- released or broken before it expired
    active_at   integer not null default 0,  -- the last input of its person
    idle_limit  integer,                     -- how long it goes on without input, in milliseconds; null: no limit
    owner_role  text,                        -- the role of the owner
    shown_as    integer not null default 0,  -- what others see of the owner: 0 the name, 1 the role, 2 nothing
    unclaimed   integer not null default 0,  -- how many requests got this lease while no heartbeat came; 0: one did
    primary key (kind, id, slot)
) strict, without rowid;

-- To release all that an owner holds. It changes only with a change of hands.
create index tenure_lock_owner on tenure_lock (owner_id);

-- How leases ended: append-only. It explains an old lock id, and says who overwrote whom. Two indexes: the ends of one
-- key in their order; and all, the latest first, which also finds what is to be swept. Each costs every release a little.
create table tenure_lock_history (
    row        integer primary key,         -- rows lie in the order in which they were written; lock hashes are random
    lock_hash  blob not null unique,        -- of the lease that ended
    kind       text not null,               -- the aggregate's type
    id         text not null,               -- the aggregate's id
    generation integer not null,            -- of that lease
    owner_id   text not null,               -- who held it
    owner_name text not null,               -- as shown to others
    since      integer not null,            -- when it was granted
    ended_at   integer not null,            -- when it ended
    how        text not null check (how in ('released', 'expired', 'broken', 'taken over')),
    by_id      text,                        -- who broke it or took it over
    by_name    text,                        -- as shown to others
    reason     text,                        -- what they gave as the reason
    idle       integer not null default 0,  -- it expired without input, not without heartbeats
    owner_role text,                        -- the role of the owner
    by_role    text,                        -- the role of who broke or took it
    shown_as   integer not null default 0,  -- what others see of the owner, as in tenure_lock
    limited    integer not null default 0   -- it expired at its absolute limit: it cannot be resumed
) strict;
create index tenure_lock_history_key on tenure_lock_history (kind, id, generation);
create index tenure_lock_history_at on tenure_lock_history (ended_at);

-- Rows of tenure_lock may be swept, long after their leases have ended: this keeps how high their generations were,
-- by type. A new row of that type begins above it, so that no generation is ever seen twice, or falls.
create table tenure_lock_floor (
    kind       text not null primary key,  -- the aggregates' type
    generation integer not null            -- the highest of a swept row
) strict, without rowid;

-- The last versions of aggregates whose mapping asks for them: the state as rows, and who saved it.
create table tenure_revision (
    kind       text not null,     -- the aggregate's type
    id         text not null,     -- the aggregate's id
    version    integer not null,  -- of this state
    shape      text not null,     -- which columns the state has; another release may have others
    state      text not null,     -- JSON
    changed_at integer not null,  -- when it was saved
    by_id      text,              -- who saved it
    by_name    text,              -- as shown to others
    command    text,              -- what they did, in the words of the application
    primary key (kind, id, version)
) strict;

-- Aggregates that were deleted, and the version that each had: one that is inserted under the same id goes on from
-- there, so a version that was seen of the first never fits the second. One small row per deleted id; delete by hand
-- what is older than any form that may still be sent.
create table tenure_removed (
    kind       text not null,     -- the aggregate's type
    id         text not null,     -- the aggregate's id
    version    integer not null,  -- the last one that it had
    removed_at integer not null,  -- when it was deleted
    primary key (kind, id)
) strict, without rowid;

-- Transactions that asked for it leave their operation id with their COMMIT, so that it can be found out what became
-- of a commit whose answer was lost.
create table tenure_operation (
    id        blob not null primary key,  -- 16 random bytes
    committed integer not null,           -- false: somebody asked before it was committed, so it never will be
    at        integer not null            -- when it was written
) strict, without rowid;
