-- What is below a branch names only its parent.
create table test_tree (id text primary key, name text not null, version bigint not null);
create table test_branch (id bigint primary key, tree_id text not null references test_tree (id), name text not null);
create index test_branch_tree on test_branch (tree_id);
create table test_leaf (branch_id bigint not null references test_branch (id), no integer not null, text text not null,
    primary key (branch_id, no));
create table test_twig (id bigint primary key, on_branch bigint not null references test_branch (id), name text not null);
create index test_twig_branch on test_twig (on_branch);
create table test_bud (twig_id bigint not null references test_twig (id), position integer not null, text text not null,
    primary key (twig_id, position));
