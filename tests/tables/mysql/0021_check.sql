-- Wrong on purpose: no keys, no indexes, other types.
create table test_faulty (id varchar(80) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ not null, amount varchar(80) not null, note varchar(80), version bigint);
create table test_faulty_line (faulty_id varchar(80) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ not null, no integer not null, required varchar(80) not null);
