-- Wrong on purpose: no keys, no indexes, other types.
create table test_faulty (id text not null, amount text not null, note text, version bigint);
create table test_faulty_line (faulty_id text not null, no integer not null, required text not null);
