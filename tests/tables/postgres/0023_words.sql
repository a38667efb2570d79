create schema main;
create type main.test_mood as enum ('calm', 'very loud');
create table main.test_word (id bigint primary key, mood main.test_mood not null, past main.test_mood, level integer not null,
    email text not null, tags text[] not null, scores bigint[], edited_by text, edited_at timestamptz not null,
    version bigint not null);
create table main.test_word_mood (word_id bigint not null references main.test_word (id), mood main.test_mood not null,
    level integer not null, primary key (word_id, mood));
