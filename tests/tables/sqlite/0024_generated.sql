create table test_ticket (id integer primary key, title text not null, version integer not null);
create table test_ticket_line (ticket_id bigint not null references test_ticket (id), no integer not null, text text not null,
    primary key (ticket_id, no));
