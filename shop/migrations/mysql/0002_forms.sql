-- Forms that were refused: what somebody typed, for the page that says why. Only for that person, at most a day, and only
-- the latest few of each member.
create table kept_form (
    id      varchar(64) not null primary key,
    member  varchar(255) not null,
    about   varchar(255) not null,
    what    varchar(64) not null,
    fields  mediumtext not null,
    kept_at bigint not null,
    key kept_form_of_member (member, kept_at)
) engine = innodb default charset utf8mb4 collate utf8mb4_bin;

-- Forms that were saved: each member's own, because the id of a form stands in an address that may be passed on. Written in
-- the transaction of the save: when the same form comes again, this is the answer.
create table saved_form (
    form_id  varchar(64) not null,
    member   varchar(255) not null,
    digest   varchar(64) not null,
    version  bigint not null,
    -- The version that the save was made on directly; 0 where it was not made on the one that the form was opened at.
    made_on  bigint not null,
    saved_at bigint not null,
    primary key (form_id, member)
) engine = innodb default charset utf8mb4 collate utf8mb4_bin;
