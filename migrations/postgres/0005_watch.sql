-- Who waits in line for a key, in the order of arrival. A place is kept by the signs of life of its process; nobody steps
-- back into it after `until`, so then it is swept.
create table tenure_lock_waiter (
    ticket      bigint  generated always as identity primary key, -- rises with every arrival
    kind        text    collate "C" not null,
    id          text    collate "C" not null,
    lock_hash   bytea   not null unique,          -- SHA-256 of the lock id that is to hold the lease
    owner_id    text    not null,
    owner_name  text    not null,
    process     bigint  not null,                 -- a random number of the process
    waiter      bigint  not null,                 -- a random number of whoever waits
    expires_at  bigint  not null,                 -- without another sign of life
    until       bigint  not null                  -- how long it is wanted
) with (fillfactor = 75);
create index tenure_lock_waiter_key on tenure_lock_waiter (kind, id);
