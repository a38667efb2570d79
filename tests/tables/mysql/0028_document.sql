-- Rows that refer to rows of the same collection, and unique values within a collection.
create table test_doc (id varchar(80) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ primary key, version bigint not null) engine = InnoDB default character set = utf8mb4;
create table test_doc_item (doc_id varchar(80) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ not null, no bigint not null, parent_no bigint, place bigint not null, code bigint,
    primary key (doc_id, no), unique (doc_id, place), unique (doc_id, code), foreign key (doc_id) references test_doc (id),
    foreign key (doc_id, parent_no) references test_doc_item (doc_id, no)) engine = InnoDB default character set = utf8mb4;
create table test_doc_topic (doc_id varchar(80) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ not null, no bigint not null, above_no bigint, turn bigint not null, primary key (doc_id, no),
    foreign key (doc_id) references test_doc (id),
    foreign key (doc_id, above_no) references test_doc_topic (doc_id, no) on delete cascade) engine = InnoDB default character set = utf8mb4;
