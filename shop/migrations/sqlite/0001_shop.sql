-- The shop's own tables. Locks and past versions are the library's, in its own migrations.
--
-- Columns are those of the mappings of the aggregates in src/domain; a test there compares the two. Times are whole
-- microseconds since 1970-01-01T00:00:00Z. `version` rises by one whenever the aggregate is saved.

-- What a member ordered and where it goes: the root row of an order. `orderer` deliberately does not reference
-- `member`: an order outlives the account it was placed with.
create table orders (
    no                           text    not null primary key check (length(no) between 1 and 255),
    orderer                      text    not null,
    orderer_name                 text    not null,
    shipping_receiver_name       text    not null,
    shipping_receiver_phone      text    not null,
    shipping_address_postal_code text    not null,
    shipping_address_line1       text    not null,
    shipping_address_line2       text    not null,
    shipping_message             text    not null,
    total                        integer not null check (total >= 0),
    state                        text    not null
        check (state in ('PaymentWaiting', 'Preparing', 'Shipped', 'InDelivery', 'Delivered', 'Cancelled')),
    placed_at                    integer not null,
    version                      integer not null check (version >= 1)
) strict;

-- Lists show the newest first: of all orders, of those in a state, of one member. `no` decides between orders of the
-- same microsecond, so that turning pages neither skips nor repeats one.
create index orders_newest on orders (placed_at desc, no desc);
create index orders_by_state on orders (state, placed_at desc, no desc);
create index orders_by_orderer on orders (orderer, placed_at desc, no desc);

-- The products inside an order. Without a rowid, so that the lines of an order lie next to each other.
create table order_line (
    order_no text    not null references orders (no) on delete cascade,
    line_no  integer not null check (line_no >= 0),
    product  text    not null,
    price    integer not null check (price >= 0),
    quantity integer not null check (quantity between 1 and 999),
    primary key (order_no, line_no)
) strict, without rowid;

-- The people who sign in: customers and operators.
create table member (
    id            text    not null primary key check (length(id) between 1 and 64),
    name          text    not null,
    role          text    not null check (role in ('Customer', 'Operator')),
    password_hash text    not null,
    version       integer not null check (version >= 1),
    -- Which life of the account it is: it rises with "sign out everywhere" and with a change of password. Sessions and browsers
    -- of an earlier one are worth nothing.
    epoch         integer not null,
    -- Whether the password is the public one of the demo.
    demo          integer not null
) strict;

-- What operators write about an order, for each other; versioned apart from the order.
create table order_note (
    order_no text    not null primary key references orders (no) on delete cascade,
    text     text    not null check (length(text) <= 4000),
    version  integer not null check (version >= 1)
) strict;

-- Forms that were refused: what somebody typed, for the page that says why. Only for that person, at most a day, and only
-- the latest few of each member.
create table kept_form (
    id      text    not null primary key,
    member  text    not null,
    about   text    not null,
    what    text    not null,
    -- The form in which its text goes on; none of a button.
    form    text,
    fields  text    not null,
    kept_at integer not null,
    -- Its form was saved since. Marked in the transaction of the save, because clocks do not say what came last.
    saved integer not null default 0,
    -- When its person dropped it, in seconds since 1970: from then on it is named nowhere.
    dropped_at integer
) strict, without rowid;

create index kept_form_of_member on kept_form (member, kept_at);

-- Forms that were saved: each member's own, because the id of a form stands in an address that may be passed on. Written in
-- the transaction of the save: when the same form comes again, this is the answer.
create table saved_form (
    form_id  text    not null,
    member   text    not null,
    digest   text    not null,
    version  integer not null,
    -- The version that the save was made on directly; 0 where it was not made on the one that the form was opened at.
    made_on  integer not null,
    -- Which of its texts it was: 1 for the first that the script sent, 0 without scripts. An earlier one that comes later is not saved.
    nth      integer not null,
    saved_at integer not null,
    primary key (form_id, member)
) strict, without rowid;

-- Who is signed in, in which browser: a row is written at sign-in and deleted at sign-out. The id is the SHA-256 of the
-- secret in the cookie. `seen_at` is written once in some minutes, and a session lives on where that cannot be done.
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

-- What is on the shelf. Lines of orders name a product; pieces leave the stock when the parcel leaves the house.
create table product (
    name    text    not null primary key check (length(name) between 1 and 200),
    stock   integer not null check (stock between 0 and 4294967295),
    version integer not null check (version >= 1)
) strict;

-- Secrets of this shop, the same for all its processes: what is derived from the cookies of browsers is derived with one of them.
create table shop_secret (
    name  text not null primary key,
    value text not null
) strict, without rowid;
