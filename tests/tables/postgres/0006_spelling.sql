create collation test_any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
create table test_tag (code text collate test_any_case primary key, text text not null, version bigint not null);
