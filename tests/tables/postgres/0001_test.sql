create table test_order (no text primary key, state text not null, ship_to_line1 text not null, ship_to_zip varchar(20) not null,
    gift_card text, gift_wrapped boolean, version bigint not null);
create table test_order_line (order_no text not null references test_order (no), line_no integer not null,
    product text not null, quantity bigint not null, primary key (order_no, line_no));
create table test_counter (name text primary key, count bigint not null, version bigint not null);
