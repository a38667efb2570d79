-- utf8mb4_nopad_bin, or 'a', 'A' and 'a ' would be one id.
create table test_order (no varchar(300) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ primary key, state text not null,
    ship_to_line1 text not null, ship_to_zip varchar(20) not null, gift_card text, gift_wrapped boolean,
    version bigint not null) engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
create table test_order_line (order_no varchar(300) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ not null, line_no integer unsigned not null,
    product text not null, quantity bigint not null, primary key (order_no, line_no),
    foreign key (order_no) references test_order (no)) engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
create table test_counter (name varchar(300) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ primary key, count bigint not null,
    version bigint not null) engine = InnoDB default character set = utf8mb4 collate = /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */;
