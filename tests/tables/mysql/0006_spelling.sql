create table test_tag (code varchar(300) collate utf8mb4_general_ci primary key, text text not null, version bigint not null)
    engine = InnoDB default character set = utf8mb4;
