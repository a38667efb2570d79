-- Wrong on purpose: a column that the database computes, seconds without parts, a narrow version; tables that do not roll back.
create table test_odd (id varchar(80) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ primary key, amount bigint not null, seen datetime not null,
    doubled bigint generated always as (amount * 2) stored, version smallint not null) engine = InnoDB default character set = utf8mb4;
create table test_lossy (id varchar(80) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ primary key, note varchar(80) not null,
    version bigint not null) engine = MyISAM default character set = utf8mb4;
create table test_sound (id varchar(80) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ primary key, note varchar(80) not null,
    version bigint not null) engine = InnoDB default character set = utf8mb4;
create table test_sound_line (sound_id varchar(80) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ not null, no integer not null,
    text varchar(80) not null, primary key (sound_id, no)) engine = MyISAM default character set = utf8mb4;
