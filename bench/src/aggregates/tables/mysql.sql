-- Orders with lines; those whose versions are kept have tables of their own.
create table bench_order (
    no          varchar(100)    not null primary key,
    customer    varchar(100)    not null,
    street      varchar(100)    not null,
    zip         varchar(100)    not null,
    state       varchar(100)    not null,
    note        varchar(100)    not null,
    version     bigint  not null
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_nopad_bin;
create table bench_line (
    order_no    varchar(100)    not null references bench_order (no),
    line_no     bigint  not null,
    product     varchar(100)    not null,
    quantity    bigint  not null,
    cents       bigint  not null,
    primary key (order_no, line_no)
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_nopad_bin;
create table bench_kept_order (
    no          varchar(100)    not null primary key,
    customer    varchar(100)    not null,
    street      varchar(100)    not null,
    zip         varchar(100)    not null,
    state       varchar(100)    not null,
    note        varchar(100)    not null,
    version     bigint  not null
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_nopad_bin;
create table bench_kept_line (
    order_no    varchar(100)    not null references bench_kept_order (no),
    line_no     bigint  not null,
    product     varchar(100)    not null,
    quantity    bigint  not null,
    cents       bigint  not null,
    primary key (order_no, line_no)
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_nopad_bin;
