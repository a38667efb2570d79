create database if not exists main;
create table if not exists main.test_word (id bigint primary key, mood enum ('calm', 'very loud') not null, past enum ('calm', 'very loud'),
    level integer not null, email varchar(80) not null, tags json not null, scores json, edited_by varchar(255),
    edited_at datetime(6) not null, version bigint not null);
create table if not exists main.test_word_mood (word_id bigint not null references main.test_word (id),
    mood enum ('calm', 'very loud') collate /*M! utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */ not null, level integer not null, primary key (word_id, mood));
