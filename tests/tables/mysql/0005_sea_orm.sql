create table test_parcel (id bigint auto_increment primary key, label varchar(300) not null unique,
    version bigint not null) engine = InnoDB default character set = utf8mb4;
create table test_stock (warehouse varchar(100) not null, product varchar(100) not null, count integer not null,
    version integer not null, primary key (warehouse, product)) engine = InnoDB default character set = utf8mb4;
