-- Secrets of this shop, the same for all its processes: what is derived from the cookies of browsers is derived with one of them.
create table shop_secret (
    name  varchar(20) not null primary key,
    value varchar(64) not null
) engine = innodb default charset utf8mb4 collate utf8mb4_bin;
