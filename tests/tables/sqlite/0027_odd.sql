-- Wrong on purpose: a column that the database computes.
create table test_odd (id text primary key, amount integer not null, seen integer not null, doubled integer generated always as (amount * 2) stored,
    version integer not null);
