create table test_ticket (id bigint auto_increment primary key, title varchar(80) not null, version bigint not null);
create table test_ticket_line (ticket_id bigint not null references test_ticket (id), no integer not null, text varchar(80) not null,
    primary key (ticket_id, no));
