-- Who waits in line for a key, in the order of arrival. A place is kept by the signs of life of its process; nobody steps
-- back into it after `until`, so then it is swept.
create table tenure_lock_waiter (
    ticket      integer primary key autoincrement, -- rises with every arrival, also after the highest was deleted
    kind        text    not null,
    id          text    not null,
    lock_hash   blob    not null unique,           -- SHA-256 of the lock id that is to hold the lease
    owner_id    text    not null,
    owner_name  text    not null,
    process     integer not null,                  -- a random number of the process
    waiter      integer not null,                  -- a random number of whoever waits
    expires_at  integer not null,                  -- without another sign of life
    until       integer not null                   -- how long it is wanted
) strict;
create index tenure_lock_waiter_key on tenure_lock_waiter (kind, id);
