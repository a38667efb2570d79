create table test_gap (id varchar(80) primary key, text varchar(80), version bigint not null);
create table test_gap_child (gap_id varchar(80) not null, no integer not null, text varchar(80) not null, primary key (gap_id, no));
create table test_legacy (id varchar(80) primary key, text varchar(80) not null, version bigint);
