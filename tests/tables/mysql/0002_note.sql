create table test_note (id varchar(300) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ primary key, board varchar(300) not null,
    text text not null, pinned boolean, version bigint not null, changed_by text, changed_by_name text,
    changed_at datetime(6), changed_command text)
    engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
