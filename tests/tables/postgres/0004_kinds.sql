create table test_kinds (id uuid primary key,
    always_flag boolean not null, always_number bigint not null, always_small bigint not null,
    always_real double precision not null, always_short real not null, always_price numeric not null,
    always_text text not null, always_bytes bytea not null, always_uuid uuid not null, always_json jsonb not null,
    always_typed json not null, always_at timestamptz not null, always_day date not null,
    always_moment timestamp not null, always_hour time not null,
    perhaps_flag boolean, perhaps_number bigint, perhaps_small bigint, perhaps_real double precision,
    perhaps_short real, perhaps_price numeric, perhaps_text text, perhaps_bytes bytea, perhaps_uuid uuid,
    perhaps_json jsonb, perhaps_typed json, perhaps_at timestamptz, perhaps_day date, perhaps_moment timestamp,
    perhaps_hour time,
    note jsonb, version bigint not null);
create table test_kinds_stay (kinds_id uuid not null references test_kinds (id), room uuid not null,
    day date not null, price numeric not null, hour time, primary key (kinds_id, room, day));
