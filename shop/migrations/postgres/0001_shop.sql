-- The shop's own tables. Locks and past versions are the library's, in its own migrations.
--
-- Columns are those of the mappings of the aggregates in src/domain; a test there compares the two. Times are timestamps
-- with time zone. `version` rises by one whenever the aggregate is saved.

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
    total                        bigint not null check (total >= 0),
    state                        text    not null
        check (state in ('PaymentWaiting', 'Preparing', 'Shipped', 'InDelivery', 'Delivered', 'Cancelled')),
    placed_at                    timestamptz not null,
    version                      bigint not null check (version >= 1)
);

-- Lists show the newest first: of all orders, of those in a state, of one member. `no` decides between orders of the
-- same microsecond, so that turning pages neither skips nor repeats one.
create index orders_newest on orders (placed_at desc, no desc);
create index orders_by_state on orders (state, placed_at desc, no desc);
create index orders_by_orderer on orders (orderer, placed_at desc, no desc);

-- The products inside an order.
create table order_line (
    order_no text    not null references orders (no) on delete cascade,
    line_no  bigint not null check (line_no >= 0),
    product  text    not null,
    price    bigint not null check (price >= 0),
    quantity bigint not null check (quantity between 1 and 999),
    primary key (order_no, line_no)
);

-- The people who sign in: customers and operators.
create table member (
    id            text    not null primary key check (length(id) between 1 and 64),
    name          text    not null,
    role          text    not null check (role in ('Customer', 'Operator')),
    password_hash text    not null,
    version       bigint not null check (version >= 1),
    -- Which life of the account it is: it rises with "sign out everywhere" and with a change of password. Sessions and browsers
    -- of an earlier one are worth nothing.
    epoch         bigint  not null,
    -- Whether the password is the public one of the demo.
    demo          boolean not null
);

-- What operators write about an order, for each other; versioned apart from the order.
create table order_note (
    order_no text    not null primary key references orders (no) on delete cascade,
    text     text    not null check (length(text) <= 4000),
    version  bigint not null check (version >= 1)
);

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
    kept_at bigint not null,
    -- Its form was saved since. Marked in the transaction of the save, because clocks do not say what came last.
    saved boolean not null default false,
    -- When its person dropped it, in seconds since 1970: from then on it is named nowhere.
    dropped_at bigint
);

create index kept_form_of_member on kept_form (member, kept_at);

-- Forms that were saved: each member's own, because the id of a form stands in an address that may be passed on. Written in
-- the transaction of the save: when the same form comes again, this is the answer.
create table saved_form (
    form_id  text    not null,
    member   text    not null,
    digest   text    not null,
    version  bigint not null,
    -- The version that the save was made on directly; 0 where it was not made on the one that the form was opened at.
    made_on  bigint not null,
    -- Which of its texts it was: 1 for the first that the script sent, 0 without scripts. An earlier one that comes later is not saved.
    nth      bigint not null,
    saved_at bigint not null,
    primary key (form_id, member)
);

-- Who is signed in, in which browser: a row is written at sign-in and deleted at sign-out. The id is the SHA-256 of the
-- secret in the cookie. `seen_at` is written once in some minutes, and a session lives on where that cannot be done.
create table sign_in (
    id         text    not null primary key,
    member     text    not null,
    epoch      bigint  not null,
    browser    text    not null,
    started_at bigint  not null,
    seen_at    bigint  not null
);

create index sign_in_of_member on sign_in (member, started_at);

-- Browsers in which a member has signed in before: guesses made elsewhere do not keep the member out there. The browser
-- goes by a name that only its own key makes, and that is another one for each member.
create table known_browser (
    member  text    not null,
    browser text    not null,
    seen_at bigint  not null,
    primary key (member, browser)
);

-- What is on the shelf. Lines of orders name a product; pieces leave the stock when the parcel leaves the house.
create table product (
    name    text   not null primary key check (length(name) between 1 and 200),
    stock   bigint not null check (stock between 0 and 4294967295),
    version bigint not null check (version >= 1)
);

-- Secrets of this shop, the same for all its processes: what is derived from the cookies of browsers is derived with one of them.
create table shop_secret (
    name  text not null primary key,
    value text not null
);
