-- Rows of tenure_lock may be swept, long after their leases have ended: here stays how high their generations were, by type. A
-- new row of that type begins above it, so that no generation is ever seen twice, or falls.
create table if not exists tenure_lock_floor (
    kind        varbinary(255)  not null primary key,
    generation  bigint          not null
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin;

-- How leases ended, of one key in their order, with whoever held it next; of one owner and of all, the latest first. The last
-- one also finds what is to be swept. Each costs every release a little.
alter table tenure_lock_history
    add index /*M! if not exists */ tenure_lock_history_key (kind, id, generation),
    add index /*M! if not exists */ tenure_lock_history_owner (owner_id(64), ended_at),
    add index /*M! if not exists */ tenure_lock_history_at (ended_at);
