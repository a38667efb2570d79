create table test_narrow (id varchar(80) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ primary key, title varchar(5) not null, small smallint not null,
    latin varchar(80) character set latin1 not null, version bigint not null) engine = InnoDB default character set = utf8mb4;
create table test_narrow_line (narrow_id varchar(80) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ not null, no integer not null, text varchar(7) not null,
    primary key (narrow_id, no)) engine = InnoDB default character set = utf8mb4;
