-- Which life of the account it is. Sessions and browsers of an earlier one are worth nothing: it rises with "sign out
-- everywhere" and with a change of password. And whether the password is the public one of the demo: until now there
-- was no other way to become a member.
alter table member add column epoch integer not null default 1;
alter table member add column demo  integer not null default 1;

-- Who is signed in, in which browser: a row is written at sign-in and deleted at sign-out. The id is the SHA-256 of the
-- secret in the cookie. `seen_at` is written once in some minutes, and a session lives on where that cannot be done.
-- Whoever was signed in before this table has to sign in again.
drop table sign_in;
create table sign_in (
    id         text    not null primary key,
    member     text    not null,
    epoch      integer not null,
    browser    text    not null,
    started_at integer not null,
    seen_at    integer not null
) strict, without rowid;

create index sign_in_of_member on sign_in (member, started_at);

-- Browsers in which a member has signed in before: guesses made elsewhere do not keep the member out there. The browser
-- goes by a name that only its own key makes, and that is another one for each member.
create table known_browser (
    member  text    not null,
    browser text    not null,
    seen_at integer not null,
    primary key (member, browser)
) strict, without rowid;
