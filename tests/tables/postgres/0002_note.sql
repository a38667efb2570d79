create table test_note (id text primary key, board text not null, text text not null, pinned boolean, version bigint not null,
    changed_by text, changed_by_name text, changed_at timestamptz, changed_command text);
