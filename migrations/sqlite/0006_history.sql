-- Rows of tenure_lock may be swept, long after their leases have ended: here stays how high their generations were, by type. A
-- new row of that type begins above it, so that no generation is ever seen twice, or falls.
create table tenure_lock_floor (
    kind        text    not null primary key,
    generation  integer not null
) strict, without rowid;

-- How leases ended, of one key in their order, with whoever held it next; of one owner and of all, the latest first. The last
-- one also finds what is to be swept. Each costs every release a little.
create index tenure_lock_history_key on tenure_lock_history (kind, id, generation);
create index tenure_lock_history_owner on tenure_lock_history (owner_id, ended_at);
create index tenure_lock_history_at on tenure_lock_history (ended_at);
