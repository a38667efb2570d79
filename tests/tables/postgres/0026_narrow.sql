create table test_narrow (id text primary key, title varchar(5) not null, small smallint not null, latin text not null,
    version bigint not null);
create table test_narrow_line (narrow_id text not null, no integer not null, text varchar(7) not null, primary key (narrow_id, no));
