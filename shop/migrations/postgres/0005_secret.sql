-- Secrets of this shop, the same for all its processes: what is derived from the cookies of browsers is derived with one of them.
create table shop_secret (
    name  text not null primary key,
    value text not null
);
