-- Orders with lines; those whose versions are kept have tables of their own.
create table bench_order (
    no          text    not null primary key,
    customer    text    not null,
    street      text    not null,
    zip         text    not null,
    state       text    not null,
    note        text    not null,
    version     bigint  not null
);
create table bench_line (
    order_no    text    not null references bench_order (no),
    line_no     bigint  not null,
    product     text    not null,
    quantity    bigint  not null,
    cents       bigint  not null,
    primary key (order_no, line_no)
);
create table bench_kept_order (
    no          text    not null primary key,
    customer    text    not null,
    street      text    not null,
    zip         text    not null,
    state       text    not null,
    note        text    not null,
    version     bigint  not null
);
create table bench_kept_line (
    order_no    text    not null references bench_kept_order (no),
    line_no     bigint  not null,
    product     text    not null,
    quantity    bigint  not null,
    cents       bigint  not null,
    primary key (order_no, line_no)
);
