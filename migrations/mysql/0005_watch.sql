-- Who waits in line for a key, in the order of arrival. A place is kept by the signs of life of its process; nobody steps
-- back into it after `until`, so then it is swept.
create table if not exists tenure_lock_waiter (
    ticket      bigint          not null auto_increment primary key, -- rises with every arrival
    kind        varbinary(255)  not null,
    id          varbinary(1024) not null,
    lock_hash   binary(32)      not null unique,  -- SHA-256 of the lock id that is to hold the lease
    owner_id    text            not null,
    owner_name  text            not null,
    process     bigint          not null,         -- a random number of the process
    waiter      bigint          not null,         -- a random number of whoever waits
    expires_at  bigint          not null,         -- without another sign of life
    until       bigint          not null,         -- how long it is wanted
    index tenure_lock_waiter_key (kind, id)
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin;
