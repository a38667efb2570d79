-- What is on the shelf. Lines of orders name a product; pieces leave the stock when the parcel leaves the house.
create table product (
    name    text   not null primary key check (length(name) between 1 and 200),
    stock   bigint not null check (stock between 0 and 4294967295),
    version bigint not null check (version >= 1)
);

-- For orders that were placed before there was a stock.
insert into product (name, stock, version) select distinct product, 100, 1 from order_line;
