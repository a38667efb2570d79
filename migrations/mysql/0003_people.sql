-- Who asks the holder of a lease for it. A request is about one lease, and ends with its generation.
create table if not exists tenure_lock_request (
    kind        varbinary(255)  not null,
    id          varbinary(1024) not null,
    asker       binary(32)      not null,         -- SHA-256 of asker_id, which may be too long for a key
    asker_id    text            not null,
    asker_name  text            not null,
    generation  bigint          not null,
    note        text            not null,
    since       bigint          not null,
    expires_at  bigint          not null,         -- unless the asker repeats it
    later_until bigint,                           -- the answer "later", as long as it holds
    declined    text,                             -- the answer "no"
    primary key (kind, id, asker)
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin;

-- To release all that somebody holds. It changes only with a change of hands. A row of tenure_lock whose ttl is 0 is a
-- reservation: held by nobody's lock id, for whom the key was handed over to, until they take it or it runs out.
alter table tenure_lock add index /*M! if not exists */ tenure_lock_owner (owner_id(64));

-- How a lease can end: also taken over, and handed over to somebody who asked; by_id and by_name are then whoever took it
-- over, or got it. (MariaDB keeps the check with the column, MySQL apart from it.)
alter table tenure_lock_history /*!80016 drop check tenure_lock_history_chk_1, */
    modify column how varchar(20) not null check (how in ('released', 'expired', 'broken', 'taken over', 'handed over'));
