-- Wrong on purpose: a column that the database computes, seconds without parts, a narrow version; tables that are empty after a crash.
create table test_odd (id text primary key, amount bigint not null, seen timestamptz(0) not null, doubled bigint generated always as (amount * 2) stored,
    version smallint not null);
create unlogged table test_lossy (id text primary key, note text not null, version bigint not null);
create table test_sound (id text primary key, note text not null, version bigint not null);
create unlogged table test_sound_line (sound_id text not null, no integer not null, text text not null, primary key (sound_id, no));
