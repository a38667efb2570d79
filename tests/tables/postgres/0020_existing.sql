create table test_gap (id text primary key, text text, version bigint not null);
create table test_gap_child (gap_id text not null, no integer not null, text text not null, primary key (gap_id, no));
create table test_legacy (id text primary key, text text not null, version bigint);
