create table test_leaflet (id varchar(60) primary key, text text not null, note text, views bigint not null, reader_id text, reader_at bigint,
    version bigint not null, changed_by text, changed_by_name text, changed_at datetime(6) not null, changed_command text);
create table test_leaflet_page (leaflet_id varchar(60) not null references test_leaflet (id), no integer not null, text text not null,
    primary key (leaflet_id, no));
