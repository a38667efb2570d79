-- The shop's own tables. Locks and past versions are the library's, in its own migrations.
--
-- Columns are those of the mappings of the aggregates in src/domain; a test there compares the two. Times are in UTC,
-- to the microsecond. Ids are compared byte by byte, but for spaces at the end. `version` rises by one whenever the
-- aggregate is saved.

-- What a member ordered and where it goes: the root row of an order. `orderer` deliberately does not reference
-- `member`: an order outlives the account it was placed with.
create table orders (
    no                           varchar(255) not null primary key check (char_length(no) between 1 and 255),
    orderer                      varchar(64) not null,
    orderer_name                 text not null,
    shipping_receiver_name       text not null,
    shipping_receiver_phone      text not null,
    shipping_address_postal_code text not null,
    shipping_address_line1       text not null,
    shipping_address_line2       text not null,
    shipping_message             text not null,
    total                        bigint not null check (total >= 0),
    state                        varchar(20) not null
        check (state in ('PaymentWaiting', 'Preparing', 'Shipped', 'InDelivery', 'Delivered', 'Cancelled')),
    placed_at                    datetime(6) not null,
    version                      bigint not null check (version >= 1)
) engine = innodb default charset utf8mb4 collate utf8mb4_bin;

-- Lists show the newest first: of all orders, of those in a state, of one member. `no` decides between orders of the
-- same microsecond, so that turning pages neither skips nor repeats one.
create index orders_newest on orders (placed_at desc, no desc);
create index orders_by_state on orders (state, placed_at desc, no desc);
create index orders_by_orderer on orders (orderer, placed_at desc, no desc);

-- The products inside an order.
create table order_line (
    order_no varchar(255) not null,
    line_no  bigint not null check (line_no >= 0),
    product  text not null,
    price    bigint not null check (price >= 0),
    quantity bigint not null check (quantity between 1 and 999),
    primary key (order_no, line_no),
    foreign key (order_no) references orders (no) on delete cascade
) engine = innodb default charset utf8mb4 collate utf8mb4_bin;

-- The people who sign in: customers and operators.
create table member (
    id            varchar(64) not null primary key check (char_length(id) between 1 and 64),
    name          text not null,
    role          varchar(20) not null check (role in ('Customer', 'Operator')),
    password_hash text not null,
    version       bigint not null check (version >= 1)
) engine = innodb default charset utf8mb4 collate utf8mb4_bin;

-- What operators write about an order, for each other; versioned apart from the order.
create table order_note (
    order_no varchar(255) not null primary key,
    text     text not null check (char_length(text) <= 4000),
    version  bigint not null check (version >= 1),
    foreign key (order_no) references orders (no) on delete cascade
) engine = innodb default charset utf8mb4 collate utf8mb4_bin;

-- Who is signed in: the sessions of the browsers. The primary key is the only way in. There is no index on
-- `expires_at`, because every click would have to move its row in it; the rare sweep reads the whole table instead.
create table sign_in (
    id         varchar(64) not null primary key,
    data       text not null,
    expires_at bigint not null
) engine = innodb default charset utf8mb4 collate utf8mb4_bin;
