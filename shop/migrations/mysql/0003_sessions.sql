-- Which life of the account it is. Sessions and browsers of an earlier one are worth nothing: it rises with "sign out
-- everywhere" and with a change of password. And whether the password is the public one of the demo: until now there
-- was no other way to become a member.
alter table member
    add column epoch bigint not null default 1,
    add column demo boolean not null default true;

-- Who is signed in, in which browser: a row is written at sign-in and deleted at sign-out. The id is the SHA-256 of the
-- secret in the cookie. `seen_at` is written once in some minutes, and a session lives on where that cannot be done.
-- Whoever was signed in before this table has to sign in again.
drop table sign_in;
create table sign_in (
    id         varchar(64) not null primary key,
    member     varchar(64) not null,
    epoch      bigint not null,
    browser    text not null,
    started_at bigint not null,
    seen_at    bigint not null,
    key sign_in_of_member (member, started_at)
) engine = innodb default charset utf8mb4 collate utf8mb4_bin;

-- Browsers in which a member has signed in before: guesses made elsewhere do not keep the member out there. The browser
-- goes by a name that only its own key makes, and that is another one for each member.
create table known_browser (
    member  varchar(64) not null,
    browser varchar(64) not null,
    seen_at bigint not null,
    primary key (member, browser)
) engine = innodb default charset utf8mb4 collate utf8mb4_bin;
