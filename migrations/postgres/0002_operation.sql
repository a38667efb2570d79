-- Transactions that asked for it leave their operation id with their COMMIT, so that it can be found out what became of a
-- commit whose answer was lost. `committed` is false where somebody asked first: then it never will be.
create table tenure_operation (
    id          bytea   not null primary key,     -- 16 random bytes
    committed   boolean not null,
    at          bigint  not null                  -- milliseconds since 1970
);
