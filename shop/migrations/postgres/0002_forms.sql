-- Forms that were refused: what somebody typed, for the page that says why. Only for that person, at most a day, and only
-- the latest few of each member.
create table kept_form (
    id      text    not null primary key,
    member  text    not null,
    about   text    not null,
    what    text    not null,
    fields  text    not null,
    kept_at bigint not null
);

create index kept_form_of_member on kept_form (member, kept_at);

-- Forms that were saved: each member's own, because the id of a form stands in an address that may be passed on. Written in
-- the transaction of the save: when the same form comes again, this is the answer.
create table saved_form (
    form_id  text    not null,
    member   text    not null,
    digest   text    not null,
    version  bigint not null,
    -- The version that the save was made on directly; 0 where it was not made on the one that the form was opened at.
    made_on  bigint not null,
    saved_at bigint not null,
    primary key (form_id, member)
);
