create table test_narrow (id text primary key, title text not null, small integer not null, latin text not null,
    version integer not null);
create table test_narrow_line (narrow_id text not null, no integer not null, text text not null, primary key (narrow_id, no));
