-- A UUID is a `uuid` here and a `binary(16)` there; MySQL has only the latter.
create table test_kinds (id /*M! uuid */ /*!80017 binary(16) */ primary key,
    always_flag boolean not null, always_number bigint not null, always_small integer unsigned not null,
    always_real double not null, always_short float not null, always_price decimal(60, 28) not null,
    always_text text not null, always_bytes blob not null, always_uuid binary(16) not null, always_json json not null,
    always_typed json not null, always_at datetime(6) not null, always_day date not null,
    always_moment datetime(6) not null, always_hour time(6) not null,
    perhaps_flag boolean, perhaps_number bigint, perhaps_small integer unsigned, perhaps_real double,
    perhaps_short float, perhaps_price decimal(60, 28), perhaps_text text, perhaps_bytes blob,
    perhaps_uuid /*M! uuid */ /*!80017 binary(16) */, perhaps_json json, perhaps_typed json, perhaps_at datetime(6), perhaps_day date,
    perhaps_moment datetime(6), perhaps_hour time(6),
    note json, version bigint not null) engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
create table test_kinds_stay (kinds_id /*M! uuid */ /*!80017 binary(16) */ not null, room binary(16) not null, day date not null, price decimal(60, 28) not null,
    hour time(6), primary key (kinds_id, room, day), foreign key (kinds_id) references test_kinds (id)) engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
