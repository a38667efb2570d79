-- Transactions that asked for it leave their operation id with their COMMIT, so that it can be found out what became of a
-- commit whose answer was lost. `committed` is 0 where somebody asked first: then it never will be.
create table if not exists tenure_operation (
    id          binary(16)      not null primary key,
    committed   boolean         not null,
    at          bigint          not null          -- milliseconds since 1970
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin;
