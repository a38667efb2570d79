create table test_word (id integer primary key, mood text not null, past text, level integer not null,
    email text not null, tags text not null, scores text, edited_by text, edited_at integer not null, version integer not null);
create table test_word_mood (word_id integer not null references test_word (id), mood text not null,
    level integer not null, primary key (word_id, mood));
