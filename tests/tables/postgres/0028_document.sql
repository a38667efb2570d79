-- Rows that refer to rows of the same collection, and unique values within a collection.
create table test_doc (id text primary key, version bigint not null);
create table test_doc_item (doc_id text not null references test_doc (id), no bigint not null, parent_no bigint, place bigint not null,
    code bigint, primary key (doc_id, no), unique (doc_id, place), unique (doc_id, code),
    foreign key (doc_id, parent_no) references test_doc_item (doc_id, no));
create table test_doc_topic (doc_id text not null references test_doc (id), no bigint not null, above_no bigint, turn bigint not null,
    primary key (doc_id, no), foreign key (doc_id, above_no) references test_doc_topic (doc_id, no) on delete cascade);
create unique index test_doc_topic_turn on test_doc_topic (doc_id, turn) where turn > 0;
