-- Alive is not active: besides the last sign of life of a form, the last input by its person. And what the policy of the
-- type says of a lease: how long it goes on without input, whether others hold it as well, what they are told of who
-- holds it (0 their name, 1 their role, 2 nothing). Marked shared, the row of the exclusive lock says that there may be
-- shared leases beside it, each in a slot of its own: whoever wants the key has to look at those.
alter table tenure_lock
    add column active_at  bigint not null default 0,
    add column idle_limit bigint,                              -- milliseconds; null: none
    add column shared     boolean not null default false,
    add column owner_role text,
    add column shown_as   bigint not null default 0;
update tenure_lock set active_at = last_active;

alter table tenure_lock_history
    add column idle       boolean not null default false,      -- it expired without input, not without signs of life
    add column owner_role text,
    add column by_role    text,
    add column shown_as   bigint not null default 0;

alter table tenure_lock_request
    add column asker_role text,
    add column handle     text not null default '';            -- random: names an asker whom the holder does not know
