-- Alive is not active: besides the last sign of life of a form, the last input by its person. And what the policy of the
-- type says of a lease: how long it goes on without input, whether others hold it as well, what they are told of who
-- holds it (0 their name, 1 their role, 2 nothing). Marked shared, the row of the exclusive lock says that there may be
-- shared leases beside it, each in a slot of its own: whoever wants the key has to look at those.
alter table tenure_lock
    add column /*M! if not exists */ active_at  bigint  not null default 0,
    add column /*M! if not exists */ idle_limit bigint,                    -- milliseconds; null: none
    add column /*M! if not exists */ shared     boolean not null default 0,
    add column /*M! if not exists */ owner_role text,
    add column /*M! if not exists */ shown_as   bigint  not null default 0;
update tenure_lock set active_at = last_active where active_at = 0;

alter table tenure_lock_history
    add column /*M! if not exists */ idle       boolean not null default 0, -- 1: it expired without input, not without signs of life
    add column /*M! if not exists */ owner_role text,
    add column /*M! if not exists */ by_role    text,
    add column /*M! if not exists */ shown_as   bigint  not null default 0;

alter table tenure_lock_request
    add column /*M! if not exists */ asker_role text,
    add column /*M! if not exists */ handle     varchar(64) not null default ''; -- random: names an asker whom the holder does not know
