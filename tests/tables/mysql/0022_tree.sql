-- What is below a branch names only its parent.
create table test_tree (id varchar(80) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ primary key, name varchar(80) not null, version bigint not null);
create table test_branch (id bigint primary key, tree_id varchar(80) collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ not null references test_tree (id), name varchar(80) not null);
create index test_branch_tree on test_branch (tree_id);
create table test_leaf (branch_id bigint not null references test_branch (id), no integer not null, text varchar(80) not null,
    primary key (branch_id, no));
create table test_twig (id bigint primary key, on_branch bigint not null references test_branch (id), name varchar(80) not null);
create index test_twig_branch on test_twig (on_branch);
create table test_bud (twig_id bigint not null references test_twig (id), position integer not null, text varchar(80) not null,
    primary key (twig_id, position));
